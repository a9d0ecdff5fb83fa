"""Entries of sessions on their way to triggers: taken in before the outbox forgets that they were committed."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine.state import SessionState
from audit import ledger
from sessions.live import Announced
from sessions.models import AgentSession
from sessions.triggers import intake
from sessions.triggers.intake import Happened
from sessions.triggers.keeping import version_of
from sessions.triggers.tables import Trigger

log = logging.getLogger(__name__)


def take_in(announced: Sequence[Announced]) -> int:
    """Let the entries of these commits wait for the triggers of their teams that ask for such. Gives how many."""
    asking = _asking({each.team for each in announced})
    if not asking:
        return 0
    sessions = agents_of({each.session for each in announced if each.team in asking})
    taken = 0
    for trigger, kinds, agent in (row for rows in asking.values() for row in rows):
        theirs = [
            each
            for each in announced
            if each.team == trigger.team_id
            and each.at >= trigger.since
            and each.session in sessions
            and agent in ("", sessions[each.session])
        ]
        taken += intake.take_in_what_fits(trigger, list(_happened(theirs, kinds)))
    return taken


def _asking(teams: set[UUID]) -> dict[UUID, list[tuple[Trigger, frozenset[str], str]]]:
    """The triggers on entries that are on, by team."""
    found: dict[UUID, list[tuple[Trigger, frozenset[str], str]]] = {}
    for trigger in Trigger.objects.filter(on=True, source="entry", team__in=teams):
        entry = version_of(trigger.pk, trigger.version).on.entry
        if entry is not None:
            found.setdefault(trigger.team_id, []).append((trigger, frozenset(entry.kinds), entry.agent))
    return found


def agents_of(ids: set[UUID]) -> dict[UUID, str]:
    """The agents of these sessions. Forks are left out: what is drafted there has not happened."""
    return dict(AgentSession.objects.filter(pk__in=ids, fork_of__isnull=True).values_list("pk", "agent"))


def of_kinds(announced: Iterable[Announced], kinds: Container[str]) -> Iterator[tuple[Announced, int, str]]:
    """The entries of these kinds in these commits: commit, seq and kind."""
    for each in announced:
        first = each.first if each.first >= 0 else each.seq - 1
        rows = ledger.run(
            "SELECT seq, envelope FROM audit_entry WHERE log = %(log)s AND seq >= %(first)s AND seq < %(end)s"
            " ORDER BY seq",
            {"log": each.session, "first": first, "end": each.seq},
        )
        for seq, envelope in rows:
            kind = ledger.parse_envelope(bytes(envelope)).kind
            if kind in kinds:
                yield each, seq, kind


def _happened(announced: Iterable[Announced], kinds: frozenset[str]) -> Iterator[Happened]:
    for each, seq, _ in of_kinds(announced, kinds):
        yield Happened(f"entry:{each.session}:{seq}", about=each.session, about_seq=seq)


def values_of(session: UUID, seq: int, state: SessionState) -> dict[str, Any]:
    """What expressions read of an entry: itself as `event`, the session's scratchpad, and its facts. Raises
    audit.keys.Erased.
    """
    envelope, payload = next(ledger.open_rows(ledger.read_rows(session, seq, seq + 1)))
    event = {
        "kind": envelope.kind,
        "seq": seq,
        "at": envelope.at,
        "actor": envelope.actor,
        "data": msgspec.json.decode(payload),
    }
    opened = state.opened
    assert opened is not None
    facts = {
        "id": str(session),
        "agent": opened.agent,
        "channel": opened.channel,
        "customer": opened.customer,
        "alias": opened.alias,
        "topic": opened.topic,
        "status": state.status.value,
    }
    return {"event": event, "state": state.pad, "session": facts}
