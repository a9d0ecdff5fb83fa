"""A status that sessions may have: expired."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

STATUSES = ("idle", "expired", "planning", "executing", "waiting_feedback", "paused", "done", "failed", "cancelled")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_sessions", "0006_saved_plans")]

    operations: ClassVar = [
        migrations.AlterField(
            model_name="agentsession",
            name="status",
            field=models.CharField(choices=[(status, status) for status in STATUSES], max_length=20),
        ),
    ]
