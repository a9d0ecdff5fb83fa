"""A talk for readers and models that may not see private values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from msgspec.structs import replace

from agentstate.engine.references import output, path
from agentstate.engine.schemas import HIDDEN
from agentstate.engine.scratchpad.private import met_by
from agentstate.engine.understanding.held import Talk
from agentstate.errors import AgentStateError


def without_private(talk: Talk, paths: Iterable[str]) -> Talk:
    """Returns the talk without the entities of results that were written to, around or below one of these paths.

    Such an entity keeps its type alone. References that mean it are left out, and so are those to entities that the
    talk does not know: where their results were written is not known either.
    """
    hidden = [path(each) for each in paths]
    if not hidden:
        return talk

    @cache
    def is_private(written: str) -> bool:
        try:
            return any(met_by(place, hidden) for place in output(written).paths)
        except AgentStateError:
            return True

    places = {each.id: each.place for each in talk.entities}
    named = dict.fromkeys((*places, *_named(talk)))
    withheld = (each for each in named if each not in places or (places[each] and is_private(places[each])))
    names = {each: f"{HIDDEN} {number}" for number, each in enumerate(withheld, 1)}
    return _renamed(talk, names) if names else talk


def _named(talk: Talk) -> Iterator[str]:
    yield from (each.entity for each in talk.mentions)
    yield from (one for each in talk.heard for one in each.entities)
    yield from talk.shown


def _renamed(talk: Talk, names: Mapping[str, str]) -> Talk:
    return replace(
        talk,
        entities=tuple(
            replace(each, id=names[each.id], label=HIDDEN, attributes={}) if each.id in names else each
            for each in talk.entities
        ),
        mentions=tuple(replace(each, entity=names.get(each.entity, each.entity)) for each in talk.mentions),
        heard=tuple(each for each in talk.heard if names.keys().isdisjoint(each.entities)),
        shown=(),
    )


def visible_talk(talk: Talk, paths: Iterable[str]) -> Talk:
    """Returns the talk as a model may see it: entities of private results are left out."""
    shown, known = without_private(talk, paths), {each.id for each in talk.entities}
    if shown is talk:
        return talk
    return replace(shown, entities=tuple(each for each in shown.entities if each.id in known))
