"""Tiles of logs that proofs needed: a cache."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0010_place_trigger")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="LogTile",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "log", "level", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("log", models.UUIDField()),
                ("level", models.SmallIntegerField()),
                ("index", models.BigIntegerField()),
                ("data", models.BinaryField()),
            ],
        ),
    ]
