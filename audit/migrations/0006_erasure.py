import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0005_global_log_only_grows"),
    ]

    operations = [
        migrations.AddField(
            model_name="head",
            name="sealed",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name="subjectkey",
            name="closing_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name="ErasureRequest",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("kid", models.UUIDField()),
                ("state", models.CharField(max_length=10)),
                ("basis", models.CharField(max_length=40)),
                ("reason", models.BinaryField()),
                ("asked_by", models.CharField(max_length=60)),
                ("asked_at", models.DateTimeField()),
                ("ruled_by", models.CharField(blank=True, max_length=60)),
                ("ruled_at", models.DateTimeField(null=True)),
                ("destroyed_at", models.DateTimeField(null=True)),
                ("done_at", models.DateTimeField(null=True)),
                ("counts", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "-asked_at"], name="audit_erasure_newest")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("asked", "approved"))),
                        fields=("kid",),
                        name="audit_erasure_open_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LegalHold",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("kid", models.UUIDField()),
                ("log", models.UUIDField(null=True)),
                ("reason", models.BinaryField()),
                ("until", models.DateTimeField(null=True)),
                ("set_by", models.CharField(max_length=60)),
                ("set_at", models.DateTimeField()),
                ("lifted_by", models.CharField(blank=True, max_length=60)),
                ("lifted_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("lifted_at__isnull", True)), fields=["kid"], name="audit_hold_living"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RetentionClass",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("name", models.CharField(max_length=60)),
                ("days", models.IntegerField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "name"), name="audit_retention_name")],
            },
        ),
        migrations.CreateModel(
            name="RetentionRule",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("place", models.IntegerField()),
                ("team", models.UUIDField(null=True)),
                ("agent", models.CharField(blank=True, max_length=60)),
                ("channel", models.CharField(blank=True, max_length=20)),
                (
                    "retention",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rules", to="audit.retentionclass"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "place"), name="audit_retention_order")],
            },
        ),
    ]
