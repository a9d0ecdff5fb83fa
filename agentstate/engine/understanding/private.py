"""A talk for readers that may not see private values."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from msgspec.structs import replace

from agentstate.engine.references import output, path
from agentstate.engine.schemas import HIDDEN
from agentstate.engine.scratchpad.private import met_by
from agentstate.engine.understanding.held import Talk
from agentstate.errors import AgentStateError


def without_private(talk: Talk, paths: Iterable[str]) -> Talk:
    """Returns the talk without the entities of results that were written to, around or below one of these paths.

    Such an entity keeps its type alone. References that mean it are left out.
    """
    hidden = [path(each) for each in paths]

    @cache
    def is_private(written: str) -> bool:
        try:
            return any(met_by(place, hidden) for place in output(written).paths)
        except AgentStateError:
            return True

    names = {
        each.id: f"{HIDDEN} {number}"
        for number, each in enumerate(talk.entities, 1)
        if hidden and each.place and is_private(each.place)
    }
    if not names:
        return talk
    return replace(
        talk,
        entities=tuple(
            replace(each, id=names[each.id], label=HIDDEN, attributes={}) if each.id in names else each
            for each in talk.entities
        ),
        mentions=tuple(replace(each, entity=names.get(each.entity, each.entity)) for each in talk.mentions),
        groups=tuple(
            replace(each, entities=tuple(names.get(one, one) for one in each.entities)) for each in talk.groups
        ),
        heard=tuple(each for each in talk.heard if names.keys().isdisjoint(each.entities)),
    )
