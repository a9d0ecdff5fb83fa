"""What the scrubber found, and how far it is."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0016_place_frontier")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Scrub",
            fields=[
                ("tenant", models.UUIDField(primary_key=True, serialize=False)),
                ("heads_begun", models.DateTimeField(null=True)),
                ("heads_at", models.DateTimeField(null=True)),
                ("head", models.BigIntegerField(default=0)),
                ("leaf", models.BigIntegerField(default=0)),
                ("leaf_frontier", models.BinaryField(default=b"")),
                ("pass_begun", models.DateTimeField(null=True)),
                ("pass_at", models.DateTimeField(null=True)),
                ("pass_entries", models.BigIntegerField(default=0)),
                ("entries", models.BigIntegerField(default=0)),
                ("log", models.UUIDField(null=True)),
                ("log_begun", models.DateTimeField(null=True)),
                ("seq", models.BigIntegerField(default=0)),
                ("frontier", models.BinaryField(default=b"")),
                ("rest_until", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Alteration",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("log", models.UUIDField()),
                ("what", models.CharField(max_length=30)),
                ("seq", models.BigIntegerField(default=-1)),
                ("detail", models.TextField(blank=True)),
                ("found_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                ("right_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(right_at__isnull=True), fields=["log"], name="audit_alteration_log")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(right_at__isnull=True),
                        fields=("tenant", "log", "what", "seq"),
                        name="audit_alteration_once",
                    )
                ],
            },
        ),
    ]
