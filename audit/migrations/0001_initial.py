"""The tables of the ledger, with the guards by which they are append-only."""

import django.db.models.deletion
from django.db import migrations, models

# Entries are never changed, by anybody who can be told so: row and TRUNCATE triggers without an off switch. A superuser can
# still drop a trigger; the verifier then shows what was altered. Table: the statements refused, and to whom they are
# allowed all the same.
APPEND_ONLY = {
    "audit_entry": ("UPDATE OR DELETE", ""),
    "audit_receipt": ("UPDATE OR DELETE", ""),
    "audit_payload": ("UPDATE OR DELETE", "IF TG_OP = 'DELETE' AND current_user = 'erase' THEN RETURN OLD; END IF;"),
    "audit_head": ("DELETE", ""),
    "audit_glog": ("UPDATE OR DELETE", ""),
    "audit_tile": ("UPDATE OR DELETE", ""),
    "audit_signedhead": ("UPDATE OR DELETE", ""),
    "audit_cosignature": ("UPDATE OR DELETE", ""),
    "audit_timestamp": ("UPDATE OR DELETE", ""),
    "audit_gap": ("UPDATE OR DELETE", ""),
    "audit_gstate": ("DELETE", ""),
    "audit_place": ("DELETE", ""),
}
# The triggers ask their question outside of their functions: an append that grows a head calls none.
ONLY_GROW = {
    "audit_head": "NEW.log <> OLD.log OR NEW.tenant <> OLD.tenant OR NEW.size < OLD.size",
    "audit_gstate": "NEW.tenant <> OLD.tenant OR NEW.size < OLD.size OR NEW.mapped < OLD.mapped OR NEW.fence < OLD.fence",
    "audit_place": "NEW.log <> OLD.log OR NEW.tenant <> OLD.tenant OR NEW.index < OLD.index OR NEW.size < OLD.size",
}
FILLFACTORS = {"audit_head": 70, "audit_gstate": 50, "audit_place": 80}
# Finds the few leaves of the global log that introduce keys among all the others.
KEYS = """CREATE INDEX audit_glog_keys ON audit_glog (tenant, "index")
            WHERE substr(body, 1, 17) = '\\x6167656e747374617465206b65792f310a'::bytea"""


def append_only(table: str, statements: str, exception: str) -> str:
    """Returns the statements that guard a table."""
    return f"""
CREATE FUNCTION {table}_is_append_only() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  {exception}
  RAISE EXCEPTION '{table} is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER append_only BEFORE {statements} ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_is_append_only();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {table}_is_append_only();
"""


def only_grows(table: str, shrinks: str) -> str:
    """Returns the statements by which a row of a table is never rolled back."""
    refused = f"'{table} only grows'"
    if table == "audit_head":
        refused = "'a head of the ledger only grows: % from % to %', OLD.log, OLD.size, NEW.size"
    return f"""
CREATE FUNCTION {table}_only_grows() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF {shrinks} THEN
    RAISE EXCEPTION {refused};
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER only_grows BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({shrinks}) EXECUTE FUNCTION {table}_only_grows();
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="BlindKey",
            fields=[
                ("tenant", models.UUIDField(primary_key=True, serialize=False)),
                ("kek_ref", models.CharField(max_length=200)),
                ("wrapped", models.BinaryField()),
                ("created", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "log", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("log", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("envelope", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Gap",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tenant", models.UUIDField()),
                ("index", models.BigIntegerField()),
                ("part", models.TextField()),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="GlobalLeaf",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tenant", models.UUIDField()),
                ("index", models.BigIntegerField()),
                ("body", models.BinaryField()),
            ],
            options={
                "db_table": "audit_glog",
            },
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
                ("trouble", models.TextField(db_default="")),
                ("trouble_detail", models.TextField(db_default="")),
                ("trouble_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "audit_gstate",
            },
        ),
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
                ("root", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="MapBucket",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant", "bucket", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tenant", models.UUIDField()),
                ("bucket", models.IntegerField()),
                ("data", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="MapTile",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant", "tile", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tenant", models.UUIDField()),
                ("tile", models.SmallIntegerField()),
                ("data", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Payload",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "log", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("log", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("ciphertext", models.BinaryField()),
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
                ("frontier", models.BinaryField(db_default=models.Value(b""), default=b"")),
            ],
        ),
        migrations.CreateModel(
            name="Receipt",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "log", "key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("log", models.UUIDField()),
                ("key", models.BinaryField()),
                ("command", models.UUIDField()),
                ("first", models.BigIntegerField()),
                ("size", models.BigIntegerField()),
                ("digest", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Scrub",
            fields=[
                ("tenant", models.UUIDField(primary_key=True, serialize=False)),
                ("heads_begun", models.DateTimeField(null=True)),
                ("heads_at", models.DateTimeField(null=True)),
                ("head", models.BigIntegerField(default=0)),
                ("leaf", models.BigIntegerField(default=0)),
                ("leaf_frontier", models.BinaryField(default=b"")),
                ("pass_begun", models.DateTimeField(null=True)),
                ("pass_at", models.DateTimeField(null=True)),
                ("pass_entries", models.BigIntegerField(default=0)),
                ("entries", models.BigIntegerField(default=0)),
                ("log", models.UUIDField(null=True)),
                ("log_begun", models.DateTimeField(null=True)),
                ("seq", models.BigIntegerField(default=0)),
                ("frontier", models.BinaryField(default=b"")),
                ("rest_until", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="SignedHead",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant", "size", "signed_at", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tenant", models.UUIDField()),
                ("size", models.BigIntegerField()),
                ("signed_at", models.DateTimeField()),
                ("note", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Tile",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant", "level", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tenant", models.UUIDField()),
                ("level", models.SmallIntegerField()),
                ("index", models.BigIntegerField()),
                ("data", models.BinaryField()),
                ("root", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Timestamp",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant", "size", "at", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tenant", models.UUIDField()),
                ("size", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("note", models.BinaryField()),
                ("token", models.BinaryField()),
                ("until", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Alteration",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("log", models.UUIDField()),
                ("what", models.CharField(max_length=30)),
                ("seq", models.BigIntegerField(default=-1)),
                ("detail", models.TextField(blank=True)),
                ("found_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                ("right_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("right_at__isnull", True)), fields=["log"], name="audit_alteration_log"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("right_at__isnull", True)),
                        fields=("tenant", "log", "what", "seq"),
                        name="audit_alteration_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Cosignature",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant", "size", "name", "at", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tenant", models.UUIDField()),
                ("size", models.BigIntegerField()),
                ("name", models.TextField()),
                ("at", models.DateTimeField()),
                ("line", models.TextField()),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "name", "-at"], name="audit_cosignature_newest")],
            },
        ),
        migrations.CreateModel(
            name="ErasureRequest",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("kid", models.UUIDField()),
                ("state", models.CharField(max_length=10)),
                ("basis", models.CharField(max_length=40)),
                ("reason", models.BinaryField()),
                ("asked_by", models.CharField(max_length=60)),
                ("asked_at", models.DateTimeField()),
                ("ruled_by", models.CharField(blank=True, max_length=60)),
                ("ruled_at", models.DateTimeField(null=True)),
                ("destroyed_at", models.DateTimeField(null=True)),
                ("done_at", models.DateTimeField(null=True)),
                ("counts", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "-asked_at"], name="audit_erasure_newest")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("asked", "approved"))),
                        fields=("kid",),
                        name="audit_erasure_open_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Head",
            fields=[
                ("log", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("size", models.BigIntegerField()),
                ("frontier", models.BinaryField()),
                ("dirty_since", models.DateTimeField(null=True)),
                ("sealed", models.BooleanField(db_default=False)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("dirty_since__isnull", False)),
                        fields=["tenant", "dirty_since"],
                        name="audit_head_dirty",
                    )
                ],
                "constraints": [models.CheckConstraint(condition=models.Q(("size__gte", 0)), name="audit_head_size")],
            },
        ),
        migrations.CreateModel(
            name="LegalHold",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("kid", models.UUIDField()),
                ("log", models.UUIDField(null=True)),
                ("reason", models.BinaryField()),
                ("until", models.DateTimeField(null=True)),
                ("set_by", models.CharField(max_length=60)),
                ("set_at", models.DateTimeField()),
                ("lifted_by", models.CharField(blank=True, max_length=60)),
                ("lifted_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("lifted_at__isnull", True)), fields=["kid"], name="audit_hold_living"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RetentionClass",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("name", models.CharField(max_length=60)),
                ("days", models.IntegerField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "name"), name="audit_retention_name")],
            },
        ),
        migrations.CreateModel(
            name="SubjectKey",
            fields=[
                ("kid", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("blind", models.BinaryField()),
                ("kek_ref", models.CharField(max_length=200)),
                ("wrapped", models.BinaryField(null=True)),
                ("created", models.DateTimeField()),
                ("closing_at", models.DateTimeField(null=True)),
                ("destroyed_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("wrapped__isnull", False)),
                        fields=["kek_ref", "kid"],
                        name="audit_subject_kek",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("destroyed_at__isnull", True)),
                        fields=("tenant", "blind"),
                        name="audit_subject_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RetentionRule",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("place", models.IntegerField()),
                ("team", models.UUIDField(null=True)),
                ("agent", models.CharField(blank=True, max_length=60)),
                ("channel", models.CharField(blank=True, max_length=20)),
                (
                    "retention",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rules", to="audit.retentionclass"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "place"), name="audit_retention_order")],
            },
        ),
        *[migrations.RunSQL(append_only(table, *how)) for table, how in APPEND_ONLY.items()],
        *[migrations.RunSQL(only_grows(table, shrinks)) for table, shrinks in ONLY_GROW.items()],
        *[
            migrations.RunSQL(f"ALTER TABLE {table} SET (fillfactor = {factor})")
            for table, factor in FILLFACTORS.items()
        ],
        migrations.RunSQL(KEYS),
    ]
