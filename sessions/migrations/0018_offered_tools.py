"""Tools that MCP servers offer, and what somebody said to each version."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agent_sessions", "0017_supervision")]

    operations = [
        migrations.CreateModel(
            name="OfferedTool",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("server", models.CharField(max_length=20)),
                ("tool", models.CharField(max_length=128)),
                ("version", models.IntegerField()),
                ("digest", models.CharField(max_length=64)),
                ("offer", models.JSONField()),
                ("current", models.BooleanField()),
                ("offered_at", models.DateTimeField()),
                (
                    "answer",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("accepted", "Accepted"), ("refused", "Refused")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("answered_by", models.CharField(blank=True, max_length=60)),
                ("answered_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="ServerLook",
            fields=[
                ("server", models.CharField(max_length=20, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("problem", models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.AddConstraint(
            model_name="offeredtool",
            constraint=models.UniqueConstraint(fields=("server", "tool", "version"), name="offered_tool_version"),
        ),
        migrations.AddConstraint(
            model_name="offeredtool",
            constraint=models.UniqueConstraint(fields=("server", "tool", "digest"), name="offered_tool_digest"),
        ),
    ]
