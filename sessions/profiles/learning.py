"""Sessions teach the profiles of their customers: what is due is known from the outbox, how far from a row a session.

Idempotent by (session, seq): the profile itself knows up to which entry of which session it has learned, so a row that
is missing or old costs time and teaches nothing twice. A crash before the append leaves the outbox row, or the next
commit of the session, to bring it up again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.profile import Declaration, Happening
from agentstate.engine.profile.commands import Learn
from agentstate.outages import OUTAGES
from audit import keys, ledger
from sessions.core import history, states
from sessions.core.committed import Author
from sessions.profiles import declarations, logs
from sessions.profiles.logs import Subject

log = logging.getLogger(__name__)
BATCH = 500  # entries of a session that are learned from at once

_plain = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
_PROGRESS = """INSERT INTO agent_sessions_taught (session, seq) SELECT {source}
  ON CONFLICT (session) DO UPDATE SET seq = EXCLUDED.seq WHERE agent_sessions_taught.seq < EXCLUDED.seq"""


def teach_all(sessions: Collection[UUID]) -> None:
    """Let each of these sessions teach what it has not taught yet; those of agents without profiles teach nothing.

    One that cannot is told to the log: it must not keep the others waiting. An outage is raised: all of them are to be
    taught when it is over.
    """
    wanted = ledger.run(
        "SELECT id FROM agent_sessions_agentsession WHERE id = ANY(%(ids)s) AND agent = ANY(%(agents)s)"
        " AND fork_of IS NULL",  # in a fork nobody is the customer
        {"ids": list(sessions), "agents": list(declarations.agents())},
    )
    for (session,) in wanted:
        try:
            teach(session)
        except keys.Erased:
            continue
        except OUTAGES:
            raise
        except Exception as error:  # without the error's own words: they may quote what a customer said
            log.error("session %s could not teach its customer's profile: %s", session, type(error).__name__)


def teach(session: UUID) -> None:
    """Learn from the entries of one session up to its head. Raises keys.Erased."""
    rows = ledger.run(
        "SELECT s.kid, s.tenant_id, s.agent, s.channel, s.parent IS NOT NULL, s.seq, coalesce(t.seq, 0)"
        " FROM agent_sessions_agentsession s LEFT JOIN agent_sessions_taught t ON t.session = s.id"
        " WHERE s.id = %(session)s",
        {"session": session},
    )
    for kid, tenant, agent, channel, delegated, size, start in rows:
        declared = declarations.for_agent(agent)
        if declared is None:
            return
        facts = {"agent": agent, "channel": channel, "delegated": delegated}
        spoken = history.speaks_from(session)
        for first in range(start, size, BATCH):
            stop = min(first + BATCH, size)
            _learn(Subject(kid, tenant), declared, session, facts, max(first, spoken), stop)


def _learn(
    subject: Subject, declared: Declaration, session: UUID, facts: dict[str, Any], first: int, stop: int
) -> None:
    happenings = tuple(_happenings(declared, session, subject.kid, facts, first, stop))
    params = {"t_session": session, "t_seq": stop}
    if happenings:
        command = Learn(str(session), stop - 1, happenings)
        moved = ledger.Fragment(_PROGRESS.format(source="%(t_session)s, %(t_seq)s FROM head"), params)
        kept = logs.write(subject, declared, command, Author(ledger.SYSTEM), [moved])
        if kept.seq > kept.first:
            return
    ledger.run(_PROGRESS.format(source="%(t_session)s, %(t_seq)s"), params)


def _happenings(
    declared: Declaration, session: UUID, subject: UUID, facts: dict[str, Any], first: int, stop: int
) -> Iterator[Happening]:
    """The entries that a rule listens to, as rules read them. The others are not even opened, nor those of instances of
    other data subjects.
    """
    wanted = declared.kinds()
    heard = [
        row
        for row in ledger.read_rows(session, first, stop)
        if row.ciphertext is not None  # what was pruned meanwhile teaches nothing
        and (envelope := ledger.parse_envelope(row.envelope)).kind in wanted
        and envelope.kid == str(subject)
    ]
    if heard:
        begun = states.load(session).state.opened
        facts = {**facts, "topic": begun.topic if begun else ""}
    for envelope, payload in ledger.open_rows(heard):
        event = ev.decode(payload)
        data = _plain.decode(ev.encode(event))
        call = _call_of(session, envelope.ref) if isinstance(event, ev.ToolReturned) else None
        tool, arguments = (call.tool, call.arguments) if call else ("", {})
        yield Happening(envelope.seq, envelope.at, envelope.kind, data, tool, arguments, facts)


def _call_of(session: UUID, intent: int) -> ev.ToolIntended | None:
    """The call that a result answers, from its intent; None where that was pruned."""
    for row in ledger.read_rows(session, intent, intent + 1) if intent >= 0 else ():
        if row.ciphertext is not None and isinstance(event := ev.decode(ledger.open_row(row)[1]), ev.ToolIntended):
            return event
    return None
