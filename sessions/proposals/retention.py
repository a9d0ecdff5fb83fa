"""A change of the retention schedule that the teams concerned agree to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

import msgspec

from agentstate.errors import Refused
from agentstate.people.roles import Permission
from audit import retention
from audit.retention import Schedule
from sessions import pruning, reach
from sessions.proposals.kinds import Kind
from sessions.proposals.tables import Proposal

DELAY = timedelta(days=1)  # before a shorter term takes effect


class ScheduleChanged(Refused):
    """The retention schedule has changed since this was proposed."""

    code = "schedule_changed"
    remedy = "Propose it again."


def schedules(row: Proposal) -> tuple[Schedule, Schedule]:
    """Returns the schedule that the proposer changed, and what it becomes."""
    return _read(row.details["before"]), _read(row.details["after"])


def losses(row: Proposal) -> dict[UUID, pruning.Loss]:
    """Returns what each team that loses words loses, as counted when it was proposed."""
    return {UUID(team): msgspec.convert(each, pruning.Loss) for team, each in row.details["losses"].items()}


def details(before: Schedule, after: Schedule, shorter: Iterable[UUID]) -> dict[str, object]:
    """Returns what a proposal records of the change, with what each team in `shorter` loses by it."""
    losses = {str(team): msgspec.to_builtins(pruning.loss(team, before, after)) for team in shorter}
    return {"before": msgspec.to_builtins(before), "after": msgspec.to_builtins(after), "losses": losses}


def _teams(row: Proposal) -> frozenset[UUID]:
    return reach.of_retention(row.tenant_id, *schedules(row))


def _carry_out(row: Proposal) -> None:
    before, after = schedules(row)
    if retention.schedule(row.tenant_id) != before:
        raise ScheduleChanged()
    retention.put(row.tenant_id, after, row.by, row.teams)


def _read(data: object) -> Schedule:
    return msgspec.convert(data, Schedule)


KIND = Kind("retention", Permission.RETENTION, _teams, _carry_out)
