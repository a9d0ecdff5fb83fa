"""A snapshot of many instances is kept in parts."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_sessions", "0007_expired")]

    operations: ClassVar = [
        migrations.AddField("snapshot", "parts", models.IntegerField(db_default=0)),
        migrations.CreateModel(
            "SnapshotPart",
            [
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("session", models.UUIDField()),
                ("number", models.IntegerField()),
                ("sealed", models.BinaryField()),
            ],
        ),
        migrations.AddConstraint(
            "snapshotpart", models.UniqueConstraint(fields=("session", "number"), name="snapshot_part_number")
        ),
    ]
