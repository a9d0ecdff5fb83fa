"""`manage.py restamp`: renew the time stamps whose authority's certificate ends soon, as the sequencer does daily."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentstate.errors import AgentStateError
from audit import restamping
from audit.management.commands.sequence import tenant


class Command(BaseCommand):
    """A newer stamp goes over the older ones, so that they can be believed after their authority's certificate ends."""

    help = "Have the time stamps renewed of which the authority's certificate ends within RESTAMP_DAYS."

    def handle(self, *_args: Any, **_options: Any) -> None:
        of = tenant()
        if of is None:
            raise CommandError("there is no log yet: run migrate first")
        try:
            done = restamping.restamp(of)
        except AgentStateError as error:
            raise CommandError(f"{error} {error.remedy}".strip()) from None
        self.stdout.write(f"{done} time stamps renewed")
