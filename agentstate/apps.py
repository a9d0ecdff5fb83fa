"""The wiring as an app, last in the list: it knows everybody, so that nobody else has to."""

from __future__ import annotations

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class WiringConfig(AppConfig):
    """Loads Celery and applies the grants after each migration. Leads the trail of people into the ledger, and their
    reasons to the keys of teams.
    """

    name = "agentstate"
    label = "wiring"

    def ready(self) -> None:
        import agentstate.celery  # noqa: F401 - so that tasks are sent to our broker from every process
        from agentstate import grants, trail
        from agentstate.people import reasons
        from agentstate.people import trail as people
        from audit.keys import teams

        people.sink = trail.to_ledger
        reasons.keyring = teams

        # `migrate` signals apps with models, in the order of INSTALLED_APPS: with the last all tables are there.
        last = [config for config in apps.get_app_configs() if config.models_module is not None][-1]
        post_migrate.connect(grants.apply, sender=last, dispatch_uid="agentstate.grants")
