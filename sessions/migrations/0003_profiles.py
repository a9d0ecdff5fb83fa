"""Profiles of customers, how far sessions have taught them, and a customer's sessions found by key."""

from __future__ import annotations

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("people", "0002_same_tenant"), ("agent_sessions", "0002_storage")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="CustomerProfile",
            fields=[
                ("log", models.UUIDField(primary_key=True, serialize=False)),
                ("kid", models.UUIDField(unique=True)),
                ("seq", models.BigIntegerField()),
                ("opened_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("sealed", models.BinaryField()),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Taught",
            fields=[
                ("session", models.UUIDField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField()),
            ],
        ),
        migrations.AddIndex(model_name="agentsession", index=models.Index(fields=["kid"], name="session_customer")),
    ]
