"""Sessions that somebody altered in the database: what readers are told, the alert, and the banner.

The scrubber (audit.scrub) finds; here is what follows from it for people. A reader that meets an altered entry first
refuses by the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import DatabaseError
from django.db.models import Exists, OuterRef

from agentstate.errors import AgentStateError, NotFound, Refused
from audit import condition, ledger
from audit.models import Alteration
from audit.scrub import altered, entries
from audit.scrub.altered import Found
from sessions.models.sessions import AgentSession, ApprovalRequest


class SessionAltered(Refused):
    """This session was altered in the database."""

    code = "session_altered"
    status = 409
    remedy = "Compare it with its last export and with a backup of the database."


def standing_in(session: str) -> Exists:
    """Whether an alteration about the session stands, as a part of a query; `session` is the column with its id."""
    return Exists(Alteration.objects.filter(log=OuterRef(session), right_at=None))


def refusal(session: UUID, found: Sequence[Found] = ()) -> SessionAltered:
    """The refusal of a session that was altered: by what was found now, else by what the scrubber found."""
    if not found and (row := altered.of_log(session)) is not None:
        found = [Found(row.log, row.what, row.seq, row.detail)]
    if not found:
        return SessionAltered()
    first = found[0]
    more = f" And {len(found) - 1} more." if len(found) > 1 else ""
    return SessionAltered(f"{_place(first)}{_said(first)}{more}")


def instead_of(error: Exception, address: Mapping[str, Any]) -> SessionAltered | None:
    """The refusal to answer with where `error` came of an altered session, which `address` names; else None."""
    if isinstance(error, SessionAltered) or (isinstance(error, Refused) and not isinstance(error, NotFound)):
        return None
    try:
        session = _named(address)
        if session is None:
            return None
        if isinstance(error, ledger.UnknownLog) and AgentSession.objects.filter(pk=session).exists():
            return refusal(session, [Found(session, "log_missing")])
        if isinstance(error, NotFound):
            return _deleted(session)
        found = entries.look(session)
        return refusal(session, found) if found or altered.of_log(session) is not None else None
    except (AgentStateError, DatabaseError):
        return None


def _named(address: Mapping[str, Any]) -> UUID | None:
    try:
        for name in ("session", "session_id"):
            if name in address:
                return UUID(str(address[name]))
        if "request_id" in address:
            rows = ApprovalRequest.objects.filter(pk=UUID(str(address["request_id"])))
            return rows.values_list("session_id", flat=True).first()
    except ValueError:
        pass
    return None


def _deleted(session: UUID) -> SessionAltered | None:
    """The public log names every session that there was, so this tells nobody of one that they may not see."""
    if AgentSession.objects.filter(pk=session).exists():
        return None
    row = altered.of_log(session)
    return None if row is None or row.what not in altered.HEADS else refusal(session)


def must_be_whole(session: UUID, rows: Sequence[ledger.Row], start: int, stop: int) -> None:
    """Returns if `rows` are the entries from `start` up to `stop`, each with its content or a reason for its absence.
    Raises SessionAltered.
    """
    one = entries.LogReading(session, stop, None, seq=start)
    found = entries.judge(one, ((row.seq, row.envelope, row.ciphertext) for row in rows), {})
    if found:
        raise refusal(session, found)


def remarks(session: UUID) -> list[str]:
    """What an export of the session says first: that it was altered, and where; that the ledger was."""
    found = entries.look(session)
    row = altered.of_log(session)
    if row is not None and not found:
        found = [Found(row.log, row.what, row.seq, row.detail)]
    said = [f"{_place(each)}{_said(each)}" for each in found]
    trouble = condition.read(ledger.read_head(session).tenant).told
    if trouble is not None and trouble.code in condition.TAMPERED:
        said.append(f"{trouble.title} {trouble.detail}".strip())
    return [SessionAltered().title, *said] if found else said


def _place(found: Found) -> str:
    return f"Entry {found.seq}: " if found.seq >= 0 else ""


def _said(found: Found) -> str:
    return f"{altered.WORDS.get(found.what, '')} {found.detail}".strip()
