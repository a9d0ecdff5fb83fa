"""Grants of auditors. The database itself refuses one whose user or team is of another tenant."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import agentstate.ids
from agentstate.people.constraints import same_tenant


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0002_same_tenant"),
    ]

    operations = [
        migrations.CreateModel(
            name="AccessGrant",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), size=None),
                ),
                (
                    "sessions",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                ("opened_from", models.DateTimeField(null=True)),
                ("opened_to", models.DateTimeField(null=True)),
                ("starts", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("given_by", models.CharField(max_length=60)),
                ("reason", models.CharField(max_length=500)),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ("revoked_at", models.DateTimeField(editable=False, null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="grants", to="people.team"
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="grants", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["user", "until"], name="people_grant_user")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("until__gt", models.F("starts"))), name="people_grant_ends"
                    )
                ],
            },
        ),
        same_tenant("people_accessgrant", {"user": "user", "team": "team"}),
    ]
