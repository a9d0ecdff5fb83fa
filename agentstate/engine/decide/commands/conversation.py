"""Commands about what a session knows: memory, topics, references, data messages and the customer's profile."""

from __future__ import annotations

from typing import Any, Literal

from agentstate.engine.decide.commands.base import Command
from agentstate.engine.events.conversation import Adaptation
from agentstate.engine.memory.scene import Frame


class Pin(Command, frozen=True):
    """Keep the message or call of entry `seq` in its own words."""

    seq: int
    by: str
    why: str = ""


class Unpin(Command, frozen=True):
    """Let the message or call of entry `seq` be summarised again when its time comes."""

    seq: int
    by: str
    why: str = ""


class Rate(Command, frozen=True):
    """Say how much use the message of entry `seq` is, from -2 to 2."""

    seq: int
    rating: int
    by: str
    why: str = ""


class Fit(Command, frozen=True):
    """The runtime is about to ask `model`, and `frame` is what the request holds beside the conversation. Where a model
    is to write the summary, `step` names its request and `definition` the agent's.
    """

    model: str
    frame: Frame
    step: str = ""
    definition: str = ""


class Summarise(Command, frozen=True):
    """The model answered the open request for a summary; an empty `text` means that it did not, `because` why."""

    step: str
    text: str
    because: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class GiveUp(Command, frozen=True):
    """The runtime cannot ask the model, for a reason that asking again does not change."""

    reason: str


TopicChange = Literal["open", "switch", "resume", "close"]


class SetTopic(Command, frozen=True):
    """Open a topic, say that the newest turn is about another one (`switch`), take one up again, or close it."""

    topic: str
    change: TopicChange
    by: str
    label: str = ""


class CorrectReference(Command, frozen=True):
    """In the message of entry `seq`, `mention` means `entities` (none: nothing that is known)."""

    seq: int
    mention: str
    entities: tuple[str, ...]
    by: str


class AddData(Command, frozen=True):
    """Somebody adds a data message of kind `of` to the session's context, or to that of one of its instances. `schema`
    is None where it brings none.
    """

    of: str
    data: Any
    by: str
    schema: Any = None
    instance: str = ""


class Adapt(Command, frozen=True):
    """The customer's profile, as the declared mapping reads it now. The runtime's, before it asks the model."""

    adaptation: Adaptation
