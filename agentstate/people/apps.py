"""The app `people`: who may use the console, in which team, with which permissions.

It knows nothing of sessions or of the ledger. Read models.py first, then permissions.py, then commands.py.
"""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class PeopleConfig(AppConfig):
    name = "agentstate.people"
    label = "people"
    verbose_name = "People"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agentstate.people import first_rows, sign_ins

        post_migrate.connect(first_rows.make, sender=self, dispatch_uid="people.first_rows")
        sign_ins.connect()
