"""Events of what a session knows: topics, references, memory, data messages and the customer's profile."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentstate.engine.events.base import Event, digest
from agentstate.engine.understanding.held import Reference
from agentstate.engine.understanding.ontology import Ontology


class TalkDeclared(Event, frozen=True, tag="talk.declared"):
    """What entities and topics the agent's talk is about has changed since the session was opened."""

    ontology: Ontology
    v: int = 1


class TopicOpened(Event, frozen=True, tag="topic.opened"):
    """Somebody opened a topic that had not been talked about; the newest turn is about it."""

    topic: str
    label: str
    by: str
    v: int = 1


class TopicSwitched(Event, frozen=True, tag="topic.switched"):
    """The newest turn was heard as about another topic, and is about this one."""

    topic: str
    label: str
    by: str
    v: int = 1


class TopicResumed(Event, frozen=True, tag="topic.resumed"):
    """A topic that was left or closed is talked about again."""

    topic: str
    by: str
    v: int = 1


class TopicClosed(Event, frozen=True, tag="topic.closed"):
    """A topic is done with."""

    topic: str
    by: str
    v: int = 1


class ReferencesResolved(Event, frozen=True, tag="references.resolved"):
    """The model said, in its answer `step` with the call `call`, what phrases of the message of entry `seq` mean."""

    seq: int
    references: tuple[Reference, ...]
    step: str
    call: str
    v: int = 1


class ReferenceCorrected(Event, frozen=True, tag="reference.corrected"):
    """In the message of entry `seq`, `mention` means `entities`; none: it refers to nothing that is known."""

    seq: int
    mention: str
    entities: tuple[str, ...]
    by: str
    v: int = 1


class ItemPinned(Event, frozen=True, tag="item.pinned"):
    """The message or call of entry `seq` stays in its own words. `by` is a person, an agent or a rule."""

    seq: int
    how: Literal["person", "agent", "rule"]
    by: str
    why: str = ""
    v: int = 1


class ItemUnpinned(Event, frozen=True, tag="item.unpinned"):
    """The message or call of entry `seq` may be summarised again."""

    seq: int
    by: str
    why: str = ""
    v: int = 1


class ItemRated(Event, frozen=True, tag="item.rated"):
    """Somebody said how much use the message of entry `seq` is: -2 none, 2 much. A later rating counts instead."""

    seq: int
    rating: int
    by: str
    why: str = ""
    v: int = 1


class SummaryRequested(Event, frozen=True, tag="summary.requested"):
    """A model was asked to summarise: all but `kept` from `first` to `last`, and the summaries of entries `replaces`.

    `digest` is over the exact request, `covers` over what is to be summarised; the summary may take `limit` tokens.
    `form` and `definition` are as in `model.requested`.
    """

    step: str
    model: str
    first: int
    last: int
    kept: tuple[int, ...]
    replaces: tuple[int, ...]
    count: int
    covers: str
    limit: int
    digest: str
    form: str
    definition: str = ""
    v: int = 1


class SummaryMade(Event, frozen=True, tag="summary.made"):
    """`text` stands for all but `kept` from `first` to `last` from now on, `count` items in all.

    `covers` is the digest of what it stands for. `method` is `rules/1` or `model:<name>`; `because` says why a model
    that was asked did not write it.
    """

    first: int
    last: int
    kept: tuple[int, ...]
    replaces: tuple[int, ...]
    count: int
    covers: str
    method: str
    text: str
    step: str = ""
    because: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    v: int = 1


class DataAdded(Event, frozen=True, tag="data.added"):
    """A data message of kind `of`: a patch of the object of that kind, of the session or of `instance`. `schema` is a
    JSON Schema that holds for the object from now on; null: it brings none.
    """

    of: str
    data: Any
    by: str
    schema: Any = None
    instance: str = ""
    v: int = 1


class Tightening(msgspec.Struct, frozen=True):
    """A threshold of the customer's own: calls of `tools` of which `when` is true and whose whole number at `path` is
    above `above` wait for a person. Without a path the number does not matter.
    """

    name: str
    tools: tuple[str, ...]
    tier: int
    quorum: int
    why: str
    when: str = "true"
    path: str = ""
    above: int = 0
    currency: str = ""


class Adaptation(msgspec.Struct, frozen=True):
    """What the declared mapping makes of a profile, as of entry `profile` of the profile's log: the view that models
    are shown, instructions, parameters of the model, thresholds, and the names of the mappings that apply.
    """

    profile: int = 0
    declared: str = ""
    view: dict[str, Any] = {}
    instructions: tuple[str, ...] = ()
    parameters: dict[str, int] = {}
    tightenings: tuple[Tightening, ...] = ()
    mappings: tuple[str, ...] = ()
    consents: tuple[str, ...] = ()  # purposes that the customer agreed to, of those that the agent works for

    @property
    def digest(self) -> str:
        """Over all that can change a step: equal digests, equal behaviour, whatever else the profile learned.

        Empty when nothing changes one.
        """
        parts: tuple[Any, ...] = (self.view, self.instructions, self.parameters, self.tightenings, self.mappings)
        parts = (*parts, self.consents) if self.consents else parts
        return digest(self.declared, *parts) if any(parts) else ""


class UserAdapted(Event, frozen=True, tag="user.adapted"):
    """From here on the session knows this of its customer, and what it changes."""

    adaptation: Adaptation
    v: int = 1
