"""The signer: the only holder of the log key, with a memory of its own of every head it signed.

The memory lies under the state directory, outside the database, and only ever grows. A head that is smaller
than one signed before, or has another root at the same size, is refused: so a truncated or restored ledger
shows at the next signature. Who can write both the database and this memory can still lie; against that help
the heads that auditors hold.

Several processes may sign: each head is decided under an exclusive lock on the file of its log.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from agentstate.errors import Broken
from agentstate.files import sync_directory, write_once
from audit.tlog import note
from audit.tlog.checkpoint import Checkpoint


class HeadRefused(Broken):
    """The signer refuses this head: it contradicts one that it signed before."""

    code = "head_refused"
    remedy = "The ledger was cut off, altered or restored from a backup. Compare it with the last export."


class BadLogKey(Broken):
    """The log key cannot be used."""

    code = "bad_log_key"


class BadMemory(Broken):
    """The signer's memory cannot be read, so it signs nothing."""

    code = "bad_signer_memory"
    remedy: ClassVar[str] = "Restore the state directory's folder `signer` from its newest backup."


class Signer:
    """Signs heads and manifests of the logs under `origin`, with key and memory under `state_dir`."""

    def __init__(self, state_dir: Path, origin: str) -> None:
        self.origin = origin
        self._memory = state_dir / "signer"
        self._key = _read_key(state_dir / "secrets" / "log.key", self._memory)
        try:
            self._public = note.verifier_key(origin, self._key)
        except note.BadNote as error:
            raise BadLogKey(f"The setting LOG_ORIGIN cannot name a key: {error}.") from None

    def vkey(self) -> str:
        """The public key, as verifiers take it."""
        return str(self._public)

    def origin_of(self, log: UUID) -> str:
        """The name under which the heads of one session's log are signed."""
        return f"{self.origin}/s/{log}"

    def sign_head(self, log: UUID, size: int, root: bytes) -> bytes:
        """The signed checkpoint of a log. Raises HeadRefused if it contradicts one signed before."""
        body = Checkpoint(self.origin_of(log), size, root).body()
        with self._remembered(log) as file:
            last = _last_head(file)
            _must_extend(last, size, root)
            if last != (size, root):
                _remember(file, size, root)
            # A crash here: the head is remembered and was never given out. Signing it again is allowed.
        return note.sign(body, self.origin, self._key)

    def sign_text(self, text: str) -> bytes:
        """A note over a text that is no head: its first line must hold a space, as no origin of ours does."""
        if " " not in text.split("\n", 1)[0]:
            raise Broken("only sign_head signs what could be read as a head")
        return note.sign(text, self.origin, self._key)

    @contextmanager
    def _remembered(self, log: UUID) -> Iterator[int]:
        """The file of one log's heads, locked against every other process and thread."""
        self._memory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._memory / f"{log}.heads"
        fresh = not path.exists()
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if fresh:
                sync_directory(self._memory)
            yield descriptor
        finally:
            os.close(descriptor)


def local() -> Signer:
    """The signer of this installation, as the settings name it."""
    return Signer(Path(settings.STATE_DIR), settings.LOG_ORIGIN)


def sign_head(log: UUID, size: int, root: bytes) -> bytes:
    """`Signer.sign_head` of this installation."""
    return local().sign_head(log, size, root)


def vkey() -> str:
    """`Signer.vkey` of this installation."""
    return local().vkey()


def _must_extend(last: tuple[int, bytes] | None, size: int, root: bytes) -> None:
    if last is None:
        return
    if size < last[0]:
        raise HeadRefused(f"Got {size} entries; signed {last[0]} before.", got=size, signed=last[0])
    if size == last[0] and root != last[1]:
        raise HeadRefused(
            f"Got root {root.hex()} at {size} entries; signed {last[1].hex()} before.", got=size, signed=size
        )


def _last_head(file: int) -> tuple[int, bytes] | None:
    """The last whole line of the memory. Sizes only grow, so it is the largest head that was signed."""
    end = os.fstat(file).st_size
    tail = os.pread(file, 512, max(0, end - 512))
    whole, newline, torn = tail.rpartition(b"\n")
    if torn:
        # A crash while the line was written: that head was never signed. Else the next line would join it.
        os.ftruncate(file, end - len(torn))
    if not newline:
        return None
    line = whole.rpartition(b"\n")[2]
    try:
        size, root = line.decode("ascii").split(" ")
        head = int(size), bytes.fromhex(root)
    except ValueError:
        raise BadMemory(f"Malformed line {line[:80]!r}.") from None
    if head[0] < 0 or len(head[1]) != 32:
        raise BadMemory(f"Malformed line {line[:80]!r}.")
    return head


def _remember(file: int, size: int, root: bytes) -> None:
    os.write(file, f"{size} {root.hex()}\n".encode("ascii"))
    os.fsync(file)


def _read_key(path: Path, memory: Path) -> Ed25519PrivateKey:
    if not path.exists():
        if memory.is_dir() and any(memory.iterdir()):
            raise BadLogKey(f"{path} is gone, but heads were signed with it: restore it from its backup.")
        _make_key(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise BadLogKey(f"{path} can be read by others (mode {mode:03o}): run chmod 600 on it.")
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadLogKey(f"{path} is not a private key in PEM form.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadLogKey(f"{path} is not an Ed25519 key.")
    return key


def _make_key(path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    write_once(path, key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
