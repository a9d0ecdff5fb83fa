"""Writing envelopes: the canonical bytes of `audit.reading.Envelope` and `Bound`, put together instead of encoded.

Both hold the same members but for the two that depend on the ciphertext, and the entries of one append share most of
them. So what is shared is written once, and an envelope is its bound bytes with `ct` and `kc` put in where they sort.
tests/core/test_envelopes.py holds them to what the encoder writes.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from audit.reading import ENVELOPE_VERSION

_encode = msgspec.json.Encoder().encode


class Shared:
    """What the entries of one append have in common."""

    __slots__ = ("_actor", "_epoch", "_log", "_to_ct", "_to_kc")

    def __init__(self, *, actor: str, at: str, command: str, epoch: int, log: str) -> None:
        self._actor = f'{{"actor":{_quoted(actor)},"at":{_encode(at).decode()},"cmd":"{command}"'
        self._epoch = f',"epoch":{epoch}'
        self._log = f'"log":"{log}","pc":"'
        self._to_ct = len(self._actor.encode())
        self._to_kc = self._to_ct + len(self._epoch)

    def bound(self, *, kid: str, kind: str, pc: bytes, ref: int, salt: bytes, seq: int) -> bytes:
        """What the ciphertext of an entry is authenticated with."""
        return (
            f'{self._actor}{self._epoch},"kid":"{kid}","kind":{_quoted(kind)},{self._log}{pc.hex()}","ref":{ref},'
            f'"salt":"{salt.hex()}","seq":{seq},"v":{ENVELOPE_VERSION}}}'
        ).encode()

    def envelope(self, bound: bytes, *, ct: bytes, kc: bytes) -> bytes:
        """The envelope of the same entry."""
        before, between, after = bound[: self._to_ct], bound[self._to_ct : self._to_kc], bound[self._to_kc :]
        return b'%b,"ct":"%b"%b,"kc":"%b"%b' % (before, ct.hex().encode(), between, kc.hex().encode(), after)


@lru_cache(maxsize=256)
def _quoted(text: str) -> str:
    """As a JSON string: of kinds and actors, the same again and again."""
    return _encode(text).decode()
