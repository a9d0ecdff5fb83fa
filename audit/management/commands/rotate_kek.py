"""`manage.py rotate-kek`: a new key-encryption key. Every key is wrapped anew; entries and blind indexes stay."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentstate.clock import now
from agentstate.people.models import Tenant
from audit import ledger, staff
from audit.keys import rotation, wrapping
from audit.keys.encryption import provider
from audit.keys.errors import BadKeyFile

KIND = "kek.rotated"


class Command(BaseCommand):
    help = "Make a new key-encryption key and wrap every key by it; after a crash, go on where it stopped."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            done = self._rotated()
        except BadKeyFile as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{done} keys are wrapped by {provider().current()}, kept in {provider().place}: back it up.")
        self.stdout.write("Keep the former key as long as a backup of the database that is older than today.")

    def _rotated(self) -> int:
        wrapping.make_if_first()
        if rotation.unfinished():
            self.stdout.write("going on with a rotation that was not finished")
        else:
            provider().introduce()
        former, done = [ref for ref in wrapping.in_use() if ref != provider().current()], 0
        for size in rotation.rewrap():
            done += size
            self.stdout.write(f"  {done} keys")
        facts = {"former": former, "current": provider().current(), "keys": done}
        for tenant in Tenant.objects.values_list("pk", flat=True):
            staff.record(tenant, now(), KIND, ledger.SYSTEM, "", facts)
        return done
