"""The commands of the conversation's memory: people pin, unpin and rate; the runtime makes what is shown fit."""

from __future__ import annotations

from agentstate.engine.decide.commands.base import Command
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
