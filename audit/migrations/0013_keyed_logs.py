"""Which logs have an entry under which key, filled from the entries that are there."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

FILL = """INSERT INTO audit_keyedlog (kid, log)
 SELECT DISTINCT substring(encode(envelope, 'escape') FROM '"kid":"([0-9a-f-]{36})"')::uuid, log FROM audit_entry
 WHERE encode(envelope, 'escape') ~ '"kid":"[0-9a-f-]{36}"'"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0012_condition")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="KeyedLog",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "kid", "log", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kid", models.UUIDField()),
                ("log", models.UUIDField()),
            ],
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
