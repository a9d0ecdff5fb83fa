"""The versions of a session: its checkpoints, what going back would do, and how two states differ."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import msgspec

from agentstate.engine.decide.versions import Consequences
from agentstate.engine.state.session import SessionState
from agentstate.engine.versions.difference import Difference, Voice, difference, sentences, view
from agentstate.engine.versions.kept import Checkpoint, Versions
from agentstate.people.permissions import can, require
from agentstate.people.roles import Permission
from sessions.core import history, states, visibility
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person
from sessions.descriptions import values
from sessions.http.answers import PageOnly
from sessions.http.bodies import About
from sessions.models.sessions import AgentSession

MOST_FORKS = 50


class VersionsLine(msgspec.Struct, frozen=True):
    """What there is to go back to, newest first, and where the session came from and led to."""

    seq: Annotated[int, About("entries so far")]
    epoch: Annotated[int, About("raised by every rollback")]
    checkpoints: Annotated[tuple[Checkpoint, ...], About("newest first")]
    forked_from: Annotated[str, About("the session that this one was forked from, or empty")]
    forked_at: Annotated[int, About("the state of that session after so many entries")]
    draft: Annotated[bool, About("a fork that may not speak or act")]
    superseded_by: Annotated[str, About("the fork that goes on in its place, or empty")]
    forks: Annotated[tuple[UUID, ...], About("forks of it that nobody has promoted")]
    may_change: PageOnly[bool]


class StateDifference(msgspec.Struct, frozen=True):
    """How the state at `start` became the one at `end`."""

    found: Difference
    sentences: list[str]


def versions_of(user: Person, session: UUID) -> VersionsLine:
    """Raises UnknownSession, PermissionDenied (it needs `read`)."""
    team = must_read(user, session, "versions")
    state = states.load(session).state
    kept: Versions = state.versions
    return VersionsLine(
        seq=state.seq,
        epoch=state.epoch,
        checkpoints=tuple(reversed(kept.checkpoints)),
        forked_from=kept.origin.parent if kept.origin else "",
        forked_at=kept.origin.seq if kept.origin else 0,
        draft=kept.is_draft,
        superseded_by=kept.superseded_by,
        forks=tuple(
            AgentSession.objects.filter(fork_of=session).order_by("opened_at").values_list("pk", flat=True)[:MOST_FORKS]
        ),
        may_change=can(user, Permission.CHANGE_STATE, team),
    )


def rollback_preview(user: Person, session: UUID, to: int) -> Consequences:
    """What going back to `to` would do if it were done now. Raises NoSuchPoint, SessionOver."""
    require(user, Permission.CHANGE_STATE, must_read(user, session, "versions"))
    older = states.as_of(session, to)
    return history.looked_at(states.load(session), older)


def state_difference(user: Person, session: UUID, start: int, end: int, other: UUID | None = None) -> StateDifference:
    """How this session's state after `start` entries differs from the one after `end` (-1: now), of this session or of
    `other`. Both must be readable. Raises NoSuchPoint, BreaksSchema.
    """
    before = _readable(user, session, start)
    after = _readable(user, other or session, end)
    found = difference(view(before), view(after))
    return StateDifference(found, sentences(found, voice(before, after)))


def _readable(user: Person, session: UUID, seq: int) -> SessionState:
    team = must_read(user, session, "difference")
    return visibility.shown_state(user, session, team, _state(session, seq))


def _state(session: UUID, seq: int) -> SessionState:
    return states.load(session).state if seq == -1 else states.as_of(session, seq)


def voice(*known: SessionState) -> Voice:
    """How differences of these states are said on pages: calls by their tool, money as money."""
    tools = {key: call.tool for state in known for key, call in state.calls.items()}
    asked = {
        key: f"Decision on {values.plain(found.asked.tool).lower()}"
        for state in known
        for key, found in state.requests.items()
    }

    def name(path: str) -> str:
        names = path.split(".")
        names = names[1:] if names[0] in ("pad", "calls", "requests") and len(names) > 1 else names
        names = ["times put back"] if names == ["epoch"] else names
        names = [".".join(names)] if ".".join(names) in tools else names
        parts = [asked.get(part) or values.plain(tools.get(part, part)) for part in names]
        return ", ".join(part if not number else part.lower() for number, part in enumerate(parts))

    return Voice(name, values.value)
