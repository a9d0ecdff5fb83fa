"""Exports of many sessions, kept sealed until they expire."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0012_disclosure"),
        ("people", "0004_privacy_role"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ExportBlock",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "export", "position", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("export", models.UUIDField()),
                ("position", models.IntegerField()),
                ("number", models.IntegerField()),
                ("data", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="ExportPart",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "export", "position", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("export", models.UUIDField()),
                ("position", models.IntegerField()),
                ("session", models.UUIDField()),
                ("team", models.UUIDField()),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("built", "Built"), ("erased", "Erased")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("entries", models.BigIntegerField()),
                ("index", models.BigIntegerField(null=True)),
                ("siblings", models.BinaryField(null=True)),
                ("size", models.BigIntegerField(default=0)),
                ("crc", models.BigIntegerField(default=0)),
                ("sha256", models.BinaryField(null=True)),
                (
                    "kids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                ("wrapped", models.BinaryField(null=True)),
                ("row", models.BinaryField(null=True)),
            ],
            options={
                "indexes": [django.contrib.postgres.indexes.GinIndex(fields=["kids"], name="export_part_subjects")],
            },
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("filter", models.JSONField()),
                ("masked", models.BooleanField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("building", "Building"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                            ("expired", "Expired"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("problem", models.CharField(blank=True, max_length=60)),
                ("total", models.IntegerField()),
                ("built", models.IntegerField(default=0)),
                ("size", models.BigIntegerField(default=0)),
                ("asked_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("mapped", models.BigIntegerField(null=True)),
                ("checkpoint", models.BinaryField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("fence", models.BigIntegerField(default=0)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["user", "-asked_at"], name="export_newest"),
                    models.Index(
                        condition=models.Q(("state__in", ["waiting", "building", "done"])),
                        fields=["asked_at"],
                        name="export_due",
                    ),
                ],
            },
        ),
    ]
