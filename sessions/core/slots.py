"""Where private values stand in a session: what the versions of its schema and of its data messages mark `x-private`.

All versions count, not the one in force: an entry keeps what was private when it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine import references, schemas
from agentstate.engine.schemas import Declared
from agentstate.engine.scratchpad import messages
from agentstate.engine.state.session import SessionState
from agentstate.engine.understanding.held import Talk
from agentstate.engine.understanding.private import without_private
from agentstate.errors import AgentStateError
from audit import keys, ledger
from sessions.agents import registry
from sessions.core import states
from sessions.models.sessions import AgentSession

HIDDEN = schemas.HIDDEN
UNREADABLE = (AgentStateError, msgspec.MsgspecError, ValueError, LookupError, TypeError)
_added = msgspec.json.Decoder(dict[str, Any])


class Places:
    """The private places of one session. What cannot be read of it makes everything private."""

    def __init__(self, session: UUID) -> None:
        self._session = session
        self._state: tuple[Declared, ...] | None = None
        self._messages: Mapping[str, tuple[Declared, ...]] | None = None
        self._entities: Mapping[str, str] | None = None

    def shown(self, path: str, value: Any) -> Any:
        """Returns the value at a path, as `state.customer.name`, without what is private in it or around it."""
        try:
            place = references.path(path)
            for declared in self._declared(place.kind):
                value = schemas.without_private_at(declared, place.names, value, HIDDEN)
        except UNREADABLE:
            return HIDDEN
        return value

    def shown_result(self, output_path: str | None, result: Any) -> Any:
        """Returns the result of a call without what is private where it was written, if it was."""
        if not output_path:
            return result
        try:
            written = references.output(output_path).paths
        except AgentStateError:
            return HIDDEN
        for place in written:
            result = self.shown(str(place), result)
        return result

    def shown_anywhere(self, value: Any) -> Any:
        """Returns a value of which nobody knows where it stands; withheld if anything of the state is private."""
        try:
            private = any(schemas.private_paths(each) for each in self._declared(messages.STATE))
        except UNREADABLE:
            return HIDDEN
        return HIDDEN if private else value

    def talk(self, talk: Talk) -> Talk:
        """Returns a talk without the entities of results that hold private values."""
        try:
            private = [path for each in self._declared(messages.STATE) for path in schemas.private_paths(each)]
        except UNREADABLE:
            return Talk()
        return without_private(talk, private)

    def shown_entity(self, entity: str) -> str:
        """Returns the id of an entity; withheld if its result holds private values, or is not known any more."""
        if self._entities is None:
            talk = states.load(self._session).state.talk
            known = zip(talk.entities, self.talk(talk).entities, strict=False)
            self._entities = {each.id: HIDDEN if other.id != each.id else each.id for each, other in known}
        return self._entities[entity] if entity in self._entities else self.shown_anywhere(entity)

    def contested(self, conflict: str) -> str | None:
        """Returns the path that a conflict is about; None where it is not known any more."""
        try:
            held = states.load(self._session).state.changes.conflicts.get(conflict)
        except UNREADABLE:
            return None
        return held.path if held is not None else None

    def _declared(self, kind: str) -> tuple[Declared, ...]:
        if kind == messages.STATE:
            if self._state is None:
                self._state = _of_state(self._session)
            return self._state
        if self._messages is None:
            self._messages = _of_messages(self._session)
        return self._messages.get(kind, ())


def _of_state(session: UUID) -> tuple[Declared, ...]:
    """Every version of the schema of the session's agent. Raises UnknownAgent."""
    agent = AgentSession.objects.filter(pk=session).values_list("agent", flat=True).first()
    catalogue = registry.schemas_for(registry.find(agent or "").schema)
    return tuple(catalogue.versions.values()) if catalogue is not None else ()


def _of_messages(session: UUID) -> dict[str, tuple[Declared, ...]]:
    """By kind, every schema with private fields that data messages have brought. Raises what reading them raises."""
    found: dict[str, list[Declared]] = {}
    for kind, schema in (*_held(states.load(session).state), *_brought(session)):
        declared = messages.words_of(schema)
        if declared is not None:
            found.setdefault(kind, []).append(declared)
    return {kind: tuple(each) for kind, each in found.items()}


def _held(state: SessionState) -> Iterator[tuple[str, Any]]:
    for part in (state.plans.own, *state.plans.instances.values()):
        yield from messages.declared(part.data).items()


def _brought(session: UUID) -> Iterator[tuple[str, Any]]:
    for row in ledger.read_rows(session):
        if ledger.parse_envelope(row.envelope).kind != "data.added":
            continue
        try:
            added = _added.decode(ledger.open_row(row)[1])
        except (keys.Erased, ledger.Pruned):
            continue  # its own data is gone too
        if added.get("schema") is not None:
            yield added["of"], added["schema"]
