"""`manage.py rebuild [--check] [SESSION...]`: projections from the ledger, or the proof that they are."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentstate.people.models import Tenant
from audit import keyed, uncovered
from audit.scrub import heads
from sessions.auditing.alterations import sessions_without_rows
from sessions.models.sessions import Taught
from sessions.profiles import rebuild as profiles
from sessions.web import rebuild


class Command(BaseCommand):
    """Compare (or rewrite) projections and snapshots with the fold of the ledger."""

    help = "Rebuild the projections of all sessions (or of those named) from the ledger; --check only compares."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("sessions", nargs="*", type=UUID)
        parser.add_argument("--check", action="store_true", help="change nothing, exit 1 on any difference")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = options["sessions"] or rebuild.sessions_in_ledger()
        differences = 0
        for session in chosen:
            if not options["check"]:
                rebuild.rebuild(session)
            for difference in rebuild.check(session):
                differences += 1
                self.stdout.write(
                    f"{difference.session} {difference.what}: got {difference.got}, want {difference.want}"
                )
        known = 0
        if not options["sessions"]:
            differences += self._keyed(check=options["check"])
            for line in self._unlike_the_global_log():
                differences += 1
                self.stdout.write(line)
            for line in uncovered.differences():
                differences += 1
                self.stdout.write(line)
            known, found = self._profiles(check=options["check"])
            differences += found
        told = f"{len(chosen)} sessions" + (f" and {known} profiles" if known else "")
        if differences:
            raise CommandError(f"{differences} differences in {told}")
        self.stdout.write(f"{told}: projections and snapshots are the fold of the ledger")

    def _unlike_the_global_log(self) -> list[str]:
        """Logs that the signed global log knows and that are gone, shorter or others."""
        found = [each for of in Tenant.objects.all() for each in heads.compare_all(of.pk, sessions_without_rows)]
        return [f"{each.log} {each.what}: {each}" for each in found]

    def _keyed(self, *, check: bool) -> int:
        """How often the index of keys and logs differs from the ledger."""
        if not check:
            keyed.fill()
        missing, surplus = keyed.differences()
        for kid, log in missing:
            self.stdout.write(f"{log} key {kid}: got no row, want a row")
        for kid, log in surplus if check else ():
            self.stdout.write(f"{log} key {kid}: got a row, want no row")
        return len(missing) + (len(surplus) if check else 0)

    def _profiles(self, *, check: bool) -> tuple[int, int]:
        """How many customers have profiles, and how many differences they show."""
        subjects, differences = profiles.subjects(), 0
        if not check:
            profiles.strays().delete()
            Taught.objects.filter(pk__in=profiles.ahead()).delete()
        for subject in subjects:
            if not check:
                profiles.rebuild(subject)
            for what, got, want in profiles.check(subject):
                differences += 1
                self.stdout.write(f"{subject.log} {what}: got {got}, want {want}")
        for stray in profiles.strays():
            differences += 1
            self.stdout.write(f"{stray.log} profile: got a row, want no row")
        for session in profiles.ahead():
            differences += 1
            self.stdout.write(f"{session} taught: got more entries than it has, want at most those")
        return len(subjects), differences
