"""The log's keys, in order: each but the first was introduced by a note that the one before it signed.

    secrets/log.key            the first private key (PEM, mode 0600); log-2.key, log-3.key ... its successors
    signer/keys/001.vkey       the public half, which stays when the private one is retired
    signer/keys/002.note       by which the second was introduced, signed by the first
    signer/keys/002.active     since when it signs (RFC 3339); without it the key is only announced
    secrets/log-second.key     ML-DSA-44, if heads are to have a second signature that quantum computers do not forge

Every file is written once and whole. For a while after a key became active its predecessor signs too, so that those
who trust only the old one have time to follow; then the old private key is removed.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from agentstate.files import write_once
from audit.signing.errors import BadLogKey, BadMemory, NotSigned
from audit.tlog import checkpoint, cosignature, note, receipt

ROTATION = "agentstate key/1"  # first line of the text that introduces a key


class Keyring:
    """Keys under the name `origin`. `overlap`: for how long the old key signs beside the new. `second`: whether heads
    are signed with ML-DSA-44, too.
    """

    def __init__(
        self, state_dir: Path, origin: str, overlap: timedelta, now: Callable[[], datetime], second: bool = False
    ) -> None:
        self.origin = origin
        self._secrets = state_dir / "secrets"
        self._memory = state_dir / "signer"
        self._public = self._memory / "keys"
        self._overlap, self._now = overlap, now
        self._keys: dict[int, Ed25519PrivateKey] = {}
        self._prepare()
        self._second = _second(self._secrets / "log-second.key") if second else None

    def known(self) -> list[note.VerifierKey]:
        """Every key that ever signed or is announced, oldest first."""
        return [note.parse_vkey(path.read_text("ascii").strip()) for path in sorted(self._public.glob("*.vkey"))]

    def introductions(self) -> list[bytes]:
        """The notes by which keys were introduced, oldest first, the announced one included."""
        return [path.read_bytes() for path in sorted(self._public.glob("*.note"))]

    def current(self) -> int:
        """The number of the key that signs now."""
        active = [int(path.stem) for path in self._public.glob("*.active")]
        return max(active, default=1)

    def announced(self) -> int | None:
        """The number of the key that is introduced and does not sign yet."""
        following = self.current() + 1
        return following if self._file(following, "note").exists() else None

    def signing(self) -> list[Ed25519PrivateKey]:
        """The keys that sign now, the current one first. Retires the one before it when its time is over."""
        current = self.current()
        keys = [self._private(current)]
        if current > 1 and self._key_path(current - 1).exists():
            if self._active_since(current) + self._overlap > self._now():
                keys.append(self._private(current - 1))
            else:
                self._keys.pop(current - 1, None)
                self._key_path(current - 1).unlink()
        return keys

    def vkey(self) -> str:
        """The public key that signs now."""
        return str(note.verifier_key(self.origin, self._private(self.current())))

    def sign(self, text: str) -> bytes:
        """The note over `text`, signed by all that sign now."""
        first, *others = (note.sign(text, self.origin, key) for key in self.signing())
        return first + b"".join(other[len(text.encode()) + 1 :] for other in others)

    def sign_head(self, body: str) -> bytes:
        """`sign` of a head, with the second signature (a cosignature without a time) if there is to be one."""
        signed = self.sign(body)
        return note.extended(signed, [cosignature.make(body, self.origin, self._second, 0)]) if self._second else signed

    def sign_receipt(self, head: checkpoint.Checkpoint) -> tuple[str, bytes]:
        """The key that signs now, and its signature under the receipts of all leaves of `head`."""
        private = self._private(self.current())
        key = note.verifier_key(self.origin, private)
        return str(key), private.sign(receipt.message(key, head.size, head.root))

    def second(self) -> str:
        """The public key of the second signature; "" when there is none."""
        return str(cosignature.key_of(self.origin, self._second)) if self._second else ""

    def announce(self) -> bytes:
        """Make the next key and the note that introduces it; asked again, the same note. Safe to be interrupted."""
        following = self.current() + 1
        introduction = self._file(following, "note")
        if introduction.exists():
            return introduction.read_bytes()
        _write_key(self._key_path(following))
        vkey = str(note.verifier_key(self.origin, self._private(following)))
        write_once(self._file(following, "vkey"), f"{vkey}\n".encode("ascii"))
        text = f"{ROTATION}\n{self.origin}\n{vkey}\n"
        write_once(introduction, note.sign(text, self.origin, self._private(following - 1)))
        return introduction.read_bytes()

    def activate(self) -> None:
        """From now on the announced key signs. Raises NotSigned when none is announced."""
        number = self.announced()
        if number is None:
            raise NotSigned("No new key is announced.")
        write_once(self._file(number, "active"), f"{self._now().isoformat()}\n".encode("ascii"))

    def forget(self) -> None:
        """Read the keys anew when they are needed next."""
        self._keys.clear()

    def _prepare(self) -> None:
        first, heads = self._key_path(1), self._memory / "heads"
        if not first.exists() and not self._file(2, "active").exists():
            if heads.exists() and self._file(1, "vkey").exists():
                raise BadLogKey(f"{first} is gone, but heads were signed with it: restore it from its backup.")
            write_once(heads, b"")
            _write_key(first)
        if not heads.exists():
            raise BadMemory(f"{heads} is gone, but the key that signed what it remembers is there.")
        if first.exists():
            try:
                vkey = note.verifier_key(self.origin, self._private(1))
            except note.BadNote as error:
                raise BadLogKey(f"The setting LOG_ORIGIN cannot name a key: {error}.") from None
            write_once(self._file(1, "vkey"), f"{vkey}\n".encode("ascii"))
        if (named := self.known()[0].name) != self.origin:
            raise BadLogKey(f"This key signs as {named!r}, and LOG_ORIGIN is {self.origin!r}: one of them is wrong.")

    def _active_since(self, number: int) -> datetime:
        try:
            return datetime.fromisoformat(self._file(number, "active").read_text("ascii").strip())
        except ValueError:
            raise BadMemory(f"{self._file(number, 'active')} holds no time.") from None

    def _private(self, number: int) -> Ed25519PrivateKey:
        if number not in self._keys:
            self._keys[number] = _read_key(self._key_path(number))
        return self._keys[number]

    def _key_path(self, number: int) -> Path:
        return self._secrets / ("log.key" if number == 1 else f"log-{number}.key")

    def _file(self, number: int, kind: str) -> Path:
        return self._public / f"{number:03d}.{kind}"


def _second(path: Path) -> MLDSA44PrivateKey:
    if not path.exists():
        write_once(path, _pem(MLDSA44PrivateKey.generate()))
    key = _load(path)
    if not isinstance(key, MLDSA44PrivateKey):
        raise BadLogKey(f"{path} is not an ML-DSA-44 key.")
    return key


def _read_key(path: Path) -> Ed25519PrivateKey:
    key = _load(path)
    if not isinstance(key, Ed25519PrivateKey):
        raise BadLogKey(f"{path} is not an Ed25519 key.")
    return key


def _load(path: Path) -> PrivateKeyTypes:
    if not path.exists():
        raise BadLogKey(f"{path} is gone, but heads were signed with it: restore it from its backup.")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise BadLogKey(f"{path} can be read by others (mode {mode:03o}): run chmod 600 on it.")
    try:
        return serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadLogKey(f"{path} is not a private key in PEM form.") from None


def load_or_make(path: Path) -> Ed25519PrivateKey:
    """The Ed25519 key in a file of its owner's (PEM, mode 0600), made when there is none. Raises BadLogKey."""
    if not path.exists():
        _write_key(path)
    return _read_key(path)


def _write_key(path: Path) -> None:
    write_once(path, _pem(Ed25519PrivateKey.generate()))


def _pem(key: Ed25519PrivateKey | MLDSA44PrivateKey) -> bytes:
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
