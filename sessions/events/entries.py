"""Entries of sessions on their way to triggers, rules and notifications."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine.state.session import SessionState
from audit import ledger
from sessions.core.announcements import Announced
from sessions.models.sessions import AgentSession


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
