"""A snapshot says of which form its state is. Those that were written before say none, and are passed over."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("agent_sessions", "0010_access_log")]

    operations: ClassVar = [migrations.AddField("snapshot", "form", models.CharField(max_length=16, db_default=""))]
