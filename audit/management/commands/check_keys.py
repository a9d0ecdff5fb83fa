"""`manage.py check_keys`: whether the right key-encryption key is here; says once what to back up. `up` runs it.

With the keys at hand it also puts on record what the database and the program are made of, if that changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agentstate.clock import now
from agentstate.files import write_once
from agentstate.people.models import Tenant
from audit import structure
from audit.keys import start
from audit.keys.encryption import provider
from audit.keys.errors import BadKeyFile

BACK_UP = """back up, apart from the data (docs/keys.md), or what is lost is lost for good:
  {kek}  without it nothing that was said can be read
  {state}/secrets/log.key and {state}/signer/  without them nobody can sign as this log again"""


class Command(BaseCommand):
    help = "Refuse a missing or wrong key-encryption key, say once what to back up, put a changed structure on record."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            start.check()
            tenants = list(Tenant.objects.values_list("pk", flat=True))
            start.make_for(tenants)
            for tenant in tenants:
                structure.record(tenant, now())
        except BadKeyFile as error:
            raise CommandError(str(error)) from None
        said = Path(settings.STATE_DIR) / "secrets" / "backup.said"
        if not said.exists():
            self.stdout.write(BACK_UP.format(kek=provider().place, state=settings.STATE_DIR))
            write_once(said, b"")
