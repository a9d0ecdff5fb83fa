"""Our ledger as `agmi-check` sees a store: its class MemoryAdapter over a real PostgreSQL and the real signer.

Raw access is the superuser's; `verify` is what an auditor does: an export under the next signature, checked with the
log's key, a head held from before, and the receipt of the last command. The parts of a fresh database are put together
by the test (tests/interop/test_agmi.py), which puts the package on the path.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from agmi.adapters.base import MemoryAdapter, Record

from audit import ledger
from tests.database import TestDatabase
from tests.shell.attack_world import Held, Superuser, copied, found_by, kept, restored, spoken, talk


class LedgerAdapter(MemoryAdapter):
    """One session of ours and another beside it."""

    name = "agentstate"
    supports_replay = supports_metadata = supports_snapshot = True
    detection_point = "audit"
    database: TestDatabase  # set by the test

    def setup(self) -> None:
        self.root = Superuser(self.database)
        self.own: ledger.Head
        self.other: ledger.Head
        self.held: Held

    def teardown(self) -> None:
        self.database.renew()
        self.database.forget_heads()

    def seed(self, n: int) -> None:
        self.own = talk(n)
        self.held = kept(self.own)

    def seed_other(self, n: int) -> None:
        self.other = talk(n)
        kept(self.other)

    def append_genuine(self) -> None:
        self.own = spoken(self.own, "the newest")
        self.held = kept(self.own)

    def read_all_raw(self) -> list[Record]:
        return self._rows(self.own)

    def read_other_raw(self) -> list[Record]:
        return self._rows(self.other)

    def _rows(self, head: ledger.Head) -> list[Record]:
        rows = self.root.rows(
            "SELECT e.seq, e.envelope, p.ciphertext FROM audit_entry e JOIN audit_payload p USING (log, seq)"
            " WHERE log = %s ORDER BY seq",
            head.log,
        )
        return [Record(seq, {"log": str(head.log), "envelope": env, "ciphertext": text}) for seq, env, text in rows]

    def write_raw(self, record: Record) -> None:
        for table, column in (("audit_entry", "envelope"), ("audit_payload", "ciphertext")):
            self.root.run(
                f"INSERT INTO {table} (log, seq, {column}) VALUES (%s, %s, %s)"
                f" ON CONFLICT (log, seq) DO UPDATE SET {column} = EXCLUDED.{column}",
                *(self.own.log, record.seq, record.fields[column]),
            )

    def delete_raw(self, seq: int) -> None:
        self.root.drop(self.own.log, seq)

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        self.write_raw(Record(victim_seq, donor.fields))

    def mutate_payload(self, record: Record) -> Record:
        text = record.fields["ciphertext"]
        return Record(record.seq, record.fields | {"ciphertext": text[:20] + bytes([text[20] ^ 1]) + text[21:]})

    def forge_record(self, template: Record) -> Record:
        envelope = json.loads(template.fields["envelope"])
        forged = json.dumps(envelope | {"seq": template.seq + 1}, sort_keys=True, separators=(",", ":")).encode()
        return self.mutate_payload(Record(template.seq + 1, template.fields | {"envelope": forged}))

    def read_meta(self, seq: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._rows(self.own)[seq].fields["envelope"])
        return found

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        record = self._rows(self.own)[seq]
        envelope = json.dumps(meta, sort_keys=True, separators=(",", ":")).encode()
        self.write_raw(Record(seq, record.fields | {"envelope": envelope}))

    def identity_of(self, record: Record) -> str:
        return f"{record.fields['log']}:{record.seq}"

    def payload_of(self, record: Record) -> str:
        return bytes(record.fields["ciphertext"]).hex()

    def owner_of(self, record: Record) -> str:
        return str(record.fields["log"])

    def snapshot_store(self) -> str:
        return copied(self.database)

    def restore_store(self, token: object) -> None:
        restored(self.database, str(token))

    def reload(self) -> None:
        from django.db import connections

        from audit import keys

        connections.close_all()
        keys.forget_all()

    def verify(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            found = found_by(self.held, Path(folder))
        self.verify_detail = ", ".join(sorted(found)) or None
        return not found
