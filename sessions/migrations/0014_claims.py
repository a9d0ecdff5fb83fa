"""Requests: who is on one and until when, who must decide it and who may not, holds and escalations."""

import django.contrib.postgres.fields
from django.db import migrations, models

STATES = (
    "pending", "approved", "edited", "rejected", "responded", "ignored", "expired", "withdrawn", "superseded",
    "failed", "unopposed",
)  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0013_exports")]

    operations = [
        migrations.AlterField(
            "approvalrequest",
            "state",
            models.CharField(max_length=12, choices=[(state, state) for state in STATES]),
        ),
        migrations.AddField("approvalrequest", "held_until", models.DateTimeField(null=True)),
        migrations.AddField("approvalrequest", "escalates_at", models.DateTimeField(null=True)),
        migrations.AddField("approvalrequest", "reviewers", models.JSONField(default=list)),
        migrations.AddField(
            "approvalrequest",
            "excluded",
            django.contrib.postgres.fields.ArrayField(models.CharField(max_length=60), default=list),
        ),
        migrations.AddField("approvalrequest", "escalated", models.SmallIntegerField(db_default=0)),
        migrations.AddField(
            "approvalrequest", "claimed_by", models.CharField(blank=True, db_default="", max_length=60)
        ),
        migrations.AddField("approvalrequest", "claimed_until", models.DateTimeField(null=True)),
    ]
