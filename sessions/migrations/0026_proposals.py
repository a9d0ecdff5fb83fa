"""Proposals, and what the teams answered."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0025_executions"),
        ("people", "0007_privacy_officer"),
    ]

    operations = [
        migrations.CreateModel(
            name="Proposal",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=40)),
                ("permission", models.CharField(max_length=30)),
                ("teams", django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                ("details", models.JSONField()),
                ("kid", models.UUIDField()),
                ("reason", models.BinaryField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("answer_by", models.DateTimeField()),
                ("second_person", models.BooleanField()),
                ("delay", models.IntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("agreed", "Agreed"),
                            ("carried_out", "Carried Out"),
                            ("rejected", "Rejected"),
                            ("withdrawn", "Withdrawn"),
                            ("outdated", "Outdated"),
                        ],
                        max_length=12,
                    ),
                ),
                ("due_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(blank=True, max_length=60)),
                ("ended_why", models.CharField(blank=True, max_length=60)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ("open", "agreed"))), fields=["due_at"], name="proposal_due"
                    ),
                    models.Index(fields=["kid"], name="proposal_subject"),
                    models.Index(fields=["tenant", "-at"], name="proposal_newest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProposalAnswer",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("agrees", models.BooleanField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("reason", models.BinaryField()),
                ("for_team", models.BooleanField()),
                (
                    "proposal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answers",
                        to="agent_sessions.proposal",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
            ],
        ),
    ]
