"""Plans that teams keep; and which sessions do another's task, and have not handed its output over."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_sessions", "0005_forks"), ("people", "0002_same_tenant")]

    operations: ClassVar = [
        migrations.CreateModel(
            "SavedPlan",
            [
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                ("name", models.CharField(max_length=80)),
                ("version", models.IntegerField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("kid", models.UUIDField()),
                ("sealed", models.BinaryField()),
            ],
        ),
        migrations.AddConstraint(
            "savedplan", models.UniqueConstraint(fields=("team", "name", "version"), name="saved_plan_version")
        ),
        migrations.AddField("agentsession", "parent", models.UUIDField(null=True)),
        migrations.AddField("agentsession", "delivered", models.BooleanField(db_default=False)),
        migrations.AddIndex(
            "agentsession",
            models.Index(
                fields=["parent"], name="session_undelivered", condition=models.Q(parent__isnull=False, delivered=False)
            ),
        ),
    ]
