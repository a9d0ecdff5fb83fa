"""Proving that projections and snapshots are the fold of the ledger, and making them so again.

Everything is folded from the first entry, with no cache in between; where a history was pruned, from the state that was
recorded to stand for it. What an erased subject leaves behind cannot be folded and is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection, transaction
from django.db.models import F

from agentstate.clock import now
from agentstate.engine import alerts as held
from agentstate.engine import events as ev
from agentstate.engine.instants import stamp
from agentstate.engine.state.session import Request, SessionState
from agentstate.engine.state.snapshot import form, to_snapshot
from audit import keys, ledger
from sessions.core import projections, recorded, states
from sessions.core.alert_rows import alert_row, changed_alerts
from sessions.core.projections import Place
from sessions.models.alerts import Alert
from sessions.models.sessions import AgentSession, ApprovalRequest, Snapshot, SnapshotPart


class Difference(msgspec.Struct, frozen=True):
    """One place where a row is not what the ledger says."""

    session: UUID
    what: str
    got: str
    want: str


class Folded(msgspec.Struct, frozen=True):
    """A session folded anew: its place, its state, its requests and alerts as of their last change, the snapshot bytes
    at one seq. `begun`: from how many entries on; a request that changed before that has no card here.
    """

    place: Place
    state: SessionState
    requests: dict[str, tuple[Request, projections.RequestCard | None]]
    alerts: dict[str, held.Alert]
    at_snapshot: bytes | None
    begun: int = 0


class Unfoldable(Exception):
    """The entries of a session do not amount to a state."""


def sessions_in_ledger() -> list[UUID]:
    """Every session that the ledger or the projections know."""
    rows = ledger.run(
        "SELECT id FROM agent_sessions_agentsession UNION SELECT log FROM audit_entry WHERE seq = 0"
        " AND position(convert_to(%(opened)s, 'UTF8') IN envelope) > 0 ORDER BY 1",
        {"opened": f'"kind":"{_OPENED}"'},
    )
    return [row[0] for row in rows]


_OPENED = ev.SessionOpened.__struct_config__.tag


def fold(head: ledger.Head, snapshot_seq: int = -1) -> Folded:
    """Fold one session from its first entry. Raises Unfoldable naming the entry, or keys.Erased."""
    kid = _own_key(head)
    state = start = _beginning(head, kid)
    requests: dict[str, tuple[Request, projections.RequestCard | None]] = {
        key: (request, None) for key, request in start.requests.items()
    }
    alerts = dict(start.alerts)
    at_snapshot = to_snapshot(start) if start.seq == snapshot_seq else None
    commit: list[ev.AnyEvent] = []  # the events of one command so far: its rows are made of the state after all of them
    command = ""
    before: SessionState | None = None
    for envelope, event, after in _folding(head, kid, start):
        if envelope.cmd != command:
            commit, before, command = [], state if state.seq else None, envelope.cmd
        commit, state = [*commit, *event], after
        changed = projections.changed_requests(before, state, commit)
        for request in changed:
            requests[request.asked.request] = (request, projections.request_card(request, state))
        for request in projections.executed_requests(state, commit, changed):
            key = request.asked.request
            requests[key] = (request, requests[key][1] if key in requests else None)
        alerts |= {alert.id: alert for alert in changed_alerts(state, commit)}
        if state.seq == snapshot_seq:
            at_snapshot = to_snapshot(state)
    if state.seq != head.size or state.opened is None:
        raise Unfoldable(f"the head says {head.size} entries, {state.seq} were found")
    place = Place(head.log, head.tenant, UUID(state.opened.team), kid)
    requests = {key: found for key, found in requests.items() if found[0].kid not in state.plans.erased}
    return Folded(place, state, requests, alerts, at_snapshot, start.seq)


def _beginning(head: ledger.Head, kid: UUID) -> SessionState:
    """The recorded state, where payloads before it are gone; else the state before the first entry. Raises Unfoldable,
    keys.Erased.
    """
    try:
        kept = recorded.newest(head.log, kid, head.size)
    except recorded.Lost as error:
        raise Unfoldable(str(error)) from error
    whole = kept is None or all(row.ciphertext is not None for row in ledger.read_rows(head.log, 0, kept.seq))
    return SessionState() if kept is None or whole else kept


def _own_key(head: ledger.Head) -> UUID:
    """The key of the session's own data subject: its first entry is theirs. Raises Unfoldable."""
    for row in ledger.read_rows(head.log, 0, 1):
        return UUID(ledger.parse_envelope(row.envelope).kid)
    raise Unfoldable(f"the head says {head.size} entries, 0 were found")


def _folding(
    head: ledger.Head, own: UUID, state: SessionState
) -> Iterator[tuple[ledger.Envelope, tuple[ev.AnyEvent, ...], SessionState]]:
    """Each entry behind `state` with its event, if its data subject was not erased, and the state after it. Raises as
    `fold`.
    """
    rows = ledger.open_living(ledger.read_rows(head.log, state.seq, head.size), own)
    while True:
        try:
            found = next(rows, None)
            if found is None:
                return
            envelope, payload = found
            event = () if payload is None else (ev.decode(payload),)
            state = states.after_entry(state, envelope, payload)
        except keys.Erased:
            raise
        except Exception as error:
            raise Unfoldable(f"entry {state.seq}: {type(error).__name__}: {error}") from error
        yield envelope, event, state


def _home(folded: Folded) -> dict[str, Any]:
    """The columns that say whose a row is. Who may see it hangs on them."""
    return {"tenant_id": folded.place.tenant, "team_id": folded.place.team}


def _opening(folded: Folded) -> dict[str, Any]:
    """The columns of a session's row that never change."""
    opened = folded.state.opened
    assert opened is not None
    token = projections.alias_token(folded.place.tenant, opened.alias)
    said = {"agent": opened.agent, "channel": opened.channel, "alias_token": token}
    return {**_home(folded), "kid": folded.place.kid, **said}


def check(session: UUID) -> list[Difference]:
    """Every way in which the rows of a session differ from the fold of its entries, in one snapshot of the database."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return list(_differences(session))


def _differences(session: UUID) -> Iterator[Difference]:
    row = AgentSession.objects.filter(pk=session).first()
    snapshot = Snapshot.objects.filter(pk=session, form=form()).first()  # nobody reads one of another form
    try:
        folded = fold(ledger.read_head(session), snapshot.seq if snapshot else -1)
    except keys.Erased:
        return
    except (ledger.UnknownLog, Unfoldable) as error:
        yield Difference(session, "entries", str(error), "a foldable log")
        return
    for key in ledger.false_receipts(session):
        yield Difference(session, f"receipt {key.hex()}", "another command", "the one its entries name")
    if row is None:
        yield Difference(session, "session", "no row", "a row")
    else:
        want = _opening(folded) | projections.session_row(folded.state)
        for name in _said_before_an_erasure(row, folded):
            del want[name]
        yield from _compare(session, "session", _columns(row, want))
        yield from _compare_card(row, folded)
    yield from _compare_requests(folded)
    yield from _compare_alerts(folded)
    yield from _compare_recorded(folded)
    if snapshot is not None:
        yield from _compare_snapshot(snapshot, folded)


WAITED = ("status", "waiting_for", "tier", "open_requests")  # what an instance's request has a part in


def _said_before_an_erasure(row: AgentSession, folded: Folded) -> tuple[str, ...]:
    """The columns that may still count an instance whose data subject was erased: until the next commit, and as long as
    processes remember keys.
    """
    ended = keys.destroyed(UUID(kid) for kid in folded.state.plans.erased) if folded.state.plans.erased else {}
    known = timedelta(seconds=keys.CACHE_SECONDS)
    return WAITED if any(row.last_at <= at + known for at in ended.values()) else ()


def _columns(row: Any, want: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (_plain(getattr(row, name)), value) for name, value in want.items()}


def _plain(value: Any) -> Any:
    return stamp(value) if isinstance(value, datetime) else value


def _compare(session: UUID, what: str, columns: dict[str, tuple[Any, Any]]) -> Iterator[Difference]:
    for name, (got, want) in columns.items():
        if got != want:
            yield Difference(session, f"{what}.{name}", repr(got), repr(want))


def _compare_card(row: AgentSession, folded: Folded) -> Iterator[Difference]:
    got = _opened(projections.open_session_card, folded.place.kid, row)
    if got != projections.session_card(folded.state):
        yield Difference(row.pk, "session.card", "another text", "the fold's")


def _opened(opener: Callable[[UUID, UUID, bytes], Any], kid: UUID, row: AgentSession | ApprovalRequest) -> Any:
    """A row's card; None for one that does not open under the subject's key."""
    try:
        return opener(kid, row.pk, bytes(row.card))
    except (keys.Unreadable, msgspec.MsgspecError):
        return None


def _compare_requests(folded: Folded) -> Iterator[Difference]:
    session = folded.place.id
    erased = [UUID(kid) for kid in folded.state.plans.erased]
    stored = ApprovalRequest.objects.filter(session=session).exclude(kid__in=erased)
    rows = {str(request.pk): request for request in stored}
    for missing in folded.requests.keys() - rows.keys():
        yield Difference(session, f"request {missing}", "no row", "a row")
    for surplus in rows.keys() - folded.requests.keys():
        if rows[surplus].asked_seq >= folded.begun or rows[surplus].card:  # else its words went with its entries
            yield Difference(session, f"request {surplus}", "a row", "no row")
    for key in folded.requests.keys() & rows.keys():
        request, card = folded.requests[key]
        columns = _columns(rows[key], _home(folded) | projections.request_row(request, folded.state))
        yield from _compare(session, f"request {key}", columns)
        if card and _opened(projections.open_request_card, rows[key].kid or folded.place.kid, rows[key]) != card:
            yield Difference(session, f"request {key}.card", "another text", "the fold's")


def _compare_alerts(folded: Folded) -> Iterator[Difference]:
    """Of what a recorded state stands for, alerts that were closed have a row and are no part of the fold any more."""
    session = folded.place.id
    rows = {str(row.pk): row for row in Alert.objects.filter(session=session)}
    for missing in folded.alerts.keys() - rows.keys():
        yield Difference(session, f"alert {missing}", "no row", "a row")
    for surplus in rows.keys() - folded.alerts.keys():
        if rows[surplus].raised_seq >= folded.begun:
            yield Difference(session, f"alert {surplus}", "a row", "no row")
    for key in folded.alerts.keys() & rows.keys():
        want = _home(folded) | alert_row(folded.alerts[key])
        yield from _compare(session, f"alert {key}", _columns(rows[key], want))


def _compare_recorded(folded: Folded) -> Iterator[Difference]:
    """While the entries are still there, the recorded state must be what they amount to."""
    session = folded.place.id
    kept = None if folded.begun else recorded.newest(session, folded.place.kid, folded.state.seq)
    if kept is not None and to_snapshot(kept) != to_snapshot(states.fold_all(session, kept.seq)):
        yield Difference(session, f"recorded state at {kept.seq}", "another state", "the fold's")


def _compare_snapshot(snapshot: Snapshot, folded: Folded) -> Iterator[Difference]:
    session = folded.place.id
    try:
        kept = states.kept_snapshot(session)
    except keys.Erased:
        return  # it is of before the erasure, and no one can read it any more
    except (keys.Unreadable, msgspec.MsgspecError):
        yield Difference(session, "snapshot", "unreadable", "the fold's")
        return
    if folded.at_snapshot is None or to_snapshot(kept) != folded.at_snapshot:
        yield Difference(session, f"snapshot at {snapshot.seq}", "another state", "the fold's")


def rebuild(session: UUID) -> None:
    """Drop the rows of one session and write them anew from its entries. Nobody appends meanwhile; a lease is ended."""
    with transaction.atomic():
        folded = fold(ledger.read_head(session, lock=True))  # the head first, as every command does
        place = folded.place
        columns = _opening(folded) | projections.session_row(folded.state)
        columns |= projections.readiness_columns(folded.state)
        columns["card"] = projections.sealed(place.kid, session, projections.session_card(folded.state))
        if not AgentSession.objects.filter(pk=session).update(**columns, lease_until=None, fence=F("fence") + 1):
            AgentSession.objects.create(id=session, **columns, fence=_fresh_fence())
        Snapshot.objects.filter(pk=session).delete()
        SnapshotPart.objects.filter(session=session).delete()
        erased = [UUID(kid) for kid in folded.state.plans.erased]
        stored = ApprovalRequest.objects.filter(session=session).exclude(kid__in=erased)
        stored.exclude(asked_seq__lt=folded.begun, card=b"").delete()
        _rebuild_alerts(folded)
        ApprovalRequest.objects.bulk_create(
            ApprovalRequest(
                id=UUID(key),
                session_id=session,
                card=_request_card(folded, key),
                **_home(folded),
                **projections.request_row(request, folded.state),
            )
            for key, (request, _) in folded.requests.items()
        )


def _rebuild_alerts(folded: Folded) -> None:
    """How often an alert was found is no entry, and is kept where the row was there."""
    session = folded.place.id
    Alert.objects.filter(session=session, raised_seq__gte=folded.begun).exclude(pk__in=folded.alerts).delete()
    for key, alert in folded.alerts.items():
        Alert.objects.update_or_create(id=UUID(key), defaults={"session": session, **_home(folded), **alert_row(alert)})


def _request_card(folded: Folded, key: str) -> bytes:
    """What the queue says of a request; where its entries are gone, in the words of the state that stands for them."""
    request, card = folded.requests[key]
    kid = UUID(request.kid) if request.kid else folded.place.kid
    return projections.sealed(kid, UUID(key), card or projections.request_card(request, folded.state))


def _fresh_fence() -> int:
    """A fencing number above any that a worker of the dropped row may still hold: seconds since 1970."""
    return int(now().timestamp())
