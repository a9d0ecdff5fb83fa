"""Who speaks instead of the agent, who is asked for and who is to see to what; stops; skills."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0016_triggers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("agentsession", "taken_by", models.CharField(blank=True, db_default="", max_length=60)),
        migrations.AddField("agentsession", "taken_at", models.DateTimeField(null=True)),
        migrations.AddField("agentsession", "wanted_at", models.DateTimeField(null=True)),
        migrations.AddField("agentsession", "assigned_to", models.CharField(blank=True, db_default="", max_length=60)),
        migrations.AddField(
            "approvalrequest", "assigned_to", models.CharField(blank=True, db_default="", max_length=60)
        ),
        migrations.AddIndex(
            "agentsession",
            models.Index(
                condition=models.Q(("wanted_at__isnull", False)), fields=["team", "wanted_at"], name="session_wanted"
            ),
        ),
        migrations.AddIndex(
            "agentsession",
            models.Index(
                condition=models.Q(("taken_by", ""), _negated=True), fields=["taken_by"], name="session_taken"
            ),
        ),
        migrations.AddIndex(
            "agentsession",
            models.Index(
                condition=models.Q(("assigned_to", ""), _negated=True), fields=["assigned_to"], name="session_assigned"
            ),
        ),
        migrations.CreateModel(
            name="Stop",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("everything", "Everything"),
                            ("agent", "Agent"),
                            ("tool", "Tool"),
                            ("team", "Team"),
                        ],
                        max_length=10,
                    ),
                ),
                ("value", models.CharField(blank=True, max_length=100)),
                ("reason", models.CharField(max_length=500)),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField(db_default=Now())),
                ("lifted_by", models.CharField(blank=True, db_default="", max_length=60)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lifted_why", models.CharField(blank=True, db_default="", max_length=500)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("lifted_at__isnull", True)),
                        fields=("tenant", "scope", "value"),
                        name="stop_once",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="Skill",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("skill", models.CharField(max_length=60)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("user", "skill"), name="skill_once")]},
        ),
        migrations.CreateModel(
            name="SkillWanted",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "by",
                    models.CharField(
                        choices=[("tool", "Tool"), ("agent", "Agent"), ("channel", "Channel")], max_length=10
                    ),
                ),
                ("value", models.CharField(max_length=100)),
                ("skill", models.CharField(max_length=60)),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="people.team"),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "by", "value", "skill"), name="skill_wanted_once")
                ]
            },
        ),
    ]
