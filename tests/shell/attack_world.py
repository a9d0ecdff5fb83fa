"""What somebody can do who owns the database but none of the keys, and who finds it.

The attacker is PostgreSQL's superuser: past triggers, grants and compare-and-sets, with every formula of docs/ledger.md
at hand. What is absent: the log key, the signer's memory, the key-encryption key. Those who may find it hold what no
database holds: the key of the log, a head of the global log from before, the receipt of a command.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
from django.db import connections

from agentstate.clock import now
from agentstate.engine.instants import stamp
from audit import globallog, keys, ledger, sequencer, signer, verify
from audit.export import bundle
from audit.export.archive import TooLarge
from audit.export.gather import Installation, gather
from audit.export.report import plain
from audit.export.source import LedgerSource
from audit.tlog import canonical, headleaf, tree
from audit.tlog.checkpoint import Checkpoint
from tests.core.tlog_world import naive_root
from tests.database import TestDatabase
from tests.shell.test_ledger import TENANT

FLIP = "set_byte({0}, {1}, get_byte({0}, {1}) # 1)"

# Who finds an attack, each by something that does not lie in the database.
SIGNATURE = "the next signature"  #: the signer's memory, or what the sequencer compares before it asks
VERIFIER = "export and verify.py"
HELD_HEAD = "a held head"
RECEIPT = "a held receipt"
MONITOR = "the monitor"


class Superuser:
    """SQL past everything that the application's role is held by."""

    def __init__(self, database: TestDatabase) -> None:
        self.database = database

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection]:
        with self.database.administrator(self.database.name) as connection:
            connection.execute("SET session_replication_role = replica")
            yield connection
        keys.forget_all()

    def run(self, sql: str, *values: object) -> int:
        """How many rows it touched."""
        with self.connected() as connection:
            return connection.execute(sql, values).rowcount  # type: ignore[arg-type]

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self.connected() as connection:
            return connection.execute(sql, values).fetchall()  # type: ignore[arg-type]

    def drop(self, log: UUID, *seqs: int) -> None:
        """Entries go, with their payloads."""
        for table in ("audit_entry", "audit_payload"):
            assert self.run(f"DELETE FROM {table} WHERE log = %s AND seq = ANY(%s)", log, list(seqs)) == len(seqs)

    def rehash(self, log: UUID) -> None:
        """The head row as it would be if the entries that are there now were all that ever were."""
        leaves = [tree.leaf_hash(row.envelope) for row in ledger.read_rows(log)]
        self.run(
            "UPDATE audit_head SET size = %s, frontier = %s, dirty_since = now() WHERE log = %s",
            *(len(leaves), tree.append(b"", 0, leaves), log),
        )

    def rewrite_history(self, log: UUID) -> None:
        """Head row, and its newest leaf of the global log with all that follows from it: everything but signatures."""
        self.rehash(log)
        place, head = globallog.latest_place(log), ledger.read_head(log)
        assert place is not None
        _, before = headleaf.parse(globallog.body(TENANT, place.index))
        body = headleaf.body(Checkpoint(globallog.origin_of(log), head.size, head.root), before)
        self.run('UPDATE audit_glog SET body = %s WHERE "index" = %s', body, place.index)
        self.run("UPDATE audit_place SET size = %s, frontier = %s WHERE log = %s", head.size, head.frontier, log)
        self.run("UPDATE audit_head SET dirty_since = NULL WHERE log = %s", log)
        self.rehash_global()

    def rehash_global(self) -> None:
        """The state of the global log as its leaves would have it."""
        bodies = self.rows('SELECT body FROM audit_glog ORDER BY "index"')
        leaves = [tree.leaf_hash(bytes(body)) for (body,) in bodies]
        self.run("UPDATE audit_gstate SET size = %s, frontier = %s", len(leaves), tree.append(b"", 0, leaves))


@dataclass(frozen=True)
class Held:
    """What outsiders kept of one log: the log's key, a head of the global log, a receipt (size and root of the session
    after a command of theirs).
    """

    log: UUID
    vkey: str
    checkpoint: bytes
    size: int
    root: bytes


def kept(head: ledger.Head) -> Held:
    """Everything that can be kept now, the session's head being signed for."""
    sequencer.settle(head.log, with_map=True)
    signed = globallog.signed_head(head.tenant)
    assert signed is not None
    return Held(head.log, signer.vkey(), signed.checkpoint, head.size, head.root)


def talk(texts: int = 6) -> ledger.Head:
    """A log of so many sentences."""
    head = ledger.create(uuid4(), TENANT, _said(*(f"sentence {number}" for number in range(texts))))
    assert head is not None
    return head


def spoken(head: ledger.Head, *texts: str) -> ledger.Head:
    """The log with more sentences."""
    longer = ledger.append(head, _said(*texts))
    assert longer is not None
    return longer


def _said(*texts: str) -> ledger.Batch:
    drafts = [ledger.Draft("test.said", canonical.dumps({"kind": "test.said", "text": text})) for text in texts]
    kid = keys.subject_kid(TENANT, "somebody")
    return ledger.Batch(drafts=drafts, kid=kid, actor="system", at=stamp(now()), command=uuid4())


def exported(log: UUID, folder: Path, held: tuple[int, ...] = ()) -> Path:
    """The bundle of a log as it stands now. Raises what the export raises."""
    out = folder / f"{uuid4()}.zip"
    written = io.BytesIO()
    bundle.write(log, LedgerSource(log), gather(log, held), Installation(), written, render=plain)
    out.write_bytes(written.getvalue())
    return out


def verdict_of(held: Held, folder: Path) -> verify.Verdict:
    """What the verifier says of an export made now, under the key that the auditor has."""
    return verify.verify(exported(held.log, folder), held.vkey, log=str(held.log))


def found_by(held: Held, folder: Path) -> set[str]:
    """Who finds something, all asked one after the other."""
    old = verify.read_log_head(verify.split_note(held.checkpoint)[0], verify.read_vkey(held.vkey).name)
    try:
        sequencer.run_once(TENANT, with_map=True)
        out = exported(held.log, folder, (old.size,))
    except (signer.HeadRefused, bundle.HeadMalformed, TooLarge):
        return {SIGNATURE}
    found = set()
    if not verify.verify(out, held.vkey, log=str(held.log)).ok:
        found.add(VERIFIER)
    continues = verify.verify(out, held.vkey, demand=verify.Demand(held=held.checkpoint))
    if any(failure.check == "log" for failure in continues.failures):
        found.add(HELD_HEAD)
    if not receipt_holds(held, out):
        found.add(RECEIPT)
    return found


def receipt_holds(held: Held, out: Path) -> bool:
    """Whether the entries in a bundle begin with those that the client was given a receipt for."""
    entries = entries_of(out)
    return len(entries) >= held.size and naive_root(entries[: held.size]) == held.root


def entries_of(out: Path) -> list[bytes]:
    """The envelopes of a bundle of at most 256 entries, in order."""
    import zipfile

    with zipfile.ZipFile(out) as archive:
        (name,) = (name for name in archive.namelist() if name.startswith("session/tile/entries/"))
        data, found, at = archive.read(name), [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 2], "big")
        found.append(data[at + 2 : at + 2 + size])
        at += 2 + size
    return found


def copied(database: TestDatabase) -> str:
    """A backup of the database: a copy of its files under another name."""
    connections.close_all()
    copy = f"{database.name}_backup"
    with database.administrator() as superuser:
        superuser.execute(f'DROP DATABASE IF EXISTS "{copy}"')
        superuser.execute(f'CREATE DATABASE "{copy}" TEMPLATE "{database.name}"')
    return copy


def restored(database: TestDatabase, copy: str) -> None:
    """The backup in the place of the database."""
    connections.close_all()
    with database.administrator() as superuser:
        superuser.execute(f'DROP DATABASE "{database.name}" WITH (FORCE)')
        superuser.execute(f'ALTER DATABASE "{copy}" RENAME TO "{database.name}"')
    keys.forget_all()
