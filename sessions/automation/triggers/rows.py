"""Changed rows of other applications on their way to triggers.

First they are taken in here, then deleted there: a crash between the two takes them in again under the names they have,
which changes nothing. Nothing is lost while we are down; it waits there.
"""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

import psycopg

from agentstate.engine.instants import stamp
from agentstate.errors import Refused
from audit import ledger
from sessions.automation.triggers import intake, table_watch
from sessions.automation.triggers.databases import connected
from sessions.automation.triggers.intake import Happened
from sessions.automation.triggers.repository import version_of
from sessions.core import crash_points
from sessions.models.triggers import Trigger, Watch

log = logging.getLogger(__name__)
MOST = 500  # rows of one watch in one look
ROUNDS = 10  # looks at one watch in a row while it has more


def take_in() -> int:
    """Fetch what has changed in every watched table. Gives how many firings came of it; what cannot be reached now is
    tried again, and told to the log and the page.
    """
    return sum(_watch(watch) for watch in Watch.objects.order_by("name"))


def _watch(watch: Watch) -> int:
    taken, trouble, left = 0, "", 0
    try:
        with connected(watch.database) as there:
            for _ in range(ROUNDS):
                fetched, fired = poll(watch, there)
                taken += fired
                if fetched < MOST:
                    break
            left = _left(watch, there)
    except (Refused, psycopg.Error) as error:
        trouble = error.code if isinstance(error, Refused) else type(error).__name__
        if trouble != watch.trouble:
            log.warning("watch %s: %s", watch.name, trouble)
    ledger.run(
        "UPDATE agent_sessions_watch SET trouble = %(trouble)s::text, lag = %(lag)s,"
        " polled_at = CASE WHEN %(trouble)s::text = '' THEN now() ELSE polled_at END WHERE id = %(id)s",
        {"id": watch.pk, "trouble": trouble[:60], "lag": left},
    )
    return taken


def poll(watch: Watch, there: psycopg.Connection[Any]) -> tuple[int, int]:
    """One look: how many rows were fetched, and how many firings they are. Triggers whose queue is full leave the rows
    where they are.
    """
    triggers = list(Trigger.objects.filter(on=True, source="row", team_id=watch.team_id, watch=watch.name))
    limit = min([MOST, *(intake.room(trigger.pk) for trigger in triggers)])
    rows = there.execute(table_watch.SETTLED, {"watch": watch.name, "limit": limit}).fetchall()
    taken = sum(intake.take_in(trigger, _happened(trigger, watch, rows)) for trigger in triggers)
    if rows:
        crash_points.point("after_poll", watch.name)
        there.execute(table_watch.TAKEN, {"ids": [row[0] for row in rows]})
    return len(rows), taken


def _happened(trigger: Trigger, watch: Watch, rows: list[tuple[Any, ...]]) -> list[Happened]:
    """The changes that this trigger asks for, made since it is on."""
    row = version_of(trigger.pk, trigger.version).on.row
    assert row is not None
    return [
        _event(watch, pk, op, key, was, stamp(at))
        for pk, op, key, was, at in rows
        if op in row.ops and at >= trigger.since
    ]


def _event(watch: Watch, pk: UUID, op: str, key: dict[str, Any], was: dict[str, Any] | None, at: str) -> Happened:
    event = {"watch": watch.name, "table": watch.table, "op": op, "key": key, "was": was, "at": at}
    return Happened(f"row:{pk}", event)


def _left(watch: Watch, there: psycopg.Connection[Any]) -> int:
    found = there.execute(table_watch.LEFT, {"watch": watch.name}).fetchone()
    return int(found[0]) if found else 0
