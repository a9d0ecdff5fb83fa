"""Triggers, their versions and firings, watched tables, the elected clock; and where a commit began."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

TENANT = {"on_delete": django.db.models.deletion.PROTECT, "related_name": "+"}


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0015_runtime"),
        ("people", "0004_privacy_role"),
    ]

    operations = [
        migrations.AddField("outbox", "first", models.BigIntegerField(db_default=-1)),
        migrations.CreateModel(
            name="Beat",
            fields=[
                ("id", models.SmallIntegerField(primary_key=True, serialize=False)),
                ("fence", models.BigIntegerField(default=0)),
                ("alive_at", models.DateTimeField(null=True)),
                ("who", models.CharField(blank=True, max_length=120)),
            ],
        ),
        migrations.CreateModel(
            name="TriggerVersion",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "trigger", "version", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("trigger", models.UUIDField()),
                ("version", models.IntegerField()),
                ("definition", models.JSONField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Trigger",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("version", models.IntegerField()),
                ("source", models.CharField(max_length=8)),
                ("watch", models.CharField(blank=True, max_length=60)),
                ("on", models.BooleanField(default=True)),
                ("off_why", models.CharField(blank=True, max_length=40)),
                ("since", models.DateTimeField()),
                ("next_at", models.DateTimeField(null=True)),
                ("changed_by", models.CharField(max_length=60)),
                ("changed_at", models.DateTimeField()),
                ("team", models.ForeignKey(to="people.team", **TENANT)),
                ("tenant", models.ForeignKey(to="people.tenant", **TENANT)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("on", True)), fields=["source", "team"], name="trigger_on"),
                    models.Index(
                        condition=models.Q(("next_at__isnull", False), ("on", True)),
                        fields=["next_at"],
                        name="trigger_next",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("team", "name"), name="trigger_name")],
            },
        ),
        migrations.CreateModel(
            name="TriggerFiring",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("trigger", models.UUIDField()),
                ("version", models.IntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("due", "Due"),
                            ("fired", "Fired"),
                            ("passed", "Passed"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                        ],
                        default="due",
                        max_length=8,
                    ),
                ),
                ("why", models.CharField(blank=True, max_length=60)),
                ("about", models.UUIDField(null=True)),
                ("about_seq", models.BigIntegerField(null=True)),
                ("session", models.UUIDField(null=True)),
                ("at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("attempts", models.SmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("kid", models.UUIDField(null=True)),
                ("sealed", models.BinaryField(default=b"")),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("state", "due")), fields=["due_at"], name="firing_due"),
                    models.Index(fields=["trigger", "-at"], name="firing_newest"),
                    models.Index(
                        condition=models.Q(("state", "fired")), fields=["trigger", "ended_at"], name="firing_fired"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Watch",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=40, unique=True)),
                ("database", models.CharField(max_length=40)),
                ("table", models.CharField(max_length=130)),
                (
                    "keys",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=63), size=None),
                ),
                ("installed_at", models.DateTimeField()),
                ("polled_at", models.DateTimeField(null=True)),
                ("trouble", models.CharField(blank=True, max_length=60)),
                ("lag", models.IntegerField(default=0)),
                ("team", models.ForeignKey(to="people.team", **TENANT)),
                ("tenant", models.ForeignKey(to="people.tenant", **TENANT)),
            ],
        ),
    ]
