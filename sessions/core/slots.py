"""Where private values stand in a session: what the versions of its schema and of its data messages mark `x-private`.

All versions count, not the one in force: an entry keeps what was private when it was written.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine import references, schemas
from agentstate.engine.schemas import Declared
from agentstate.engine.scratchpad import messages
from agentstate.engine.state.rounds import private_schemas
from agentstate.engine.understanding.held import Talk
from agentstate.engine.understanding.private import without_private
from agentstate.errors import AgentStateError
from sessions.agents import registry
from sessions.core import states
from sessions.models.sessions import AgentSession

HIDDEN = schemas.HIDDEN
UNREADABLE = (AgentStateError, msgspec.MsgspecError, ValueError, LookupError, TypeError)


class Places:
    """The private places of one session. What cannot be read of it makes everything private."""

    def __init__(self, session: UUID, agent: str = "") -> None:
        self._session, self._agent = session, agent  # the session's agent, where it is known already

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
        """Returns a value of which nobody knows where it stands; withheld if anything of state or data is private."""
        return HIDDEN if self._private is None or self._private else value

    def talk(self, talk: Talk) -> Talk:
        """Returns a talk without the entities of results that hold private values."""
        return Talk() if self._private is None else without_private(talk, self._private)

    def shown_entity(self, entity: str) -> str:
        """Returns the id of an entity; withheld if its result holds private values, or is not known any more."""
        return entity if entity in self._open_entities else self.shown_anywhere(entity)

    @cached_property
    def _open_entities(self) -> frozenset[str]:
        talk = states.load(self._session).state.talk
        return frozenset(each.id for each in self.talk(talk).entities) & {each.id for each in talk.entities}

    @cached_property
    def _private(self) -> tuple[str, ...] | None:
        """Every private place as a path; None where that cannot be told."""
        try:
            of_state = [path for each in self._of_state for path in schemas.private_paths(each)]
            return (*of_state, *messages.private_paths(self._brought))
        except UNREADABLE:
            return None

    def contested(self, conflict: str) -> str | None:
        """Returns the path that a conflict is about; None where it is not known any more."""
        try:
            held = states.load(self._session).state.changes.conflicts.get(conflict)
        except UNREADABLE:
            return None
        return held.path if held is not None else None

    def _declared(self, kind: str) -> tuple[Declared, ...]:
        if kind == messages.STATE:
            return self._of_state
        brought = self._brought.get(kind, ())
        return tuple(declared for schema in brought if (declared := messages.words_of(schema)) is not None)

    @cached_property
    def _of_state(self) -> tuple[Declared, ...]:
        """Every version of the schema of the session's agent. Raises UnknownAgent."""
        agent = self._agent or AgentSession.objects.filter(pk=self._session).values_list("agent", flat=True).first()
        catalogue = registry.schemas_for(registry.find(agent or "").schema)
        return tuple(catalogue.versions.values()) if catalogue is not None else ()

    @cached_property
    def _brought(self) -> messages.PrivateSchemas:
        """By kind, every schema with private fields that data messages have brought; the state keeps them."""
        return private_schemas(states.load(self._session).state.plans)
