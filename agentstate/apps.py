"""The wiring as an app, last in the list: it knows everybody, so that nobody else has to."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class WiringConfig(AppConfig):
    """Loads Celery, applies the grants after each migration, leads the trail of people into the ledger."""

    name = "agentstate"
    label = "wiring"

    def ready(self) -> None:
        import agentstate.celery  # noqa: F401 - so that tasks are sent to our broker from every process
        from agentstate import grants

        # Called when this app's turn comes in `migrate`, after those of all others: every table is there.
        post_migrate.connect(grants.apply, sender=self, dispatch_uid="agentstate.grants")
