"""What of sessions was disclosed, to whom by link."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agent_sessions", "0011_snapshot_form"),
        ("people", "0003_access_grants"),
    ]

    operations = [
        migrations.CreateModel(
            name="Disclosure",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("session", models.UUIDField()),
                ("what", models.CharField(max_length=10)),
                ("first", models.BigIntegerField()),
                ("last", models.BigIntegerField()),
                ("pointer", models.CharField(blank=True, max_length=200)),
                ("reason", models.BinaryField()),
                ("kid", models.UUIDField()),
                ("token", models.BinaryField(null=True, unique=True)),
                ("made_by", models.CharField(max_length=60)),
                ("made_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(null=True)),
                ("revoked_by", models.CharField(blank=True, max_length=60)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("opened", models.IntegerField(default=0)),
                ("opened_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["session", "-made_at"], name="disclosure_newest")],
            },
        ),
    ]
