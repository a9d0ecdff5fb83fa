"""What keeps the signer from signing, for operators; the newest cosignature of a witness is found by its name."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0011_log_tiles")]

    operations: ClassVar = [
        migrations.AddField("globalstate", "trouble", models.TextField(db_default="")),
        migrations.AddField("globalstate", "trouble_detail", models.TextField(db_default="")),
        migrations.AddField("globalstate", "trouble_at", models.DateTimeField(null=True)),
        migrations.AddIndex(
            "cosignature", models.Index(fields=["tenant", "name", "-at"], name="audit_cosignature_newest")
        ),
    ]
