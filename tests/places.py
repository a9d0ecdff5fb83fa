"""Every place where an installation keeps something: columns, the catalog's statistics, Valkey, files. And words in it,
however they are spelled.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path

import psycopg
import redis

from agentstate.stack import postgres
from agentstate.stack.endpoints import Endpoints

COLUMNS = (
    "SELECT table_schema, table_name, column_name FROM information_schema.columns"
    " WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
)
READ = {b"string": "GET", b"hash": "HGETALL", b"set": "SMEMBERS", b"list": "LRANGE", b"zset": "ZRANGE"}
READ |= {b"stream": "XRANGE"}
RANGE = {"LRANGE": (0, -1), "ZRANGE": (0, -1, "WITHSCORES"), "XRANGE": ("-", "+")}
PIECE = 2**24


def columns(stack: Endpoints) -> dict[tuple[str, str], str]:
    """Every column of every table and view of every schema that is not PostgreSQL's own, as text, as a superuser reads
    it.
    """
    found = {}
    with psycopg.connect(stack.dsn(stack.superuser, stack.database), autocommit=True) as connection:
        for schema, table, column in connection.execute(COLUMNS).fetchall():
            rows = connection.execute(f'SELECT "{column}"::text FROM "{schema}"."{table}"').fetchall()
            found[table, column] = "\n".join(row[0] or "" for row in rows)
    return found


def statistics(stack: Endpoints) -> dict[str, str]:
    """What the catalog holds of the values of every column, after PostgreSQL has looked at all tables."""
    with postgres.superuser(stack, stack.database) as owner:
        owner.execute("ANALYZE")
        rows = owner.execute("SELECT tablename || '.' || attname, s::text FROM pg_stats s").fetchall()
        rows += owner.execute("SELECT 'extended ' || statistics_name, s::text FROM pg_stats_ext s").fetchall()
    return dict(rows)


def in_valkey(url: str) -> list[str]:
    """Every key of every database, with its value: caches, throttles, the broker's messages, streams."""
    found = []
    with redis.Redis.from_url(url, single_connection_client=True) as client:
        for name in client.info("keyspace"):
            client.execute_command("SELECT", name.removeprefix("db"))
            for key in client.scan_iter():
                kind = client.type(key)
                if kind == b"none":
                    continue  # it has expired meanwhile
                read = READ[kind]
                found.append(f"{name} {key!r} {client.execute_command(read, key, *RANGE.get(read, ()))!r}")
    return found


def files(folder: Path) -> Iterator[Path]:
    """Every file below a folder."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


def spellings(word: str) -> set[str]:
    """A word as it is, in hexadecimal, and as it shows through base64 at each of its three offsets."""
    plain = word.lower().encode()
    inner = {b64encode(bytes(at) + word.encode())[4 if at else 0 : -4].decode() for at in range(3)}
    return {word.lower(), plain.hex(), word.encode().hex(), *(each.lower() for each in inner if len(each) >= 8)}


def traces(text: str, *words: str) -> list[str]:
    """The words that stand in `text` in any spelling."""
    lower = text.lower()
    return [word for word in words if any(each in lower for each in spellings(word))]


def traced(paths: Iterable[Path], word: str) -> tuple[int, list[str]]:
    """How many of the files were read, and those that hold the word in any spelling, in UTF-16 too, with what stands
    beside it. A file that went meanwhile was none.
    """
    spelled = {each.encode() for each in spellings(word)} | {word.lower().encode("utf-16-le")}
    read, found = 0, []
    for path in paths:
        try:
            with path.open("rb") as file:
                before = b""
                while piece := file.read(PIECE):
                    lower = before + piece.lower()
                    if at := [lower.index(each) for each in spelled if each in lower]:
                        found.append(f"{path}: {lower[max(0, at[0] - 30) : at[0] + 90]!r}")
                        break
                    before = lower[-200:]
            read += 1
        except OSError:
            continue
    return read, found
