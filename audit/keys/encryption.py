"""The key-encryption key: what wraps the keys that the database holds, and where it is kept.

`KeyEncryption` is the seam. It wraps and unwraps and never hands out what it does that with, so that a key management
service fits whose keys nobody sees. Ours keep 32 bytes in a file (`FileKeys`) or in the environment
(`EnvironmentKeys`). Which one: the setting KEY_ENCRYPTION.
"""

from __future__ import annotations

import hmac
import os
import stat
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.utils.module_loading import import_string

from agentstate.files import replace, write_once
from audit.keys.errors import BadKeyFile

KEY = 32  # bytes of every key
NONCE = 12
REF_LABEL = b"agentstate/kek-ref/v1"


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A key as the database holds it: the name of the key-encryption key that wrapped it, and its ciphertext."""

    kek_ref: str
    data: bytes


class KeyEncryption(Protocol):
    """Wraps and unwraps keys of 32 bytes; each is bound to its `context`. All but `place` raise BadKeyFile."""

    place: str  # where it is kept, for messages

    def current(self) -> str | None:
        """The name of the key that wraps from now on; None when there is none yet."""

    def make(self) -> None:
        """Make the very first key. Only called while nothing is wrapped."""

    def introduce(self) -> str:
        """Make a new current key and keep the former for unwrapping; the new one's name."""

    def wrap(self, key: bytes, context: bytes) -> Wrapped:
        """`key` under the current key."""

    def unwrap(self, wrapped: Wrapped, context: bytes) -> bytes:
        """The inverse of `wrap`, under any key that it still has."""


@lru_cache(maxsize=1)
def _named(name: str, state_dir: str) -> KeyEncryption:
    secrets = Path(state_dir) / "secrets"
    if name == "file":
        return FileKeys(secrets / "ledger.kek")
    if name == "environment":
        return EnvironmentKeys(settings.KEY_ENCRYPTION_KEY, settings.KEY_ENCRYPTION_KEYS_BEFORE)
    made: KeyEncryption = import_string(name)()
    return made


def provider() -> KeyEncryption:
    """The one that the settings name: `file`, `environment`, or the dotted path of a class without arguments."""
    return _named(settings.KEY_ENCRYPTION, str(settings.STATE_DIR))


class Ring:
    """Keys by name, one of them the current. A key's name is a keyed hash of it and so tells nothing of it."""

    def __init__(self, place: str, current: bytes, former: Iterable[bytes] = ()) -> None:
        self._place = place
        self.current = ref_of(current)
        self._keys = {ref_of(key): AESGCM(key) for key in (*former, current)}

    def __contains__(self, ref: str) -> bool:
        return ref in self._keys

    def wrap(self, key: bytes, context: bytes) -> Wrapped:
        """AES-256-GCM: nonce and ciphertext, the context authenticated."""
        nonce = os.urandom(NONCE)
        return Wrapped(self.current, nonce + self._keys[self.current].encrypt(nonce, key, context))

    def unwrap(self, wrapped: Wrapped, context: bytes) -> bytes:
        """The inverse. Raises BadKeyFile when the key is not here, or it is and what it wrapped was altered."""
        if wrapped.kek_ref not in self._keys:
            raise BadKeyFile(
                f"The database's keys are wrapped by {wrapped.kek_ref or 'an unnamed key'}, and {self._place} holds"
                f" {', '.join(sorted(self._keys))}: put the right one back from its backup."
            )
        try:
            return self._keys[wrapped.kek_ref].decrypt(wrapped.data[:NONCE], wrapped.data[NONCE:], context)
        except InvalidTag:
            raise BadKeyFile(f"A key wrapped by {wrapped.kek_ref} does not open: the database was altered.") from None


def ref_of(key: bytes) -> str:
    """The name of a key-encryption key of our own."""
    return f"local:{hmac.digest(key, REF_LABEL, 'sha256')[:8].hex()}"


class FileKeys:
    """32 bytes in a file of mode 0600, made at the first start; the keys before it beside it, by their names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)
        self._read: tuple[object, Ring] | None = None

    def current(self) -> str | None:
        return self._ring().current if self.path.exists() else None

    def make(self) -> None:
        write_once(self.path, os.urandom(KEY))

    def introduce(self) -> str:
        present = _checked(self.path)
        write_once(self._former(present), present)
        # A crash here: the present key has two names, and is the current one still.
        fresh = os.urandom(KEY)
        replace(self.path, fresh)
        return ref_of(fresh)

    def wrap(self, key: bytes, context: bytes) -> Wrapped:
        return self._ring().wrap(key, context)

    def unwrap(self, wrapped: Wrapped, context: bytes) -> bytes:
        held = self._read[1] if self._read else None
        if held is None or wrapped.kek_ref not in held:
            held = self._ring()
        return held.unwrap(wrapped, context)

    def _former(self, key: bytes) -> Path:
        return self.path.with_name(f"{self.path.name}.{ref_of(key).partition(':')[2]}")

    def _ring(self) -> Ring:
        """What the files hold now: another process may have introduced a new key."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            raise BadKeyFile(f"{self.path} is missing: put it back from its backup.") from None
        stamp = status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode
        if self._read is None or self._read[0] != stamp:
            former = [_checked(path) for path in sorted(self.path.parent.glob(f"{self.path.name}.*"))]
            self._read = stamp, Ring(self.place, _checked(self.path), former)
        return self._read[1]


class EnvironmentKeys:
    """The current key in LEDGER_KEK and those before it in LEDGER_KEK_OLD, with commas; each 32 bytes in base64."""

    place = "LEDGER_KEK"

    def __init__(self, current: str, former: Iterable[str]) -> None:
        self._held = Ring(self.place, _decoded(current), [_decoded(each) for each in former]) if current else None

    def current(self) -> str | None:
        return self._held.current if self._held else None

    def make(self) -> None:
        self._ring()

    def introduce(self) -> str:
        raise BadKeyFile(
            "Put the key of LEDGER_KEK into LEDGER_KEK_OLD and a new one into LEDGER_KEK, for every process;"
            " start them again, and then this."
        )

    def wrap(self, key: bytes, context: bytes) -> Wrapped:
        return self._ring().wrap(key, context)

    def unwrap(self, wrapped: Wrapped, context: bytes) -> bytes:
        return self._ring().unwrap(wrapped, context)

    def _ring(self) -> Ring:
        if self._held is None:
            raise BadKeyFile("LEDGER_KEK is not set: set it to its 32 bytes in base64 (openssl rand -base64 32).")
        return self._held


def _decoded(text: str) -> bytes:
    try:
        key = b64decode(text, validate=True)
    except NotBase64:
        raise BadKeyFile("LEDGER_KEK or LEDGER_KEK_OLD is not base64.") from None
    return _of_length(key, "LEDGER_KEK or LEDGER_KEK_OLD")


def _checked(path: Path) -> bytes:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadKeyFile(f"{path} can be read by others: chmod 600 it.")
    return _of_length(path.read_bytes(), str(path))


def _of_length(key: bytes, place: str) -> bytes:
    if len(key) != KEY:
        raise BadKeyFile(f"{place}: got {len(key)} bytes, want {KEY}.")
    return key
