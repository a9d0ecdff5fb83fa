"""A change of the retention schedule that the teams concerned agree to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from uuid import UUID

import msgspec

from agentstate.errors import Refused
from agentstate.people.roles import Permission
from audit import retention
from audit.retention import Schedule
from sessions.core import reach
from sessions.models.proposals import Proposal
from sessions.privacy import pruning
from sessions.proposals.kinds import Kind, register

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


def _changes(row: Proposal, names: Mapping[UUID, str]) -> list[str]:
    before, after = schedules(row)
    lost = losses(row)
    found = []
    for team, name in names.items():
        found.append(f"{name}: {_terms(before, team)} becomes {_terms(after, team)}.")
        if loss := lost.get(team):
            found.append(
                f"{name}: {loss.sessions:,} ended sessions lose {loss.entries:,} encrypted texts, and {loss.live:,}"
                f" open sessions lose their oldest texts (counted {row.at:%Y-%m-%d})."
            )
    return found


def _terms(schedule: Schedule, team: UUID) -> str:
    found = []
    for agent, channel, _, days in schedule.terms_of(team):
        which = " and ".join(each for each in (agent and f"agent {agent}", channel and f"channel {channel}") if each)
        found.append(f"{days:,} days for {which or 'all sessions'}")
    return ", then ".join(found) or "no limit"


KIND = Kind(
    "retention",
    Permission.RETENTION,
    "Change of retention",
    _changes,
    _teams,
    _carry_out,
    of_subject=False,
)
register(KIND)
