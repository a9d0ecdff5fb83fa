"""By which key-encryption key a key is wrapped, and a key for each tenant's blind indexes."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0006_erasure")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="subjectkey",
            name="kek_ref",
            field=models.CharField(default="", max_length=200),
            preserve_default=False,
        ),
        migrations.AddIndex(
            model_name="subjectkey",
            index=models.Index(
                fields=["kek_ref", "kid"], name="audit_subject_kek", condition=models.Q(wrapped__isnull=False)
            ),
        ),
        migrations.CreateModel(
            name="BlindKey",
            fields=[
                ("tenant", models.UUIDField(primary_key=True, serialize=False)),
                ("kek_ref", models.CharField(max_length=200)),
                ("wrapped", models.BinaryField()),
                ("created", models.DateTimeField()),
            ],
        ),
    ]
