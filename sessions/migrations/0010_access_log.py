"""The lines of the access log, and the live views that are open."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0009_instance_subjects"),
    ]

    operations = [
        migrations.CreateModel(
            name="Viewed",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "view", "session", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("view", models.UUIDField()),
                ("session", models.UUIDField()),
                ("team", models.UUIDField()),
                ("first", models.BigIntegerField()),
                ("last", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="AccessLine",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "log", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("log", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("tenant", models.UUIDField()),
                ("reader", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("kind", models.CharField(max_length=30)),
                ("about", django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                ("teams", django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["tenant", "-at"], name="access_newest"),
                    models.Index(fields=["reader", "-at"], name="access_reader"),
                    django.contrib.postgres.indexes.GinIndex(fields=["about"], name="access_about"),
                ],
            },
        ),
        migrations.CreateModel(
            name="OpenView",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("reader", models.CharField(max_length=60)),
                ("page", models.CharField(max_length=20)),
                ("topic", models.CharField(max_length=60)),
                ("held", models.BooleanField(db_default=False)),
                ("opened_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["reader", "topic"], name="view_reader"),
                    models.Index(fields=["seen_at"], name="view_seen"),
                ],
            },
        ),
    ]
