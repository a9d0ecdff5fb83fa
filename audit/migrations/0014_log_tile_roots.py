"""A kept tile says its own root."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0013_keyed_logs")]

    operations: ClassVar = [
        migrations.RunSQL("DELETE FROM audit_logtile", migrations.RunSQL.noop),  # a cache
        migrations.AddField(
            model_name="logtile", name="root", field=models.BinaryField(default=b""), preserve_default=False
        ),
    ]
