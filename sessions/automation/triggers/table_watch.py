"""What `watch-table` puts into another application's database, as SQL. Pure: names in, statements out.

A schema of our own with an outbox table, and on the watched table a trigger. Its function has a fixed search path,
writes operation and primary key and nothing else, runs with the rights of who installed it, and catches whatever goes
wrong: the other application never notices that we are there, or that we are broken. What is polled is deleted.

A row carries the transaction that wrote it (`xid8`). Rows are polled once every transaction that had a number by then
has ended (below `pg_snapshot_xmin`), so in the order of these numbers none overtakes another: a long transaction that
commits late is not passed by, and holds up what comes after it until it has ended.
"""

from __future__ import annotations

import re

import msgspec
from psycopg import sql

from agentstate.errors import Invalid

SCHEMA = "agentstate_watch"
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
MOST_KEYS = 8
MOST_COLUMNS = 32


class BadWatch(Invalid):
    """This table cannot be watched so."""

    code = "bad_watch"


class Watched(msgspec.Struct, frozen=True):
    """A table, the columns of its primary key, and of an update the columns that matter (none named: all)."""

    name: str
    schema: str
    table: str
    keys: tuple[str, ...]
    columns: tuple[str, ...] = ()
    reader: str = ""  # the role that polls, where that is not who installs

    @property
    def trigger(self) -> str:
        """The name of the trigger."""
        return f"agentstate_{self.name}"


def parted(table: str) -> tuple[str, str]:
    """Schema and table of `schema.table`, `public` if none is named. Raises BadWatch."""
    schema, _, name = table.rpartition(".")
    if not name or len(name) > 63 or len(schema) > 63 or "." in schema:
        raise BadWatch(f"got {table[:80]!r}, want schema.table", field="table")
    return schema or "public", name


def check(watched: Watched) -> None:
    """Raises BadWatch."""
    if not NAME.fullmatch(watched.name):
        raise BadWatch("want a lower-case word of letters, digits and underscores", field="name")
    if not 1 <= len(watched.keys) <= MOST_KEYS:
        raise BadWatch(f"the table needs a primary key of 1 to {MOST_KEYS} columns", field="table")
    if len(watched.columns) > MOST_COLUMNS:
        raise BadWatch(f"at most {MOST_COLUMNS}", field="columns")


_SHARED = """
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS {outbox} (
    id    uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    place bigint GENERATED ALWAYS AS IDENTITY,
    xid   xid8 NOT NULL DEFAULT pg_current_xact_id(),
    watch text NOT NULL,
    op    text NOT NULL,
    key   jsonb NOT NULL,
    was   jsonb,
    at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS outbox_order ON {outbox} (watch, xid, place);
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $note$
DECLARE
    before jsonb;
    after  jsonb;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW *= OLD THEN
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        SELECT jsonb_object_agg(k, to_jsonb(OLD) -> k) INTO before FROM unnest(TG_ARGV[1:]) AS k;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        SELECT jsonb_object_agg(k, to_jsonb(NEW) -> k) INTO after FROM unnest(TG_ARGV[1:]) AS k;
    END IF;
    INSERT INTO {outbox} (watch, op, key, was)
    VALUES (TG_ARGV[0], lower(TG_OP), coalesce(after, before), CASE WHEN before <> after THEN before END);
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $note$;
REVOKE ALL ON FUNCTION {function}() FROM PUBLIC;
"""


def install(watched: Watched) -> sql.Composed:
    """All that is needed, to be run in one transaction; again: the same again."""
    check(watched)
    parts = [_named(_SHARED)]
    if watched.reader:
        parts.append(_granted(watched.reader))
    parts += [_dropped(watched), _trigger(watched)]
    return sql.Composed(parts)


def _trigger(watched: Watched) -> sql.Composed:
    of = sql.SQL(" OF {}").format(_list(watched.columns, sql.Identifier)) if watched.columns else sql.SQL("")
    return sql.SQL(
        "CREATE TRIGGER {trigger} AFTER INSERT OR DELETE OR UPDATE{of} ON {table}\n"
        "    FOR EACH ROW EXECUTE FUNCTION {function}({arguments});\n"
    ).format(
        trigger=sql.Identifier(watched.trigger),
        of=of,
        table=sql.Identifier(watched.schema, watched.table),
        function=sql.Identifier(SCHEMA, "note"),
        arguments=_list((watched.name, *watched.keys), sql.Literal),
    )


def uninstall(watched: Watched) -> sql.Composed:
    """The trigger goes, with what it has noted; with the last one, everything of ours."""
    return sql.Composed(
        [
            _dropped(watched),
            sql.SQL("DELETE FROM {} WHERE watch = {};\n").format(
                sql.Identifier(SCHEMA, "outbox"), sql.Literal(watched.name)
            ),
        ]
    )


def clear_up() -> sql.Composed:
    """What goes with the last watch of a database."""
    return sql.SQL("DROP SCHEMA {} CASCADE;\n").format(sql.Identifier(SCHEMA))


def _dropped(watched: Watched) -> sql.Composed:
    return sql.SQL("DROP TRIGGER IF EXISTS {} ON {};\n").format(
        sql.Identifier(watched.trigger), sql.Identifier(watched.schema, watched.table)
    )


def _granted(reader: str) -> sql.Composed:
    return sql.SQL(
        "GRANT USAGE ON SCHEMA {schema} TO {reader};\nGRANT SELECT, DELETE ON {outbox} TO {reader};\n"
    ).format(schema=sql.Identifier(SCHEMA), outbox=sql.Identifier(SCHEMA, "outbox"), reader=sql.Identifier(reader))


def _named(text: str) -> sql.Composed:
    return sql.SQL(text).format(  # type: ignore[arg-type]
        schema=sql.Identifier(SCHEMA),
        outbox=sql.Identifier(SCHEMA, "outbox"),
        function=sql.Identifier(SCHEMA, "note"),
    )


def _list(values: tuple[str, ...], each: type[sql.Identifier] | type[sql.Literal]) -> sql.Composed:
    return sql.SQL(", ").join([each(value) for value in values])


# Nothing that is still under way can be below the snapshot's xmin, and nothing new will be.
SETTLED = """
SELECT id, op, key, was, at FROM agentstate_watch.outbox
 WHERE watch = %(watch)s AND xid < pg_snapshot_xmin(pg_current_snapshot())
 ORDER BY xid, place LIMIT %(limit)s"""
TAKEN = "DELETE FROM agentstate_watch.outbox WHERE id = ANY(%(ids)s)"
LEFT = "SELECT count(*) FROM (SELECT 1 FROM agentstate_watch.outbox WHERE watch = %(watch)s LIMIT 10000) AS left_there"
PRIMARY_KEY = """
SELECT a.attname FROM pg_index i
  CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
 WHERE i.indrelid = to_regclass(%(table)s) AND i.indisprimary ORDER BY k.place"""
COLUMNS = """
SELECT attname FROM pg_attribute
 WHERE attrelid = to_regclass(%(table)s) AND attnum > 0 AND NOT attisdropped"""
