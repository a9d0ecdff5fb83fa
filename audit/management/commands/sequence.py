"""`manage.py sequence`: the sequencer's process, in the foreground. Of several, one is elected."""

from __future__ import annotations

import signal
import threading
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand

from agentstate.people.models import Tenant
from audit.lag import Lags
from audit.sequencer_leader import keep_sequencing


class Command(BaseCommand):
    """Puts dirty heads into the global log, round after round."""

    help = "Run the sequencer: rounds that put the heads of all logs into the global log, and have it signed."
    requires_system_checks: list[str] = []

    def handle(self, *_args: Any, **_options: Any) -> None:
        over = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: over.set())
        keep_sequencing(tenant, over, Lags().told)


def tenant() -> UUID | None:
    """The installation's one tenant; None before the first migration."""
    return Tenant.objects.values_list("pk", flat=True).first()
