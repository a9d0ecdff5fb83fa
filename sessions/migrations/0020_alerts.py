"""Alerts: one row for each, of sessions and of teams."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

OF_HOUSE = {"on_delete": django.db.models.deletion.PROTECT, "related_name": "+"}


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0005_delegations"),
        ("agent_sessions", "0019_recorded_states"),
    ]

    operations = [
        migrations.CreateModel(
            name="Alert",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("session", models.UUIDField(null=True)),
                ("rule", models.CharField(blank=True, max_length=60)),
                ("name", models.CharField(max_length=60)),
                ("version", models.IntegerField()),
                ("severity", models.CharField(max_length=8)),
                ("why", models.CharField(max_length=60)),
                ("about", models.CharField(blank=True, max_length=200)),
                ("seq", models.BigIntegerField(default=-1)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("acknowledged", "Acknowledged"), ("closed", "Closed")],
                        max_length=12,
                    ),
                ),
                (
                    "to",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=80), size=None),
                ),
                ("step", models.SmallIntegerField(default=0)),
                ("chain", models.JSONField(default=list)),
                ("raised_seq", models.BigIntegerField(default=-1)),
                ("raised_at", models.DateTimeField()),
                ("escalates_at", models.DateTimeField(null=True)),
                ("held_by", models.CharField(blank=True, max_length=60)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("closed_at", models.DateTimeField(null=True)),
                ("closed_by", models.CharField(blank=True, max_length=60)),
                ("cause", models.CharField(blank=True, max_length=60)),
                ("hits", models.IntegerField(db_default=1)),
                ("hit_at", models.DateTimeField(null=True)),
                ("hit_seq", models.BigIntegerField(db_default=-1)),
                ("team", models.ForeignKey(to="people.team", **OF_HOUSE)),
                ("tenant", models.ForeignKey(to="people.tenant", **OF_HOUSE)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "closed"), _negated=True),
                        fields=["team", "raised_at"],
                        name="alert_standing",
                    ),
                    models.Index(
                        condition=models.Q(("escalates_at__isnull", False)),
                        fields=["escalates_at"],
                        name="alert_escalates",
                    ),
                    models.Index(fields=["session", "rule", "-raised_at"], name="alert_of_session"),
                    models.Index(fields=["team", "-raised_at"], name="alert_newest"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("session__isnull", True), models.Q(("state", "closed"), _negated=True)),
                        fields=("team", "name", "about"),
                        name="alert_of_team_once",
                    )
                ],
            },
        ),
    ]
