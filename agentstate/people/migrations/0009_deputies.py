"""Deputies of teams. The database itself refuses one whose person or team is of another tenant."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import agentstate.ids


def same_tenant() -> migrations.RunSQL:
    """Constraints as those of migration 0002."""
    name, table = "people_deputy_{}_same_tenant", "people_deputy"
    return migrations.RunSQL(
        [
            f"ALTER TABLE {table} ADD CONSTRAINT {name.format(parent)} FOREIGN KEY ({parent}_id, tenant_id) "
            f"REFERENCES people_{parent} (id, tenant_id) DEFERRABLE INITIALLY DEFERRED"
            for parent in ("user", "team")
        ],
        [f"ALTER TABLE {table} DROP CONSTRAINT {name.format(parent)}" for parent in ("user", "team")],
    )


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
        same_tenant(),
    ]
