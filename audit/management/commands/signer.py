"""`manage.py signer`: the signer's process, in the foreground. One on a state directory."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agentstate.errors import AgentStateError
from audit.signing.rules import Signer
from audit.signing.server import serve


class Command(BaseCommand):
    """Signs heads for whoever may open its socket."""

    help = "Run the signer: it alone holds the log key, and remembers every head that it signed."
    requires_system_checks: list[str] = []

    def handle(self, *_args: Any, **_options: Any) -> None:
        state_dir = Path(settings.STATE_DIR)
        overlap = timedelta(days=settings.LOG_KEY_OVERLAP_DAYS)
        try:
            signer = Signer(state_dir, settings.LOG_ORIGIN, overlap, second=settings.LOG_SECOND_SIGNATURE)
            serve(signer, state_dir, Path(settings.SIGNER_SOCKET), settings.GAP_SECONDS)
        except AgentStateError as error:
            raise CommandError(f"{error} {error.remedy}".strip()) from None
