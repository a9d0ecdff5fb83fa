"""A fork names the session that it is a fork of, until it takes its place."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_sessions", "0004_agent_definitions")]

    operations: ClassVar = [
        migrations.AddField("agentsession", "fork_of", models.UUIDField(null=True)),
        migrations.AddIndex(
            "agentsession",
            models.Index(fields=["fork_of"], name="session_forks", condition=models.Q(fork_of__isnull=False)),
        ),
    ]
