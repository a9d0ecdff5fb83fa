"""When a time stamp's authority's certificate ends; null: it was stored before this was kept, or tells none."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0014_log_tile_roots")]

    operations: ClassVar = [
        migrations.AddField("timestamp", "until", models.DateTimeField(null=True)),
    ]
