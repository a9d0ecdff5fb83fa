"""Definitions of agents, kept so that the requests of old steps can be rebuilt."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_sessions", "0003_profiles")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="AgentDefinition",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("body", models.BinaryField()),
            ],
        ),
    ]
