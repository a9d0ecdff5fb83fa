"""What happens to the memory of a conversation: items are pinned and rated, older ones are summarised."""

from __future__ import annotations

from typing import Literal

from agentstate.engine.events.base import Event


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
