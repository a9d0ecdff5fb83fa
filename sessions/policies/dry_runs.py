"""What another version of a policy would have said of the calls of a time: "what would have stopped last week".

Bounded in sessions, entries and seconds; what was not looked at is said. The answer holds tools and rules, no words and
no arguments, and is in the reader's access log with the sessions that it is about.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from agentstate.clock import now
from agentstate.engine import policy as pol
from agentstate.engine.decide import CommandContext
from agentstate.engine.instants import parse, stamp
from agentstate.engine.versions.judged_again import MOVES, JudgedAgain, judged_again
from agentstate.errors import Invalid
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.roles import Permission
from audit import keys
from sessions.agents import registry
from sessions.core import access
from sessions.core.session_lines import Person
from sessions.library import policies
from sessions.models.sessions import AgentSession
from sessions.versions.replays import history

MOST_SESSIONS = 500
MOST_ENTRIES = 50_000
MOST_SECONDS = 20.0
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
    teams = teams_with(user, Permission.CONFIGURE)
    if not teams:
        needed = Permission.CONFIGURE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    found, seen = ran(policy, since, until, agent, AgentSession.objects.filter(team__in=teams))
    facts = {"policy": policy.reference, "since": stamp(since), "until": stamp(found.until), "agent": agent}
    access.note(user, "dry run", seen, **facts)
    return found


def ran(
    policy: pol.Policy, since: datetime, until: datetime | None, agent: str, sessions: Any
) -> tuple[DryRun, list[access.Seen]]:
    """The dry run over rows of `sessions`, and what of them was read."""
    until = until or now()
    if not since < until or until - since > LONGEST:
        raise Invalid(f"want a time of at most {LONGEST.days} days, its end after its beginning", field="since")
    going = _Going(policy, stamp(since), stamp(until), time.monotonic() + MOST_SECONDS)
    rows = sessions.filter(last_at__gte=since, opened_at__lt=until).order_by("-last_at", "id")
    if agent:
        rows = rows.filter(agent=agent)
    for row in rows.values("id", "team_id", "agent", "seq")[:MOST_SESSIONS].iterator():
        going.take(row)
    if (beyond := rows.count() - MOST_SESSIONS) > 0:
        going.left[f"more than {MOST_SESSIONS} sessions"] = beyond
    return going.told(since, until), going.seen


class _Going:
    """A dry run under way. Holds counts and at most twice MOST_CALLS lines, whatever it goes through."""

    def __init__(self, policy: pol.Policy, since: str, until: str, stop: float) -> None:
        self.policy, self.since, self.until, self.stop = policy, since, until, stop
        self.zone = policies.zone_named(policy.zone)
        self.seen: list[access.Seen] = []
        self.entries = 0
        self.left = Counter[str]()
        self.counts = Counter[str]()
        self.rules = Counter[str]()
        self.otherwise: list[DryCall] = []
        self.same: list[DryCall] = []

    def take(self, row: dict[str, Any]) -> None:
        why = self._why_not(row)
        if not why:
            try:
                for each in self._judged(row):
                    self._count(DryCall(row["id"], each))
            except keys.Erased:
                why = "its data was erased"
        if why:
            self.left[why] += 1
        else:
            self.entries += row["seq"]
            self.seen.append(access.Seen(row["id"], row["team_id"]))

    def _why_not(self, row: dict[str, Any]) -> str:
        if self.entries + row["seq"] > MOST_ENTRIES:
            return f"more than {MOST_ENTRIES} entries"
        if time.monotonic() > self.stop:
            return f"more than {MOST_SECONDS:.0f} seconds"
        return "" if row["agent"] in registry.names() else "its agent is not registered any more"

    def _judged(self, row: dict[str, Any]) -> Iterator[JudgedAgain]:
        entries = islice(history(row["id"], row["seq"]), row["seq"])
        return judged_again(entries, self._context(row["agent"]), self.since, self.until)

    def _context(self, agent: str) -> Callable[[str], CommandContext]:
        def context(at: str) -> CommandContext:
            found = registry.context_for(agent, parse(at))
            return msgspec.structs.replace(found, policy=self.policy, zone=self.zone)

        return context

    def _count(self, call: DryCall) -> None:
        self.counts[call.move] += 1
        if call.found.would is not None and call.found.would.gate != "allow":
            self.rules[call.found.would.rule] += 1
        kept = self.same if call.move == "same" else self.otherwise
        if len(kept) < MOST_CALLS:
            kept.append(call)

    def told(self, since: datetime, until: datetime) -> DryRun:
        return DryRun(
            policy=self.policy.reference,
            since=since,
            until=until,
            sessions=len(self.seen),
            entries=self.entries,
            judged=self.counts.total(),
            counts={move: self.counts[move] for move in (*MOVES, "unknown")},
            rules=dict(self.rules.most_common()),
            calls=(self.otherwise + self.same)[:MOST_CALLS],
            left_out=[LeftOut(times, why) for why, times in self.left.items()],
        )


def as_operator(policy: pol.Policy, since: datetime, until: datetime | None = None, agent: str = "") -> DryRun:
    """The same for whoever runs commands on this machine: the caller records it."""
    return ran(policy, since, until, agent, AgentSession.objects.all())[0]


def may_dry_run(user: Person) -> bool:
    """Whether there is a team whose past calls `user` may judge again."""
    return bool(teams_with(user, Permission.CONFIGURE))
