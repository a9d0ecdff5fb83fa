"""Records which people wrote the values in a session's state. These people propose every call that reads them.

A person writes a value by a change of the state, a data message, a settled conflict, or a result that they supply. A
call's result has the call's authors; a delegate's result also has all who wrote a value in the delegate. A value keeps
all its authors until the agent's own call replaces it; a rollback restores them with the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.plan.model import Call as Planned
from agentstate.engine.references import Path
from agentstate.engine.state.approved_inputs import digest_at, reads, views
from agentstate.engine.state.participants import MAX_PEOPLE, people
from agentstate.engine.state.rounds import Instance, Plans, data_instance, place_of, planned
from agentstate.engine.state.session import SessionState

MAX_PATHS = 200  # of one instance; beyond them, whole kinds of data are their writers'
Writers = Mapping[str, tuple[str, ...]]  # by path as text


def attributed(before: SessionState, state: SessionState, event: ev.AnyEvent) -> SessionState:
    """The state after `event` with the people who wrote what it changed."""
    if isinstance(event, ev.StateMigrated):
        return _with_writers(state, event.instance, _by_kind(_part(state.plans, event.instance).writers))
    instance, places, by = _written(before, state, event)
    held = _part(state.plans, instance).writers
    if not held and not by:
        return state
    was, now = views(before, instance), views(state, instance)
    changed = [place for place in places if digest_at(was, place) != digest_at(now, place)]
    if not changed:
        return state
    if by:
        found = {**held, **{str(place): _joined(held.get(str(place), ()), by) for place in changed}}
    else:
        found = {place: actors for place, actors in held.items() if not _is_rewritten(place, changed, was, now)}
    return _with_writers(state, instance, found if len(found) <= MAX_PATHS else _by_kind(found))


def authors_of_inputs(plans: Plans, key: str) -> tuple[str, ...]:
    """The people who wrote a value that a call of the plan in force reads."""
    place, call = place_of(plans, key), planned(plans, key)
    return authors_read_by(plans, [call], [place[1]]) if place is not None and call is not None else ()


def authors_read_by(plans: Plans, calls: Iterable[Planned], instances: Iterable[str]) -> tuple[str, ...]:
    """The people who wrote a value that one of these calls reads for one of these instances of a round."""
    members = tuple(instances)
    return people(
        actor
        for call in calls
        for instance in ((call.instance,) if call.instance else members)
        for place, actors in _part(plans, instance).writers.items()
        if any(_overlap(place, str(path)) for path in reads(call))
        for actor in actors
    )


def has_authors(plans: Plans) -> bool:
    """Whether a person wrote any value that stands in the session."""
    return bool(plans.own.writers) or any(part.writers for part in plans.instances.values())


def authors_of_values(plans: Plans) -> tuple[str, ...]:
    """The people who wrote any value that stands in the session: what it gives another may be made of each."""
    parts = (plans.own, *plans.instances.values())
    return people(actor for part in parts for actors in part.writers.values() for actor in actors)


def _written(
    before: SessionState, state: SessionState, event: ev.AnyEvent
) -> tuple[str, tuple[Path, ...], tuple[str, ...]]:
    """Where an event may have written: the instance, the places, and the people who wrote."""
    match event:
        case ev.StateChanged(by=by, writes=writes):
            return "", tuple(_place(each.path) for each in writes), people([by])
        case ev.DataAdded(of=of, data=data, by=by, instance=instance):
            return instance, tuple(_leaves((of,), data)), people([by])
        case ev.ConflictEnded(conflict=number, proposal=chosen, by=by) if chosen:
            conflict = before.changes.conflicts[number]
            voters = (voter for voter, vote in conflict.votes.items() if vote == chosen)
            proposers = (each.by for each in conflict.proposals if each.id == chosen)
            return "", (_place(conflict.path),), people([*proposers, *voters, by])
        case ev.ToolReturned(call=call, authors=authors, output_path=path):
            return _of_call(before, state, call, authors, path)
        case ev.ToolFailed(call=call):
            return _of_call(before, state, call, ())
        case ev.CallIntervened(call=call, by=by, output_path=path):
            return _of_call(before, state, call, (by,), path)
        case ev.RequestEnded(request=number, outcome="responded"):
            request = before.requests[number]
            return _of_call(before, state, request.asked.call, (request.decided_by,))
        case _:
            return "", (), ()


def _of_call(
    before: SessionState, state: SessionState, key: str, by: tuple[str, ...], path: str | None = None
) -> tuple[str, tuple[Path, ...], tuple[str, ...]]:
    """Returns the outputs of a call with their authors: the people who proposed it, and the person who supplied its
    result. `path`: where the entry says that it went.
    """
    call = before.calls.get(key)
    if call is None:
        return "", (), ()
    authors = people((*call.authors, *call.inputs_by, *by))
    found = planned(state.plans, key)
    if found is not None:
        return data_instance(state.plans, key), found.outputs, authors
    place = path or call.output_path
    return "", (_place(place),) if place else (), authors


def _place(text: str) -> Path:
    kind, *names = text.split(".")
    return Path(kind, tuple(names))


def _leaves(names: tuple[str, ...], data: Any) -> Iterator[Path]:
    """The places that a patch writes: objects merge by key, anything else replaces."""
    if isinstance(data, dict) and data:
        for key, each in data.items():
            yield from _leaves((*names, key), each)
    else:
        yield Path(names[0], names[1:])


def _is_rewritten(place: str, changed: Iterable[Path], was: Any, now: Any) -> bool:
    """Whether one of the changes replaced the value at `place`."""
    at = _place(place)
    return any(_is_within(place, str(each)) for each in changed) and digest_at(was, at) != digest_at(now, at)


def _is_within(place: str, outer: str) -> bool:
    return place == outer or place.startswith(f"{outer}.")


def _overlap(one: str, other: str) -> bool:
    return _is_within(one, other) or _is_within(other, one)


def _joined(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return people((*one, *other))[-MAX_PEOPLE:]


def _by_kind(writers: Writers) -> dict[str, tuple[str, ...]]:
    """The writers of each kind of data as a whole: more than who wrote a value, never fewer."""
    found: dict[str, tuple[str, ...]] = {}
    for place, actors in writers.items():
        kind = place.partition(".")[0]
        found[kind] = _joined(found.get(kind, ()), actors)
    return found


def _part(plans: Plans, instance: str) -> Instance:
    return plans.instances.get(instance, Instance()) if instance else plans.own


def _with_writers(state: SessionState, instance: str, writers: dict[str, tuple[str, ...]]) -> SessionState:
    plans = state.plans
    part = replace(_part(plans, instance), writers=writers, seq=state.seq)
    if not instance:
        return replace(state, plans=replace(plans, own=part))
    return replace(state, plans=replace(plans, instances={**plans.instances, instance: part}))
