"""What those who decided a request saw as they did: what is recorded with each decision, its citations looked up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from audit import ledger
from sessions.approvals.queries import request_line
from sessions.core import access, visibility
from sessions.core.access import Seen
from sessions.core.entry_lines import EntryLine, opened, seen_by
from sessions.core.session_lines import Person

MOST = 20_000  # entries behind the one that asked, among which decisions are looked for


class SeenLine(msgspec.Struct, frozen=True):
    """What one person saw. `data` as it is recorded (`reviewer_view.view`), None where nothing is: a program decided
    that did not say, or its subject was erased. `said`: the cited words that can still be read.
    """

    seq: int
    at: str
    by: str
    decision: str
    digest: str
    matches: bool  # whether the digest is that of the data
    data: dict[str, Any] | None
    said: list[EntryLine]
    gone: int  # cited entries whose words are not there any more


def seen_of(user: Person, request: UUID) -> list[SeenLine]:
    """What everybody saw who decided on a request, oldest first. Raises UnknownRequest to those who may not read it."""
    line = request_line(user, request)
    made = list(opened(_decisions(line.session, line.asked_seq)))
    cited = {seq for each in made for seq in _cited(each)}
    said = {each.seq: each for each in _entries(line.session, cited)}
    if made:
        known = {*said, *(each.seq for each in made)}
        access.note(user, "entries", [Seen(line.session, line.team, min(known), max(known))])
    seen = visibility.of_reader(user, line.session, line.team)
    said = {seq: seen_by(seen, each) for seq, each in said.items()}
    shown = [_line(each, seen_by(seen, each), said) for each in made]
    visibility.note(user, line.session, line.team, seen)
    return shown


def _decisions(session: UUID, asked: int) -> Iterator[ledger.Row]:
    """The decisions that answer the entry `asked`, until the request ended."""
    for row in ledger.read_rows(session, asked, asked + MOST):
        envelope = ledger.parse_envelope(row.envelope)
        if envelope.ref == asked and envelope.kind == "decision.made":
            yield row
        if envelope.ref == asked and envelope.kind == "request.ended":
            return


def _cited(entry: EntryLine) -> list[int]:
    shown = (entry.data or {}).get("shown") or {}
    return [int(seq) for seq in shown.get("data", {}).get("said", ())]


def _entries(session: UUID, wanted: set[int]) -> list[EntryLine]:
    if not wanted:
        return []
    rows = ledger.read_rows(session, min(wanted), max(wanted) + 1)
    return list(opened(row for row in rows if row.seq in wanted))


def _line(entry: EntryLine, shown: EntryLine, entries: dict[int, EntryLine]) -> SeenLine:
    """One decision; its digest is compared with what was recorded, not with what this reader may see of it."""
    made, recorded = shown.data or {}, ((entry.data or {}).get("shown") or {}).get("data")
    view, cited = made.get("shown") or {}, _cited(entry)
    said = [entries[seq] for seq in cited if seq in entries and entries[seq].data is not None]
    return SeenLine(
        seq=entry.seq,
        at=entry.at,
        by=entry.actor,
        decision=made.get("decision", ""),
        digest=view.get("digest", ""),
        matches=recorded is not None and ev.digest(recorded) == view.get("digest"),
        data=view.get("data"),
        said=said,
        gone=len(cited) - len(said),
    )
