"""A subject has one living key. One that was destroyed does not stand in the way of the next."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models

ONCE = models.UniqueConstraint(
    fields=("tenant", "blind"), condition=models.Q(("destroyed_at__isnull", True)), name="audit_subject_once"
)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0002_append_only")]

    operations: ClassVar = [
        migrations.RemoveConstraint(model_name="subjectkey", name="audit_subject_once"),
        migrations.AddConstraint(model_name="subjectkey", constraint=ONCE),
    ]
