"""`manage.py check_policy [NAME|NAME@VERSION|FILE ...]`: whether policies can be used; `up` runs it with `--record`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentstate.clock import now
from agentstate.engine import policy as pol
from agentstate.engine.policy.cases import findings
from agentstate.people.models import Team, Tenant, User
from sessions.library import policies
from sessions.policies import recording


class Command(BaseCommand):
    """Says what is wrong with policies, and fails if anything is."""

    help = "Check policies: files, rules, guards, reviewers, cases. With --record, put on record which are in force."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to check; without a name every version of every policy."""
        parser.add_argument("policies", nargs="*", help="a name, a name@version, or a file; none: all there are")
        parser.add_argument("--record", action="store_true", help="put on record which policies are in force")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each, then everything that is wrong."""
        wanted = options["policies"] or [
            f"{name}@{each}" for name in policies.names() for each in policies.versions(name)
        ]
        self.starting = options["record"]
        wrong = [fault for each in wanted for fault in self._faults(each)]
        if wrong:
            raise CommandError("\n".join(wrong))
        if options["record"]:
            for tenant in Tenant.objects.values_list("pk", flat=True):
                for change in recording.record(tenant, now()):
                    self.stdout.write(f"in force: {change}")

    def _faults(self, wanted: str) -> Iterator[str]:
        try:
            if wanted.endswith(".json"):
                policy = pol.load(Path(wanted).read_bytes())
                told = "no cases beside a file of its own"
            else:
                policy = policies.named(wanted)
                cases = policies.cases_of(policy.reference)
                yield from (f"{policy.reference}: {finding}" for finding in findings(policy, cases))
                told = f"{len(cases.cases)} cases{_superseded(policy)}"
        except (pol.BadPolicy, OSError) as error:
            yield f"{wanted}: {getattr(error, 'detail', error)}"
            return
        if self.starting:  # a team or a person who is not there yet keeps nothing from starting: nobody is let through
            return
        yield from _strangers(policy)
        self.stdout.write(f"{policy.reference}: {len(policy.rules)} rules, {told}")


def _superseded(policy: pol.Policy) -> str:
    """What keeps a superseded version from being put in force; the newest version is refused for it when it is read."""
    found = len(pol.open_rules(policy))
    return f"; superseded, cannot be put in force: a missing value turns rules off in {found} places" if found else ""


def _strangers(policy: pol.Policy) -> Iterator[str]:
    """Reviewers whom nobody knows here."""
    known = {
        "role": policies.ROLES,
        "team": frozenset(Team.objects.values_list("slug", flat=True)),
        "user": frozenset(User.objects.filter(is_active=True).values_list("username", flat=True)),
    }
    for rule in policy.rules:
        for name in policies.reviewers_of(rule):
            kind, _, who = name.partition(":")
            if who not in known[kind]:
                yield f"{policy.reference}: rule {rule.name!r}: there is no {kind} {who!r}"
