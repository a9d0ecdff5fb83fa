"""Delegations of authority. The database itself refuses one whose people or team are of another tenant."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import agentstate.ids
from agentstate.people.constraints import same_tenant


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0004_privacy_role"),
    ]

    operations = [
        migrations.CreateModel(
            name="Delegation",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "permissions",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), size=None),
                ),
                ("reason", models.CharField(max_length=500)),
                ("until", models.DateTimeField()),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ("revoked_at", models.DateTimeField(editable=False, null=True)),
                (
                    "giver",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="delegations_given",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "receiver",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="delegations",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["receiver", "until"], name="people_delegation_receiver")],
            },
        ),
        same_tenant("people_delegation", {"giver": "user", "receiver": "user", "team": "team"}),
    ]
