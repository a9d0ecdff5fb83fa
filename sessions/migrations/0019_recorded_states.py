"""States that stand for deleted entries."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0018_offered_tools")]

    operations = [
        migrations.CreateModel(
            name="RecordedState",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session", "upto", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("session", models.UUIDField()),
                ("upto", models.BigIntegerField()),
                ("entry", models.BigIntegerField()),
                ("form", models.CharField(max_length=16)),
                ("sealed", models.BinaryField()),
            ],
        ),
    ]
