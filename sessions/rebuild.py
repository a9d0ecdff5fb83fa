"""Proving that projections and snapshots are the fold of the ledger, and making them so again.

Everything is folded from the first entry, with no cache in between. What an erased subject leaves behind cannot be
folded and is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection, transaction

from agentstate.engine import events as ev
from agentstate.engine.instants import stamp
from agentstate.engine.state import Request, SessionState, evolve, from_snapshot, to_snapshot
from audit import keys, ledger
from sessions import projections, states
from sessions.models import AgentSession, ApprovalRequest, Snapshot
from sessions.projections import Place


class Difference(msgspec.Struct, frozen=True):
    """One place where a row is not what the ledger says."""

    session: UUID
    what: str
    got: str
    want: str


class Folded(msgspec.Struct, frozen=True):
    """A session folded anew: its state, its requests as of their last change, and the snapshot bytes at one seq."""

    state: SessionState
    requests: dict[str, tuple[Request, projections.RequestCard]]
    at_snapshot: bytes | None


class Unfoldable(Exception):
    """The entries of a session do not amount to a state."""


def sessions_in_ledger() -> list[UUID]:
    """Every session that the ledger or the projections know."""
    rows = ledger.run("SELECT id FROM agent_sessions_agentsession ORDER BY id", {})
    return [row[0] for row in rows]


def fold(session: UUID, size: int, snapshot_seq: int = -1) -> Folded:
    """Fold one session from its first entry. Raises Unfoldable naming the entry, or keys.Erased."""
    state = SessionState()
    requests: dict[str, tuple[Request, projections.RequestCard]] = {}
    at_snapshot = None
    for row in ledger.read_rows(session, 0, size):
        try:
            envelope, payload = ledger.open_row(row)
            event = ev.decode(payload)
            state = evolve(state, event, envelope.at)
        except keys.Erased:
            raise
        except Exception as error:
            raise Unfoldable(f"entry {row.seq}: {type(error).__name__}: {error}") from error
        for request in projections.changed_requests(state, [event]):
            requests[request.asked.request] = (request, projections.request_card(request, state))
        if state.seq == snapshot_seq:
            at_snapshot = to_snapshot(state)
    if state.seq != size:
        raise Unfoldable(f"the head says {size} entries, {state.seq} were found")
    return Folded(state, requests, at_snapshot)


def check(session: UUID) -> list[Difference]:
    """Every way in which the rows of a session differ from the fold of its entries, in one snapshot of the database."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return list(_differences(session))


def _differences(session: UUID) -> Iterator[Difference]:
    row = AgentSession.objects.get(pk=session)
    head = ledger.read_head(session)
    snapshot = Snapshot.objects.filter(pk=session).first()
    try:
        folded = fold(session, head.size, snapshot.seq if snapshot else -1)
    except keys.Erased:
        return
    except Unfoldable as error:
        yield Difference(session, "entries", str(error), "a foldable log")
        return
    for key in ledger.false_receipts(session):
        yield Difference(session, f"receipt {key.hex()}", "another command", "the one its entries name")
    yield from _compare(session, "session", _columns(row, projections.session_row(folded.state)))
    yield from _compare_card(row, folded.state)
    yield from _compare_requests(row, folded)
    if snapshot is not None:
        yield from _compare_snapshot(row, snapshot, folded)


def _columns(row: Any, want: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (_plain(getattr(row, name)), value) for name, value in want.items()}


def _plain(value: Any) -> Any:
    return stamp(value) if isinstance(value, datetime) else value


def _compare(session: UUID, what: str, columns: dict[str, tuple[Any, Any]]) -> Iterator[Difference]:
    for name, (got, want) in columns.items():
        if got != want:
            yield Difference(session, f"{what}.{name}", repr(got), repr(want))


def _compare_card(row: AgentSession, state: SessionState) -> Iterator[Difference]:
    want = projections.session_card(state)
    got = projections.open_session_card(row.kid, row.pk, bytes(row.card))
    if got != want:
        yield Difference(row.pk, "session.card", "another text", "the fold's")


def _compare_requests(row: AgentSession, folded: Folded) -> Iterator[Difference]:
    rows = {str(request.pk): request for request in ApprovalRequest.objects.filter(session=row.pk)}
    for missing in folded.requests.keys() - rows.keys():
        yield Difference(row.pk, f"request {missing}", "no row", "a row")
    for surplus in rows.keys() - folded.requests.keys():
        yield Difference(row.pk, f"request {surplus}", "a row", "no row")
    for key in folded.requests.keys() & rows.keys():
        request, card = folded.requests[key]
        columns = _columns(rows[key], projections.request_row(request))
        yield from _compare(row.pk, f"request {key}", columns)
        if projections.open_request_card(row.kid, rows[key].pk, bytes(rows[key].card)) != card:
            yield Difference(row.pk, f"request {key}.card", "another text", "the fold's")


def _compare_snapshot(row: AgentSession, snapshot: Snapshot, folded: Folded) -> Iterator[Difference]:
    purpose = f"{states.SNAPSHOT}/{row.pk}/{snapshot.seq}"
    try:
        kept = from_snapshot(keys.unseal(row.kid, purpose, bytes(snapshot.sealed)))
    except (keys.Unreadable, msgspec.MsgspecError):
        yield Difference(row.pk, "snapshot", "unreadable", "the fold's")
        return
    if folded.at_snapshot is None or to_snapshot(kept) != folded.at_snapshot:
        yield Difference(row.pk, f"snapshot at {snapshot.seq}", "another state", "the fold's")


def rebuild(session: UUID) -> None:
    """Drop the rows of one session and write them anew from its entries. Nobody appends meanwhile; a lease is ended."""
    with transaction.atomic():
        row = AgentSession.objects.select_for_update().get(pk=session)
        head = ledger.read_head(session, lock=True)
        folded = fold(session, head.size)
        place = Place(row.pk, row.tenant_id, row.team_id, row.kid)
        columns = projections.session_row(folded.state) | projections.readiness_columns(folded.state)
        card = projections.sealed(place.kid, place.id, projections.session_card(folded.state))
        AgentSession.objects.filter(pk=session).update(**columns, card=card, lease_until=None, fence=row.fence + 1)
        Snapshot.objects.filter(pk=session).delete()
        ApprovalRequest.objects.filter(session=session).delete()
        ApprovalRequest.objects.bulk_create(
            ApprovalRequest(
                id=UUID(key),
                session_id=session,
                tenant_id=place.tenant,
                team_id=place.team,
                card=projections.sealed(place.kid, UUID(key), request_card),
                **projections.request_row(request),
            )
            for key, (request, request_card) in folded.requests.items()
        )
