"""The global log: leaves, state, tiles, signed heads, and the head map's cache."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


def _key(*fields: str) -> models.CompositePrimaryKey:
    return models.CompositePrimaryKey(*fields, blank=True, editable=False, primary_key=True, serialize=False)


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0003_one_living_key")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="GlobalLeaf",
            fields=[
                ("pk", _key("tenant", "index")),
                ("tenant", models.UUIDField()),
                ("index", models.BigIntegerField()),
                ("body", models.BinaryField()),
            ],
            options={"db_table": "audit_glog"},
        ),
        migrations.CreateModel(
            name="GlobalState",
            fields=[
                ("tenant", models.UUIDField(primary_key=True, serialize=False)),
                ("size", models.BigIntegerField(default=0)),
                ("frontier", models.BinaryField(default=b"")),
                ("fence", models.BigIntegerField(default=0)),
                ("mapped", models.BigIntegerField(default=-1)),
                ("mapped_at", models.DateTimeField(null=True)),
                ("alive_at", models.DateTimeField(null=True)),
            ],
            options={"db_table": "audit_gstate"},
        ),
        migrations.CreateModel(
            name="Tile",
            fields=[
                ("pk", _key("tenant", "level", "index")),
                ("tenant", models.UUIDField()),
                ("level", models.SmallIntegerField()),
                ("index", models.BigIntegerField()),
                ("data", models.BinaryField()),
                ("root", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="SignedHead",
            fields=[
                ("pk", _key("tenant", "size", "signed_at")),
                ("tenant", models.UUIDField()),
                ("size", models.BigIntegerField()),
                ("signed_at", models.DateTimeField()),
                ("note", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Cosignature",
            fields=[
                ("pk", _key("tenant", "size", "name", "at")),
                ("tenant", models.UUIDField()),
                ("size", models.BigIntegerField()),
                ("name", models.TextField()),
                ("at", models.DateTimeField()),
                ("line", models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name="Timestamp",
            fields=[
                ("pk", _key("tenant", "size", "at")),
                ("tenant", models.UUIDField()),
                ("size", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("note", models.BinaryField()),
                ("token", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Place",
            fields=[
                ("log", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("index", models.BigIntegerField()),
                ("size", models.BigIntegerField()),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Gap",
            fields=[
                ("pk", _key("tenant", "index")),
                ("tenant", models.UUIDField()),
                ("index", models.BigIntegerField()),
                ("part", models.TextField()),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="MapBucket",
            fields=[
                ("pk", _key("tenant", "bucket")),
                ("tenant", models.UUIDField()),
                ("bucket", models.IntegerField()),
                ("data", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="MapTile",
            fields=[
                ("pk", _key("tenant", "tile")),
                ("tenant", models.UUIDField()),
                ("tile", models.SmallIntegerField()),
                ("data", models.BinaryField()),
            ],
        ),
        migrations.AddIndex(
            model_name="head",
            index=models.Index(
                condition=models.Q(("dirty_since__isnull", False)),
                fields=["tenant", "dirty_since"],
                name="audit_head_dirty",
            ),
        ),
    ]
