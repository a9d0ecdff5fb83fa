"""What another version of a policy would have said of the calls of a time: "what would have stopped last week".

Bounded in sessions, entries and seconds; what was not looked at is said. The answer holds tools and rules, no words and
no arguments, and is in the reader's access log with the sessions that it is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from django.db.models import QuerySet

from agentstate.clock import now
from agentstate.engine import policy as pol
from agentstate.engine.decide import CommandContext
from agentstate.engine.instants import parse, stamp
from agentstate.engine.versions.judged_again import MOVES, JudgedAgain, judged_again
from agentstate.errors import Invalid
from agentstate.people.permissions import teams_required, teams_with
from agentstate.people.roles import Permission
from sessions.agents import registry
from sessions.core import access
from sessions.core.session_lines import Person
from sessions.library import policies
from sessions.models.sessions import AgentSession
from sessions.versions import replays
from sessions.versions.replays import Bounds, Covered, Entry, Judge

BOUNDS = Bounds(sessions=500, entries=50_000, seconds=20.0)
MOST_CALLS = 500  # that are told one by one: those of which something else is said come first
LONGEST = timedelta(days=92)
_encoder = msgspec.json.Encoder(decimal_format="number")


class DryCall(msgspec.Struct, frozen=True):
    """A call of a session: what policy said then, and what it would say."""

    session: UUID
    found: JudgedAgain

    @property
    def move(self) -> str:
        """What of it would be otherwise: see judged_again.MOVES."""
        return self.found.move


class LeftOut(msgspec.Struct, frozen=True):
    """What was not looked at, in sessions, and why."""

    sessions: int
    why: str


class DryRun(msgspec.Struct, frozen=True):
    """All of it. `counts` is over all calls judged, by what would be otherwise; `rules` over those that would stop."""

    policy: str
    since: datetime
    until: datetime
    sessions: int
    entries: int
    judged: int
    counts: dict[str, int]
    rules: dict[str, int]
    calls: list[DryCall]
    left_out: list[LeftOut]


def policy_given(reference: str = "", document: dict[str, Any] | None = None) -> pol.Policy:
    """The policy that is meant: of this installation, or as a document. Raises BadPolicy, Invalid."""
    if bool(reference) == (document is not None):
        raise Invalid("want one of the two: a version by its name, or a document", field="policy")
    if document is None:
        return policies.named(reference)
    policy = pol.load(_encoder.encode(document))
    try:
        ZoneInfo(policy.zone)
    except (ValueError, OSError, KeyError):
        raise pol.BadPolicy(f"there is no time zone {policy.zone!r:.120}") from None
    return policy


def dry_run(
    user: Person, policy: pol.Policy, *, since: datetime, until: datetime | None = None, agent: str = ""
) -> DryRun:
    """Over the sessions of the teams that `user` configures. Raises PermissionDenied, Invalid."""
    teams = teams_required(user, Permission.CONFIGURE)
    found, seen = ran(policy, since, until, agent, AgentSession.objects.filter(team__in=teams))
    facts = {"policy": policy.reference, "since": stamp(since), "until": stamp(found.until), "agent": agent}
    access.note(user, "dry run", seen, **facts)
    return found


def ran(
    policy: pol.Policy, since: datetime, until: datetime | None, agent: str, sessions: QuerySet[AgentSession]
) -> tuple[DryRun, list[access.Seen]]:
    """The dry run over rows of `sessions`, and what of them was read."""
    until = until or now()
    if not since < until or until - since > LONGEST:
        raise Invalid(f"want a time of at most {LONGEST.days} days, its end after its beginning", field="since")
    rows = sessions.filter(last_at__gte=since, opened_at__lt=until).order_by("-last_at", "id")
    if agent:
        rows = rows.filter(agent=agent)
    judge, tally = _judge(policy, stamp(since), stamp(until)), _Tally()
    covered = replays.dry_run(rows, BOUNDS, judge, tally.take, _unfit)
    return tally.told(policy, since, until, covered), covered.seen


def _unfit(row: AgentSession) -> str:
    return "" if row.agent in registry.names() else "its agent is not registered any more"


def _judge(policy: pol.Policy, since: str, until: str) -> Judge[JudgedAgain]:
    """Returns what judges the calls of a session again, under `policy`."""
    zone = policies.zone_named(policy.zone)

    def judge(row: AgentSession, entries: Iterator[Entry]) -> Iterator[JudgedAgain]:
        def context(at: str) -> CommandContext:
            return msgspec.structs.replace(registry.context_for(row.agent, parse(at)), policy=policy, zone=zone)

        return judged_again(entries, context, since, until)

    return judge


class _Tally:
    """Counts of a dry run under way, and at most twice MOST_CALLS lines, whatever it goes through."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.rules = Counter[str]()
        self.otherwise: list[DryCall] = []
        self.same: list[DryCall] = []

    def take(self, row: AgentSession, found: list[JudgedAgain]) -> None:
        for each in found:
            self._count(DryCall(row.pk, each))

    def _count(self, call: DryCall) -> None:
        self.counts[call.move] += 1
        if call.found.would is not None and call.found.would.gate != "allow":
            self.rules[call.found.would.rule] += 1
        kept = self.same if call.move == "same" else self.otherwise
        if len(kept) < MOST_CALLS:
            kept.append(call)

    def told(self, policy: pol.Policy, since: datetime, until: datetime, covered: Covered) -> DryRun:
        return DryRun(
            policy=policy.reference,
            since=since,
            until=until,
            sessions=len(covered.seen),
            entries=covered.entries,
            judged=self.counts.total(),
            counts={move: self.counts[move] for move in (*MOVES, "unknown")},
            rules=dict(self.rules.most_common()),
            calls=(self.otherwise + self.same)[:MOST_CALLS],
            left_out=[LeftOut(times, why) for why, times in covered.left_out.items()],
        )


def as_operator(policy: pol.Policy, since: datetime, until: datetime | None = None, agent: str = "") -> DryRun:
    """The same for whoever runs commands on this machine: the caller records it."""
    return ran(policy, since, until, agent, AgentSession.objects.all())[0]


def may_dry_run(user: Person) -> bool:
    """Whether there is a team whose past calls `user` may judge again."""
    return bool(teams_with(user, Permission.CONFIGURE))
