"""A place keeps the frontier of its head. Those written before have none; the signer is shown their growth from the entries."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0015_stamps_end")]

    operations: ClassVar = [
        migrations.AddField("place", "frontier", models.BinaryField(default=b"", db_default=models.Value(b""))),
    ]
