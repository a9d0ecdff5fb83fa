"""The files of the library as they came into force."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0033_statistics_anew"),
    ]

    operations = [
        migrations.CreateModel(
            name="LibraryVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=200)),
                ("digest", models.CharField(max_length=64)),
                ("files", models.BinaryField()),
                ("origin", models.CharField(max_length=400)),
                (
                    "proposal",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="agent_sessions.proposal",
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["kind", "name", "-id"], name="library_newest")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("proposal", None)), fields=("kind", "name"), name="library_first_once"
                    )
                ],
            },
        ),
    ]
