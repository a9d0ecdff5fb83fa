"""Who holds a lease, why a session stalls, and the places that limits allow."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0014_claims")]

    operations = [
        migrations.CreateModel(
            name="Slot",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "scope", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("scope", models.CharField(max_length=120)),
                ("number", models.IntegerField()),
                ("session", models.UUIDField()),
                ("call", models.CharField(blank=True, max_length=200)),
                ("until", models.DateTimeField()),
                ("holder", models.IntegerField()),
            ],
        ),
        migrations.AddField("agentsession", "holder", models.IntegerField(null=True)),
        migrations.AddField("agentsession", "stalled", models.CharField(blank=True, db_default="", max_length=120)),
        migrations.AddField("agentsession", "stalled_at", models.DateTimeField(null=True)),
        migrations.AddField("agentsession", "stalls", models.SmallIntegerField(db_default=0)),
        migrations.AddField("agentsession", "stuck", models.SmallIntegerField(db_default=0)),
        migrations.RemoveIndex("agentsession", "session_ready"),
        migrations.AddIndex(
            "agentsession",
            models.Index(
                condition=models.Q(("ready_at__isnull", False)), fields=["team", "ready_at"], name="session_turn"
            ),
        ),
        migrations.AddIndex(
            "agentsession",
            models.Index(condition=models.Q(("holder__isnull", False)), fields=["holder"], name="session_holder"),
        ),
        migrations.AddIndex(
            "agentsession",
            models.Index(
                condition=models.Q(("stalled", ""), _negated=True),
                fields=["stalled", "stalled_at"],
                name="session_stalled",
            ),
        ),
        migrations.AddIndex(
            "agentsession",
            models.Index(condition=models.Q(("stuck__gt", 0)), fields=["team"], name="session_stuck"),
        ),
    ]
