"""What is inside a session: its state, and its entries, opened. Reading needs the permission `read`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.db.models import OuterRef, Subquery
from msgspec import Meta

from agentstate.engine import events as ev
from agentstate.engine.state.session import SessionState
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from audit import keys, ledger
from audit.models import Head
from audit.scrub.altered import Found
from audit.tlog import tree
from sessions.core import access, alterations, states, visibility
from sessions.core.access import Seen
from sessions.core.session_lines import PAGE, Person
from sessions.core.visibility import Visibility
from sessions.models.sessions import AgentSession

_exact = msgspec.json.Decoder(float_hook=Decimal)  # numbers keep the text in which they arrived
TAIL = 200  # entries
STRIDE = 100  # entries
_CARD = ("message.", "approval.", "decision.", "request.", "call.", "tool.", "plan.", "goals.", "grant.", "work.")


class EntryLine(msgspec.Struct, frozen=True):
    """One entry of a session's log, opened. `data` is None once its subject was erased."""

    seq: int
    kind: Annotated[str, Meta(extra_json_schema={"enum": list(ev.KINDS)})]
    at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    actor: Annotated[str, Meta(description="user:<id>, agent:<name> or system")]
    ref: Annotated[int, Meta(description="seq of the entry that this one answers, or -1")]
    command: Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
    data: Annotated[dict[str, Any] | None, Meta(description="null once the customer was erased")]


def state_of(user: Person, session: UUID, what: str = "state") -> SessionState:
    """The folded state as this person may see it: for reading, not for deciding. Raises UnknownSession, or
    PermissionDenied to those who may see but not read.
    """
    team = must_read(user, session, what)
    return visibility.shown_state(user, session, team, states.load(session).state)


def must_read(user: Person, session: UUID, what: str = "state") -> UUID:
    """The session's team; that `user` reads it, as `access.READS` calls it, is noted.

    Raises UnknownSession, or PermissionDenied to those who may see but not read.
    """
    team = may_read(user, session, what)
    access.note(user, what, [Seen(session, team)])
    return team


def may_read(user: Person, session: UUID, what: str = "state") -> UUID:
    """The session's team, for what shows nothing personal. Raises as `must_read`."""
    return _readable(user, session, what)[0]


def _readable(user: Person, session: UUID, what: str) -> tuple[UUID, int]:
    """The session's team, and how many entries its head counts. Raises as `must_read`."""
    size = Head.objects.filter(log=OuterRef("pk")).values("size")
    rows = AgentSession.objects.filter(pk=session).annotate(
        entries=Subquery(size), altered=alterations.standing_in("pk")
    )
    row = rows.values_list("team_id", "entries", "altered").first()
    if row is None:
        raise states.UnknownSession()
    team, entries, altered = row
    if not access.may(user, Permission.SEE, session, team):
        access.refused(user, what, session)
        raise states.UnknownSession()
    if not access.may(user, Permission.READ, session, team):
        access.refused(user, what, session)
        needed = Permission.READ.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    if altered or entries is None:
        raise alterations.refusal(session, [] if altered else [Found(session, "log_missing")])
    return team, entries


def _whole(session: UUID, start: int, stop: int) -> list[ledger.Row]:
    """The entries from `start` up to `stop`, none of which is missing. Raises SessionAltered."""
    rows = list(ledger.read_rows(session, start, stop)) if start < stop else []
    alterations.must_be_whole(session, rows, start, max(start, stop))
    return rows


def entries(user: Person, session: UUID, *, after: int = -1, limit: int = PAGE) -> list[EntryLine]:
    """Entries with seq above `after`, opened, oldest first. Raises as `state_of`."""
    team, size = _readable(user, session, "entries")
    start = max(0, after + 1)
    rows = _whole(session, start, min(start + limit, size))
    return _visible(user, session, team, list(opened(iter(rows))))


def conversation(user: Person, session: UUID) -> list[EntryLine]:
    """Of the whole session the entries about what was said, asked, decided and called, opened, oldest first: what the
    card of a request is made of. Raises as `state_of`.
    """
    team, size = _readable(user, session, "entries")
    rows = (row for row in _whole(session, 0, size) if ledger.parse_envelope(row.envelope).kind.startswith(_CARD))
    return _visible(user, session, team, list(opened(rows)))


def _visible(user: Person, session: UUID, team: UUID, lines: list[EntryLine]) -> list[EntryLine]:
    """The lines as this person may see them; that they read them is noted."""
    if lines:
        access.note(user, "entries", [Seen(session, team, lines[0].seq, lines[-1].seq)])
    seen = visibility.of_reader(user, session, team)
    shown = [seen_by(seen, line) for line in lines]
    visibility.note(user, session, team, seen)
    return shown


def seen_by(seen: Visibility, line: EntryLine) -> EntryLine:
    """A line as the reader may see it."""
    return line if line.data is None else msgspec.structs.replace(line, data=seen.entry(line.kind, line.data))


def opened(rows: Iterator[ledger.Row]) -> Iterator[EntryLine]:
    """Rows as lines; of an erased subject without data."""
    for row in rows:
        envelope = ledger.parse_envelope(row.envelope)
        try:
            _, payload = ledger.open_row(row)
            data = _exact.decode(payload)
            data.pop("kind", None)
        except keys.Erased:
            data = None
        yield EntryLine(row.seq, envelope.kind, envelope.at, envelope.actor, envelope.ref, envelope.cmd, data)


class LedgerLine(msgspec.Struct, frozen=True):
    """One entry as the audit page lists it, with the hash by which the log holds it."""

    entry: EntryLine
    leaf: str


def ledger_head(user: Person, session: UUID) -> ledger.Head:
    """The head of the session's log. Raises as `state_of`."""
    may_read(user, session)
    return ledger.read_head(session)


def ledger_lines(user: Person, session: UUID, start: int, stop: int) -> list[LedgerLine]:
    """The entries from `start` up to `stop` with their leaf hashes, oldest first. Raises as `state_of`."""
    team, size = _readable(user, session, "entries")
    rows = _whole(session, max(0, start), min(stop, size))
    leaves = [tree.leaf_hash(row.envelope).hex() for row in rows]
    lines = _visible(user, session, team, list(opened(iter(rows))))
    return [LedgerLine(entry, leaf) for entry, leaf in zip(lines, leaves, strict=True)]


def tail_start(size: int) -> int:
    """Where the part of a log begins that a page shows: between TAIL and TAIL + STRIDE entries back.

    It moves in strides, so that a page which follows a session and one which is fetched anew show the same.
    """
    return max(0, (size - TAIL) // STRIDE * STRIDE)
