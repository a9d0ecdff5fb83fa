"""Loading a session's state: hot (this process's memory), else cold (sealed snapshot and the tail of entries).

Every tier is a cache. What is remembered is compared with the head when it is used; a miss reads the tail.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import transaction

from agentstate.engine import events as ev
from agentstate.engine.decide.versions import NoSuchPoint
from agentstate.engine.state.evolution import evolve, evolve_erased
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import form, from_parts, to_parts, to_snapshot
from agentstate.engine.state.subjects import kids
from agentstate.errors import Broken, NotFound
from audit import keys, ledger
from audit.blobs import Blobs
from audit.tlog import tree
from sessions.core import recorded
from sessions.core.projections import Place

SNAPSHOT = "agent_sessions/snapshot"
INSTANCE_BYTES = 4_000  # and each instance of its plan
LOOK = 5.0  # seconds between two looks for what was remembered long enough
STATE_BYTES = 20_000  # what a remembered state is reckoned at beside its texts, measured on demo sessions


class Loaded(msgspec.Struct, frozen=True):
    """A session as of one moment: its unchanging facts, its head and the state folded up to that head."""

    place: Place
    head: ledger.Head
    state: SessionState


class UnknownSession(NotFound):
    """There is no such session, or you may not see it."""

    code = "unknown_session"


class _Memory:
    """The hot states of this process, bounded in bytes; the one unused longest goes first."""

    def __init__(self) -> None:
        self._held: OrderedDict[UUID, tuple[int, Loaded]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def put(self, loaded: Loaded) -> None:
        """Keep `loaded` unless a newer state is kept: a slow thread must not bring back the past."""
        weight = STATE_BYTES + 3 * sum(len(item.text) for item in loaded.state.items)
        weight += INSTANCE_BYTES * len(loaded.state.plans.instances)
        with self._lock:
            held = self._held.get(loaded.place.id)
            if held is not None and held[1].head.size >= loaded.head.size:
                return
            self._drop(loaded.place.id)
            self._held[loaded.place.id] = (weight, loaded)
            self._bytes += weight
            while self._bytes > settings.STATE_CACHE_BYTES:
                self._drop(next(iter(self._held)))

    def get(self, session: UUID) -> Loaded | None:
        with self._lock:
            if session not in self._held:
                return None
            self._held.move_to_end(session)
            return self._held[session][1]

    def drop(self, session: UUID) -> None:
        with self._lock:
            self._drop(session)

    def keep_only(self, fits: Callable[[Loaded], bool]) -> None:
        """Drop what does not fit."""
        with self._lock:
            for session in [session for session, (_, held) in self._held.items() if not fits(held)]:
                self._drop(session)

    def clear(self) -> None:
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def _drop(self, session: UUID) -> None:
        weight, _ = self._held.pop(session, (0, None))
        self._bytes -= weight


_hot = _Memory()


class _Forgetter:
    """One daemon thread that lets go of what was remembered too long; started with the first state that is kept.

    Keys go when they have been remembered for keys.CACHE_SECONDS, and with its key goes a state that was read under it:
    whoever is erased is gone from the memory of every process by then, also where nobody asks for the session again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="forgetter", daemon=True)
                    self._thread.start()

    def _run(self) -> None:
        while True:
            time.sleep(LOOK)
            forget_stale()


_forgetter = _Forgetter()


def forget_stale() -> None:
    """Drop the keys that were remembered long enough, and the states that were read under them."""
    keys.forget_stale(early=LOOK)
    _hot.keep_only(lambda held: keys.remembered((held.place.kid, *(UUID(kid) for kid in kids(held.state)))))


def remember(loaded: Loaded) -> None:
    """Keep `loaded` as the hot state of its session, unless a newer one is kept."""
    _forgetter.wake()
    _hot.put(loaded)


def recall(session: UUID) -> Loaded | None:
    """The hot state, perhaps outdated."""
    return _hot.get(session)


def forget_all() -> None:
    """Drop every hot state of this process."""
    _hot.clear()


def forget(session: UUID) -> None:
    """Drop the hot state of one session."""
    _hot.drop(session)


def load(session: UUID, *, lock: bool = False) -> Loaded:
    """The session up to its head. With `lock`, inside a transaction, nobody appends until it ends.

    Raises UnknownSession; keys.Erased, ledger.Pruned; Broken when the entries do not amount to the head.
    """
    held, newer, head = recall(session), list[ledger.Row](), None
    if lock:  # lock first, read in the next statement: one statement would return the old entries
        head = _locked_head(session)
    elif held is not None:
        head, newer = _newer(session, held.head.size)
    if held is None:
        held = _cold(session, head)
    head = head or held.head
    _must_not_be_erased(held.place)
    if _has_lost(held.state):  # an instance's data subject was erased: what is left is folded without them
        _hot.drop(session)
        held = _cold(session, head)
    if held.head.size > head.size:
        raise Broken(f"session {session}: the ledger has {head.size} entries, this process has seen {held.head.size}")
    if held.head.frontier != head.frontier:
        held = _moved_on(held, head, newer)
    if held.state.sealed == "pruned":
        _hot.drop(session)
        raise ledger.Pruned(str(session))
    return held


def _moved_on(held: Loaded, head: ledger.Head, newer: Sequence[ledger.Row]) -> Loaded:
    """What is remembered, moved on to `head`; read anew where the entries do not lead there. A database that was put
    back has another history, of which what was decided here is no part.
    """
    hashes: list[bytes] = []
    rows = _hashed(_following(held.place.id, held.state.seq, head.size, newer), hashes)
    state = _caught_up(held.place, held.state, head.size, rows)
    whole = held.head.size + len(hashes) == head.size  # not where a recorded state stood for pruned entries
    if whole and tree.append(held.head.frontier, held.head.size, hashes) != head.frontier:
        _hot.drop(held.place.id)
        return _cold(held.place.id, head)
    moved = Loaded(held.place, head, state)
    remember(moved)
    return moved


def _must_not_be_erased(place: Place) -> None:
    """What is remembered ends with the subject's key, within the time that keys themselves are remembered."""
    try:
        keys.subject_key(place.kid)
    except keys.Erased:
        _hot.drop(place.id)
        raise


def _has_lost(state: SessionState) -> bool:
    """Whether the state knows something of a data subject who was erased since."""
    others = kids(state) if state.plans.instances or state.plans.leaving else ()
    return bool(others) and bool(keys.gone(UUID(kid) for kid in others))


def _locked_head(session: UUID) -> ledger.Head:
    try:
        return ledger.read_head(session, lock=True)
    except ledger.UnknownLog:
        raise UnknownSession() from None


def _newer(session: UUID, start: int) -> tuple[ledger.Head, list[ledger.Row]]:
    try:
        return ledger.read_newer(session, start)
    except ledger.UnknownLog:
        raise UnknownSession() from None


def _cold(session: UUID, head: ledger.Head | None) -> Loaded:
    """The session from its snapshot and the tail of its entries, up to `head`; None: up to the head as it is now."""
    rows = ledger.run(
        "SELECT s.tenant_id, s.team_id, s.kid, c.seq, c.sealed, c.parts, p.bodies, p.kids"
        " FROM agent_sessions_agentsession s"
        " LEFT JOIN agent_sessions_snapshot c ON c.session = s.id AND c.form = %(form)s"
        " LEFT JOIN LATERAL (SELECT array_agg(sealed ORDER BY number) AS bodies, array_agg(kid ORDER BY number) AS kids"
        "  FROM agent_sessions_snapshotpart WHERE session = c.session AND number < c.parts) p ON c.parts > 0"
        " WHERE s.id = %(session)s",
        {"session": session, "form": form()},
    )
    if not rows:
        raise UnknownSession()
    tenant, team, kid, seq, sealed, parts, bodies, kids_of_parts = rows[0]
    place, state, newer = Place(session, tenant, team, kid), SessionState(), list[ledger.Row]()
    if sealed is not None:
        state = _readable(session, kid, seq, sealed, parts, bodies, kids_of_parts)
    if head is None:
        head, newer = _newer(session, state.seq)
    if state.seq > head.size:
        state, newer = SessionState(), []
    loaded = Loaded(place, head, _caught_up(place, state, head.size, _following(session, state.seq, head.size, newer)))
    remember(loaded)
    return loaded


def _readable(session: UUID, own: UUID, *kept: Any) -> SessionState:
    """The state of a snapshot; that before the first entry when it knows something of a data subject who was erased."""
    try:
        return _unsealed(session, own, *kept)
    except keys.Erased:
        keys.subject_key(own)
        return SessionState()


def _unsealed(
    session: UUID,
    own: UUID,
    seq: int,
    sealed: bytes,
    count: int,
    bodies: list[bytes] | None,
    others: list[UUID | None] | None,
) -> SessionState:
    """The state of a snapshot; that before the first entry when its parts are not all there. Raises keys.Erased."""
    if len(bodies or ()) != count:
        return SessionState()
    keys.warm({kid for kid in others or () if kid is not None})
    data = keys.unseal(own, f"{SNAPSHOT}/{session}/{seq}", bytes(sealed))
    parts = {
        number: keys.unseal(kid or own, f"{SNAPSHOT}/{session}/part/{number}", bytes(body))
        for number, (body, kid) in enumerate(zip(bodies or (), others or (), strict=True))
    }
    return from_parts(data, parts)


def _caught_up(place: Place, state: SessionState, size: int, rows: Iterable[ledger.Row] | None = None) -> SessionState:
    """The state after `size` entries, from `state`; where the entries behind that were pruned, from the recorded state
    that stands for them. `rows` are the entries that follow; None: they are read here. Raises keys.Erased,
    ledger.Pruned, recorded.Lost, Broken.
    """
    try:
        return _folded(place, state, size, rows)
    except ledger.Pruned:
        kept = recorded.newest(place.id, place.kid, size)
        if kept is None or kept.seq <= state.seq:
            raise
        return _folded(place, kept, size)


def _folded(place: Place, state: SessionState, size: int, rows: Iterable[ledger.Row] | None = None) -> SessionState:
    if rows is None:
        rows = ledger.read_rows(place.id, state.seq, size)
    for envelope, payload in ledger.open_living(rows, place.kid):
        state = after_entry(state, envelope, payload)
    if state.seq != size:
        raise Broken(f"session {place.id}: the head says {size} entries, {state.seq} were found")
    return state


def _following(session: UUID, start: int, size: int, read: Sequence[ledger.Row]) -> Iterator[ledger.Row]:
    """The entries from `start` up to `size`; `read` are the first of them, where they are known already."""
    return chain(read, ledger.read_rows(session, read[-1].seq + 1 if read else start, size))


def _hashed(rows: Iterable[ledger.Row], hashes: list[bytes]) -> Iterator[ledger.Row]:
    """The rows as they are; the leaf hash of each is added to `hashes` when the row is read."""
    for row in rows:
        hashes.append(tree.leaf_hash(row.envelope))
        yield row


def after_entry(state: SessionState, envelope: ledger.Envelope, payload: bytes | None) -> SessionState:
    """The state after a stored entry; None is a payload that was erased with a data subject of some instance."""
    if payload is None:
        return evolve_erased(state, envelope.kid, envelope.at)
    return evolve(state, ev.decode(payload), envelope.at)


def as_of(session: UUID, seq: int) -> SessionState:
    """The state after the first `seq` entries. Raises UnknownSession, NoSuchPoint; the cost grows with what must be
    folded: from the snapshot where it is older, else from the first entry.

    No state is kept per checkpoint: one would be written at every gate and effect of every session, for people who look
    back rarely.
    """
    loaded = load(session)
    if not 0 < seq <= loaded.head.size:
        raise NoSuchPoint(f"got {seq}, want 1 to {loaded.head.size}")
    if loaded.state.seq == seq:
        return loaded.state
    try:
        kept = _snapshot(session, seq)
    except keys.Erased:
        kept = SessionState()
    return _caught_up(loaded.place, kept, seq)


def _snapshot(session: UUID, most: int) -> SessionState:
    """The kept snapshot if it is of `most` entries or fewer, else the state before the first entry."""
    rows = ledger.run(
        "SELECT s.kid, c.seq, c.sealed, c.parts, p.bodies, p.kids FROM agent_sessions_agentsession s"
        " JOIN agent_sessions_snapshot c ON c.session = s.id AND c.form = %(form)s"
        " LEFT JOIN LATERAL (SELECT array_agg(sealed ORDER BY number) AS bodies, array_agg(kid ORDER BY number) AS kids"
        "  FROM agent_sessions_snapshotpart WHERE session = c.session AND number < c.parts) p ON c.parts > 0"
        " WHERE s.id = %(session)s AND c.seq <= %(most)s",
        {"session": session, "most": most, "form": form()},
    )
    return _unsealed(session, *rows[0]) if rows else SessionState()


def kept_snapshot(session: UUID) -> SessionState:
    """The state as the kept snapshot has it. Raises keys.Unreadable, keys.Erased."""
    return _snapshot(session, 2**53)


def events_since(session: UUID, start: int, stop: int) -> Iterator[tuple[int, ev.AnyEvent]]:
    """The events of the entries from `start` up to `stop` that concern the session's own data subject, each with its
    seq. Raises keys.Erased.
    """
    own = str(load(session).place.kid)
    rows = ledger.read_rows(session, start, stop)
    theirs = (row for row in rows if ledger.parse_envelope(row.envelope).kid == own)
    for envelope, payload in ledger.open_rows(theirs):
        yield envelope.seq, ev.decode(payload)


def fold_all(session: UUID, size: int) -> SessionState:
    """The state folded from the first entry, or of a pruned history from the recorded state; with no cache between."""
    return _caught_up(load(session).place, SessionState(), size)


def keep_snapshot(loaded: Loaded) -> None:
    """Write the state's snapshot. A crash before it costs a longer tail, nothing else."""
    if not loaded.state.plans.instances:
        _keep(loaded, to_snapshot(loaded.state), 0)
        return
    with transaction.atomic():
        rows = ledger.run(
            "SELECT seq, form FROM agent_sessions_snapshot WHERE session = %(session)s FOR UPDATE",
            {"session": loaded.place.id},
        )
        seq, of = rows[0] if rows else (0, "")
        if seq < loaded.state.seq:
            _keep_parts(loaded, seq if of == form() else 0)  # what stands in another form is written anew


def snapshot(place: Place, state: SessionState) -> ledger.Fragment:
    """The write of a state's snapshot as part of the commit that leads to it: no commit of its own has to reach the
    disk. Of a state without instances; those are parts, which are kept apart.
    """
    return ledger.Fragment(_KEEP, _sealed(place, state.seq, to_snapshot(state), 0))


_KEEP = """INSERT INTO agent_sessions_snapshot (session, seq, form, parts, sealed)
  SELECT head.log, %(n_seq)s, %(n_form)s, %(n_parts)s, %(n_sealed)s FROM head ON CONFLICT (session)
  DO UPDATE SET seq = EXCLUDED.seq, form = EXCLUDED.form, parts = EXCLUDED.parts, sealed = EXCLUDED.sealed
  WHERE agent_sessions_snapshot.seq < EXCLUDED.seq"""
_KEEP_ALONE = f"WITH head AS (SELECT %(session)s::uuid AS log) {_KEEP}"


def _keep_parts(loaded: Loaded, since: int) -> None:
    """The snapshot with the instances that have changed by entry `since` or later; the others stand as they were
    written.
    """
    place = loaded.place
    # Where an instance has gone with its data subject, those behind it have moved up.
    parts = to_parts(loaded.state, 0 if loaded.state.plans.erased else since)
    others = {number: UUID(kid) for number, kid in parts.kids.items()}
    bodies = [
        keys.seal(others.get(number, place.kid), f"{SNAPSHOT}/{place.id}/part/{number}", body)
        for number, body in parts.bodies.items()
    ]
    ledger.run(
        "INSERT INTO agent_sessions_snapshotpart (session, number, kid, sealed)"
        " SELECT %(session)s, row.number, row.kid, row.sealed"
        " FROM unnest(%(numbers)s::int[], %(kids)s::uuid[], %(bodies)b) AS row(number, kid, sealed)"
        " ON CONFLICT (session, number) DO UPDATE SET sealed = EXCLUDED.sealed, kid = EXCLUDED.kid",
        {
            "session": place.id,
            "numbers": list(parts.bodies),
            "kids": [others.get(number) for number in parts.bodies],
            "bodies": Blobs(bodies),
        },
    )
    _keep(loaded, parts.rest, parts.count)


def _keep(loaded: Loaded, data: bytes, parts: int) -> None:
    written = _sealed(loaded.place, loaded.state.seq, data, parts)
    ledger.run(_KEEP_ALONE, {"session": loaded.place.id, **written})


def _sealed(place: Place, seq: int, data: bytes, parts: int) -> dict[str, Any]:
    sealed = keys.seal(place.kid, f"{SNAPSHOT}/{place.id}/{seq}", data)
    return {"n_seq": seq, "n_form": form(), "n_parts": parts, "n_sealed": sealed}
