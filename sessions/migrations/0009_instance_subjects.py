"""Requests and parts of snapshots of instances that have a data subject of their own name its key."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_sessions", "0008_snapshot_parts")]

    operations: ClassVar = [
        migrations.AddField("approvalrequest", "kid", models.UUIDField(null=True)),
        migrations.AddField("snapshotpart", "kid", models.UUIDField(null=True)),
    ]
