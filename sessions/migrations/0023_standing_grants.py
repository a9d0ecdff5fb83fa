"""Grants for what follows that hold beyond the session in which they were given."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0022_notifications"),
        ("people", "0005_delegations"),
    ]

    operations = [
        migrations.CreateModel(
            name="StandingGrant",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("scope", models.CharField(max_length=8)),
                ("agent", models.CharField(max_length=60)),
                ("kid", models.UUIDField()),
                ("tool", models.CharField(max_length=200)),
                ("given_in", models.UUIDField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("uses", models.IntegerField()),
                ("used", models.IntegerField(default=0)),
                ("revoked_by", models.CharField(blank=True, max_length=60)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("sealed", models.BinaryField()),
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
                "indexes": [
                    models.Index(fields=["team", "kid", "-at"], name="standing_customer"),
                    models.Index(
                        condition=models.Q(("scope", "agent")), fields=["team", "agent", "-at"], name="standing_agent"
                    ),
                ],
            },
        ),
    ]
