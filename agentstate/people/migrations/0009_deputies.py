"""Deputies of teams. The database itself refuses one whose person or team is of another tenant."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import agentstate.ids
from agentstate.people.constraints import same_tenant


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0008_program_role"),
    ]

    operations = [
        migrations.CreateModel(
            name="Deputy",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deputies", to="people.team"
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
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("team", "user"), name="people_deputy_once")],
            },
        ),
        same_tenant("people_deputy", {"user": "user", "team": "team"}),
    ]
