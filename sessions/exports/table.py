"""The table of an export: one row a session, with what its line on the screen says."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from agentstate.engine.lifecycle import SessionStatus
from audit import keys
from sessions.core import projections
from sessions.descriptions import status
from sessions.exports.report import MASKED
from sessions.models.sessions import AgentSession

COLUMNS = (
    "session",
    "reference",
    "opened_at",
    "last_at",
    "ended_at",
    "team",
    "agent",
    "channel",
    "status",
    "waiting_for",
    "open_requests",
    "tier",
    "customer",
    "topic",
    "last_words",
    "entries",
    "bundle",
)
ERASED = "erased"


def row(session: UUID, entries: int, *, masked: bool) -> dict[str, Any]:
    """The row of a session of which the bundle holds so many entries. What is personal stands in it unless `masked`."""
    found = AgentSession.objects.select_related("team").get(pk=session)
    return {
        "session": str(session),
        "reference": session.hex[-6:].upper(),
        "opened_at": _time(found.opened_at),
        "last_at": _time(found.last_at),
        "ended_at": _time(found.ended_at),
        "team": found.team.name,
        "agent": found.agent,
        "channel": found.channel,
        "status": status.DOING[SessionStatus(found.status)].text,
        "waiting_for": found.waiting_for,
        "open_requests": found.open_requests,
        "tier": found.tier,
        "entries": entries,
        "bundle": name(session),
        **_personal(found, masked=masked),
    }


def erased(session: UUID) -> dict[str, Any]:
    """The row of a session whose bundle was deleted with its data subject."""
    return {"session": str(session), "reference": session.hex[-6:].upper(), "status": ERASED}


def name(session: UUID) -> str:
    """The bundle's name in the archive."""
    return f"sessions/{session}.zip"


def _personal(found: AgentSession, *, masked: bool) -> dict[str, str]:
    if masked:
        return dict.fromkeys(("customer", "topic", "last_words"), MASKED)
    try:
        card = projections.open_session_card(found.kid, found.pk, bytes(found.card))
    except keys.Erased:
        return dict.fromkeys(("customer", "topic", "last_words"), ERASED)
    return {"customer": card.name or card.customer, "topic": card.topic, "last_words": card.last_words}


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
