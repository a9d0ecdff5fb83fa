"""Keys: one per data subject, wrapped by the installation's key-encryption key; entry keys are derived from them.

The key-encryption key is a file of 32 bytes (mode 0600) under the state directory, made at first use and never stored
in the database; who loses it loses every payload, who steals only the database reads none. Unwrapped subject keys
stay in process memory for at most CACHE_SECONDS, so erasure takes effect everywhere within that time.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

from agentstate.errors import Broken
from agentstate.files import write_once
from agentstate.ids import new_id

CACHE_SECONDS = 60.0
SALT = 16  # bytes
NONCE = bytes(12)  # every derived key is used once, because its salt is random
ENTRY_LABEL = b"agentstate/entry/v1"
SEAL_LABEL = b"agentstate/seal/v1"
TOKEN_LABEL = b"agentstate/token/v1"
RAW, DEFLATED = b"\x00", b"\x02"
WORTH_DEFLATING = 256  # bytes of plaintext

_cache: dict[UUID, tuple[float, bytes]] = {}
_lock = threading.Lock()


class Erased(Broken):
    """The key of this data subject was destroyed."""

    code = "erased"
    status = 410


class BadKeyFile(Broken):
    """The key-encryption key cannot be used."""

    code = "bad_key_file"


class Unreadable(Broken):
    """A ciphertext does not open under the key of its subject."""

    code = "unreadable"


@lru_cache(maxsize=4)
def _key_encryption_key(path: Path) -> bytes:
    write_once(path, os.urandom(32))
    status = path.stat()
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadKeyFile(f"{path} can be read by others: chmod 600 it")
    key = path.read_bytes()
    if len(key) != 32:
        raise BadKeyFile(f"{path}: got {len(key)} bytes, want 32")
    return key


def _kek() -> bytes:
    return _key_encryption_key(Path(settings.STATE_DIR) / "secrets" / "ledger.kek")


def blind_token(tenant: UUID, purpose: str, text: str) -> bytes:
    """A keyed token of `text`: equal texts give equal tokens, and without the key nobody can guess back."""
    tenant_key = hmac.digest(_kek(), b"agentstate/blind/v1" + tenant.bytes + purpose.encode(), "sha256")
    return hmac.digest(tenant_key, text.encode(), "sha256")


def subject_kid(tenant: UUID, subject: str) -> UUID:
    """The id of the subject's key, made at first use. A subject that was erased gets a new key, never the old one."""
    blind = blind_token(tenant, "subject", subject)
    with connection.cursor() as cursor:
        found = _find(cursor, tenant, blind)
        if found is not None:
            return found
        kid = new_id()
        wrapped = _wrap(kid, os.urandom(32))
        cursor.execute(
            "INSERT INTO audit_subjectkey (kid, tenant, blind, wrapped, created) VALUES (%s, %s, %s, %s, now())"
            " ON CONFLICT (tenant, blind) WHERE destroyed_at IS NULL DO NOTHING",
            [kid, tenant, blind, wrapped],
        )
        found = _find(cursor, tenant, blind)
    if found is None:
        raise Broken("a subject key vanished while it was made")
    return found


def subject_kids(tenant: UUID, subjects: Iterable[str]) -> dict[str, UUID]:
    """`subject_kid` of many, in three statements."""
    blinds = {subject: blind_token(tenant, "subject", subject) for subject in subjects}
    if not blinds:
        return {}
    with connection.cursor() as cursor:
        found = _find_all(cursor, tenant, blinds.values())
        made = [(new_id(), blind) for blind in blinds.values() if blind not in found]
        cursor.executemany(
            "INSERT INTO audit_subjectkey (kid, tenant, blind, wrapped, created) VALUES (%s, %s, %s, %s, now())"
            " ON CONFLICT (tenant, blind) WHERE destroyed_at IS NULL DO NOTHING",
            [(kid, tenant, blind, _wrap(kid, os.urandom(32))) for kid, blind in made],
        )
        if made:
            found = _find_all(cursor, tenant, blinds.values())
    if len(found) < len(set(blinds.values())):
        raise Broken("a subject key vanished while it was made")
    return {subject: found[blind] for subject, blind in blinds.items()}


def _find_all(cursor: CursorWrapper, tenant: UUID, blinds: Iterable[bytes]) -> dict[bytes, UUID]:
    cursor.execute(
        "SELECT blind, kid FROM audit_subjectkey WHERE tenant = %s AND blind = ANY(%s) AND destroyed_at IS NULL",
        [tenant, list(blinds)],
    )
    return {bytes(blind): kid for blind, kid in cursor.fetchall()}


def _find(cursor: CursorWrapper, tenant: UUID, blind: bytes) -> UUID | None:
    cursor.execute(
        "SELECT kid FROM audit_subjectkey WHERE tenant = %s AND blind = %s AND destroyed_at IS NULL",
        [tenant, blind],
    )
    row = cursor.fetchone()
    return row[0] if row else None


def _wrap(kid: UUID, key: bytes) -> bytes:
    nonce = os.urandom(12)
    return nonce + AESGCM(_kek()).encrypt(nonce, key, kid.bytes)


def subject_key(kid: UUID) -> bytes:
    """The 32-byte key of a subject. Raises Erased; Broken when it does not unwrap (wrong key-encryption key)."""
    now = time.monotonic()
    held = _cache.get(kid)
    if held is not None and held[0] > now:
        return held[1]
    key = _load(kid)
    _keep({kid: key})
    return key


def warm(kids: Iterable[UUID]) -> None:
    """Fetch the keys of many subjects in one query, so that a list of many customers costs no more than one of one."""
    now = time.monotonic()
    missing = [kid for kid in set(kids) if (held := _cache.get(kid)) is None or held[0] <= now]
    if len(missing) < 2:
        return
    with connection.cursor() as cursor:
        wanted = "SELECT kid, wrapped FROM audit_subjectkey WHERE kid = ANY(%s) AND wrapped IS NOT NULL"
        cursor.execute(wanted, [missing])
        found = {kid: _unwrap(kid, bytes(wrapped)) for kid, wrapped in cursor.fetchall()}
    _keep(found)


def gone(kids: Iterable[UUID]) -> list[UUID]:
    """Those of `kids` that were destroyed, as far as this process knows: keys are remembered for CACHE_SECONDS."""
    every = list(kids)
    warm(every)
    return [kid for kid in every if _is_gone(kid)]


def _is_gone(kid: UUID) -> bool:
    try:
        subject_key(kid)
    except Erased:
        return True
    return False


def destroyed(kids: Iterable[UUID]) -> dict[UUID, datetime]:
    """When each of those that were destroyed was."""
    with connection.cursor() as cursor:
        wanted = "SELECT kid, destroyed_at FROM audit_subjectkey WHERE kid = ANY(%s) AND destroyed_at IS NOT NULL"
        cursor.execute(wanted, [list(kids)])
        return dict(cursor.fetchall())


def _keep(found: Mapping[UUID, bytes]) -> None:
    until = time.monotonic() + CACHE_SECONDS
    with _lock:
        if len(_cache) > 10_000:
            _cache.clear()
        _cache.update({kid: (until, key) for kid, key in found.items()})


def _load(kid: UUID) -> bytes:
    with connection.cursor() as cursor:
        cursor.execute("SELECT wrapped FROM audit_subjectkey WHERE kid = %s", [kid])
        row = cursor.fetchone()
    if row is None or row[0] is None:
        raise Erased(f"subject key {kid}")
    return _unwrap(kid, bytes(row[0]))


def _unwrap(kid: UUID, wrapped: bytes) -> bytes:
    try:
        return AESGCM(_kek()).decrypt(wrapped[:12], wrapped[12:], kid.bytes)
    except InvalidTag:
        raise BadKeyFile(
            f"subject key {kid} does not open: is ledger.kek the one this database was made with?"
        ) from None


def forget_all() -> None:
    """Drop every unwrapped key from this process's memory."""
    with _lock:
        _cache.clear()


def derive(key: bytes, label: bytes, salt: bytes, context: bytes) -> bytes:
    """64 bytes: an AES key (32) and a key commitment (32). HKDF-Expand of RFC 5869 with SHA-512, one block."""
    return hmac.digest(key, label + salt + context + b"\x01", hashlib.sha512)


def entry_okm(kid: UUID, salt: bytes, log: UUID, seq: int) -> bytes:
    """The key material of one entry: what a bundle discloses to open that entry and no other. Raises Erased."""
    return derive(subject_key(kid), ENTRY_LABEL, salt, log.bytes + seq.to_bytes(8, "big"))


def encrypt(okm: bytes, plaintext: bytes, associated: bytes) -> bytes:
    """The ciphertext of `plaintext` (deflated when that helps) under the first 32 bytes of `okm`."""
    return AESGCM(okm[:32]).encrypt(NONCE, _packed(plaintext), associated)


def decrypt(okm: bytes, ciphertext: bytes, associated: bytes) -> bytes:
    """The inverse of `encrypt`. Raises Unreadable."""
    try:
        packed = AESGCM(okm[:32]).decrypt(NONCE, ciphertext, associated)
    except InvalidTag:
        raise Unreadable() from None
    return _unpacked(packed)


def _packed(plaintext: bytes) -> bytes:
    if len(plaintext) >= WORTH_DEFLATING:
        deflated = zlib.compress(plaintext, 1)
        if len(deflated) < len(plaintext):
            return DEFLATED + deflated
    return RAW + plaintext


def _unpacked(packed: bytes) -> bytes:
    form, body = packed[:1], packed[1:]
    if form == DEFLATED:
        return zlib.decompress(body)
    if form == RAW:
        return body
    raise Unreadable(f"unknown form {form!r}")


def seal(kid: UUID, purpose: str, plaintext: bytes) -> bytes:
    """Derived data (a snapshot, a projection's personal columns) under the subject's own key."""
    salt = os.urandom(SALT)
    okm = derive(subject_key(kid), SEAL_LABEL, salt, purpose.encode())
    return salt + encrypt(okm, plaintext, purpose.encode())


def unseal(kid: UUID, purpose: str, sealed: bytes) -> bytes:
    """The inverse of `seal`. Raises Erased or Unreadable."""
    okm = derive(subject_key(kid), SEAL_LABEL, sealed[:SALT], purpose.encode())
    return decrypt(okm, sealed[SALT:], purpose.encode())


def token(kid: UUID, purpose: str, data: bytes) -> bytes:
    """32 bytes by which equal `data` of one subject is recognised, and tried out by nobody without the subject's key.

    Raises Erased.
    """
    return derive(subject_key(kid), TOKEN_LABEL, b"", purpose.encode() + b"\x00" + data)[:32]
