"""What teams set up for alerts and service levels, how far rules have looked, and clocks of service levels."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0020_alerts"),
        ("people", "0005_delegations"),
    ]

    operations = [
        migrations.CreateModel(
            name="TeamRuleVersion",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "rule", "version", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("rule", models.UUIDField()),
                ("version", models.IntegerField()),
                ("definition", models.JSONField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="AlertWatch",
            fields=[
                ("session", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("team", models.UUIDField()),
                ("seen", models.BigIntegerField()),
                ("upto", models.BigIntegerField()),
                ("due_at", models.DateTimeField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("attempts", models.SmallIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="alert_watch_due"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LevelClock",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("team", models.UUIDField()),
                ("session", models.UUIDField()),
                ("agent", models.CharField(max_length=60)),
                ("target", models.UUIDField()),
                ("version", models.IntegerField()),
                ("name", models.CharField(max_length=60)),
                ("what", models.CharField(max_length=16)),
                ("about", models.CharField(blank=True, max_length=60)),
                ("seq", models.BigIntegerField()),
                ("upto", models.BigIntegerField()),
                ("allowed", models.IntegerField()),
                ("started_at", models.DateTimeField()),
                ("since", models.DateTimeField(null=True)),
                ("spent", models.BigIntegerField(default=0)),
                ("risk_at", models.DateTimeField(null=True)),
                ("missed_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        choices=[("running", "Running"), ("met", "Met"), ("missed", "Missed"), ("void", "Void")],
                        default="running",
                        max_length=8,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session", "seq"], name="level_of_session"),
                    models.Index(fields=["team", "started_at"], name="level_of_team"),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True), ("missed_at__isnull", False)),
                        fields=["team", "missed_at"],
                        name="level_running",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TeamRule",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "what",
                    models.CharField(
                        choices=[("rule", "Rule"), ("target", "Target"), ("calendar", "Calendar")], max_length=8
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("version", models.IntegerField()),
                ("on", models.BooleanField(default=True)),
                ("since", models.DateTimeField()),
                ("changed_by", models.CharField(max_length=60)),
                ("changed_at", models.DateTimeField()),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("team", "what", "name"), name="team_rule_name")],
            },
        ),
    ]
