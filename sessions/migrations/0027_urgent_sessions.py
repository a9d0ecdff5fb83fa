"""The live board finds the sessions that need a person by an index, the most urgent first."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0026_proposals"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(
                condition=models.Q(
                    ("ended_at__isnull", True),
                    models.Q(
                        ("open_requests__gt", 0), ("status", "failed"), ("wanted_at__isnull", False), _connector="OR"
                    ),
                ),
                fields=["team", "-tier", "opened_at"],
                name="session_urgent",
            ),
        ),
    ]
