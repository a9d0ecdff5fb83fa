"""Exports: how fast a bundle is verified, against nothing but hashing and decrypting the same bytes; how many bytes an
entry is in a bundle, against those it is in the ledger; how much memory an export of many sessions takes, against one
of a tenth of them.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agentstate.clock import now
from agentstate.engine import events as ev
from agentstate.engine.instants import stamp
from agentstate.ids import new_id
from audit import ledger, signer, verify
from audit.export.source import LedgerSource
from benchmarks.first import agent  # noqa: F401 - registers the agent `steps`
from benchmarks.first.sessions import opened
from benchmarks.ground import Ground
from benchmarks.ledger import sequencing
from benchmarks.rows import Goal, Row, against
from sessions.core import states
from sessions.exports import selection
from sessions.exports import session as export

ENTRIES = {True: 200, False: 20_000}  # by whether it is the quick run
SESSIONS = {True: 20, False: 10_000}
REPEATED = {True: 1, False: 7}
SPEED, SIZE, MEMORY = Goal(0.5, at_least=True), Goal(6.0, at_least=False), Goal(1.5, at_least=False)
SAID = "I have moved the nine hundred dollars from your savings account to your checking account, as you asked. " * 2
BUILD = """
import resource, sys
from pathlib import Path
import django
django.setup()
from sessions.exports import archive as packing, builder as building
from sessions.models.sessions import Export
while mine := building.claim(sys.argv[1]):
    building.build(*mine)
made = Export.objects.get(pk=sys.argv[1])
assert made.state == "done", (made.state, made.problem)
size = sum(map(len, packing.pack(made)[1]))
if sys.platform == "linux":  # there ru_maxrss counts what the process was before exec: its parent, at its greatest
    (most,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line[:6] == "VmHWM:"]
else:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(size, most)
"""


def rows(here: Ground, quick: bool, group: str) -> list[Row]:
    """All rows; the signer is started for them if it does not run."""
    sequencing.start_signer(here)
    with tempfile.TemporaryDirectory() as folder:
        verified = _verified(here, quick, group, Path(folder))
    return [*verified, *_many(here, quick, group)]


def _verified(here: Ground, quick: bool, group: str, folder: Path) -> list[Row]:
    count, session = ENTRIES[quick], talked(here, ENTRIES[quick])
    made = []
    for masked in (False, True):
        path = folder / f"{masked}.zip"
        with path.open("wb") as out:
            export.plain_write(session, out, masked=masked)
        if not masked:
            ours, bare = _speeds(path, session, REPEATED[quick])
            name = "entries verified, against bare SHA-256 and AES-GCM"
            made.append(against(group, name, ours, "1/s", bare, SPEED, f"{REPEATED[quick]} of {count} entries"))
        held = sum(len(row.envelope) + len(row.ciphertext or b"") for row in ledger.read_rows(session)) / count
        name = f"bytes of a bundle per entry, {'masked' if masked else 'with personal values'}"
        made.append(against(group, name, path.stat().st_size / count, "B", held, SIZE, f"{count} entries"))
    return made


def talked(here: Ground, entries: int) -> UUID:
    """A session in which so many messages were said."""
    loaded = states.load(opened(here, "steps", "customer-export"))
    head, said = loaded.head, ev.MessageAdded("agent", SAID, "agent:steps")
    drafts = [ledger.Draft(ev.kind_of(said), ev.encode(said))] * 500
    while head.size < entries:
        batch = ledger.Batch(drafts[: entries - head.size], loaded.place.kid, "agent:steps", stamp(now()), new_id())
        following = ledger.append(head, batch)
        assert following is not None
        head = following
    return loaded.place.id


def _speeds(path: Path, session: UUID, repeated: int) -> tuple[float, float]:
    """Entries per second of the verifier and of the bare work, in turn."""
    source, key = LedgerSource(session), signer.vkey()
    work = []
    for row in ledger.read_rows(session):
        envelope = verify.read_envelope(row.envelope)
        okm = source.okm(envelope)
        assert okm is not None
        bound = verify.write_canonical({name: each for name, each in envelope.items() if name not in ("ct", "kc")})
        work.append((row.envelope, row.ciphertext or b"", okm[:32], bound))
    ours, bare = [], []
    for _ in range(repeated):
        start = time.perf_counter()
        verdict = verify.verify(path, key)
        middle = time.perf_counter()
        assert verdict.ok, verdict.failures[:3]
        _bare(work)
        ours.append(len(work) / (middle - start))
        bare.append(len(work) / (time.perf_counter() - middle))
    return median(ours), median(bare)


def _bare(work: Sequence[tuple[bytes, bytes, bytes, bytes]]) -> None:
    for envelope, ciphertext, key, bound in work:
        hashlib.sha256(envelope).digest()
        hashlib.sha256(ciphertext).digest()
        AESGCM(key).decrypt(bytes(12), ciphertext, bound)


def _many(here: Ground, quick: bool, group: str) -> list[Row]:
    """Built and packed in a process of its own, whose greatest memory the system tells."""
    count = SESSIONS[quick]
    for number in range(count):
        opened(here, "steps", f"customer-{number % 500}")
    oldest = selection.AgentSession.objects.order_by("opened_at")[count // 10].opened_at
    tenant = here.caller.tenant
    few = selection.ask_as_system(tenant, selection.filtered(tenant.pk, opened_to=oldest))
    all_of_them = selection.ask_as_system(tenant, selection.filtered(tenant.pk))
    (_, less, _), (size, most, seconds) = _built(few.pk), _built(all_of_them.pk)
    of = f"{all_of_them.total} sessions, {size // 2**20} MB, {seconds / all_of_them.total * 1000:.0f} ms each"
    return [against(group, "peak memory of an export of many sessions", most, "MB", less, MEMORY, of)]


def _built(made: UUID) -> tuple[int, float, float]:
    """(bytes of the archive, greatest memory in MB, seconds)."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(made)], env=os.environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    size, most = done.stdout.split()
    return int(size), int(most) / 1024, time.perf_counter() - start
