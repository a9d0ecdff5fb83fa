"""Asks the signer's process (audit.signing), over its unix socket.

A connection for each question: it takes microseconds, and nothing is left to break when the signer is restarted.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

import msgspec
from django.conf import settings

from agentstate.errors import Broken
from audit.signing import messages
from audit.signing.errors import (
    BY_CODE,
    AlreadySigning,
    BadLogKey,
    BadMemory,
    HeadRefused,
    NotSigned,
    SignerDown,
)
from audit.signing.messages import Answer, Attested, Behind, Known, Refusal, Request, Signed

__all__ = ["AlreadySigning", "BadLogKey", "BadMemory", "HeadRefused", "Known", "NotSigned", "SignerDown"]

SECONDS = 10.0  # for an answer
TRIES = 10
_answers = msgspec.json.Decoder(Answer)


def ask(request: Request, path: Path | None = None) -> Answer:
    """The signer's answer. Raises SignerDown, or what it refuses with (HeadRefused, NotSigned, ...)."""
    try:
        answer = _answers.decode(_talk(path or Path(settings.SIGNER_SOCKET), msgspec.json.encode(request) + b"\n"))
    except OSError as error:
        raise SignerDown(f"{error.strerror or error}.") from None
    except msgspec.MsgspecError as error:
        raise Broken(f"the signer's answer cannot be read: {error}") from None
    if isinstance(answer, Refusal):
        raise BY_CODE.get(answer.code, Broken)(answer.detail)
    return answer


def _talk(path: Path, line: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SECONDS)
        connection.connect(str(path))
        connection.sendall(line)
        with connection.makefile("rb") as answers:
            answer = answers.readline()
    if not answer.endswith(b"\n"):
        raise ConnectionError("it went away before it answered")
    return answer


def known() -> Known:
    """Keys and how they follow each other, the size of the last head it signed, its downtimes."""
    answer = ask(messages.Status())
    assert isinstance(answer, Known)
    return answer


def vkey() -> str:
    """The public key that signs now, as verifiers take it."""
    return known().vkey


def sign_global(size: int, root: bytes, last: int, prove: Callable[[int, int], list[bytes]]) -> bytes:
    """The signed head of the global log. `last`: of which size a head was signed before, as far as is known here;
    `prove(old, size)` gives the consistency proof from the size that it was.

    Raises HeadRefused when the log does not continue what was signed before.
    """
    for _ in range(TRIES):
        proof = prove(last, size) if last <= size else []
        answer = ask(messages.SignGlobal(size, root, last, proof))
        if isinstance(answer, Signed):
            return answer.note
        assert isinstance(answer, Behind)
        last = answer.size
    raise SignerDown("Others were signed before us at every try.")


def sign_head(log: UUID, size: int, root: bytes, index: int, proof: Sequence[bytes], head: bytes) -> bytes:
    """The signed head of one log that is leaf `index` of the signed global `head` (a note). Raises HeadRefused."""
    return _signed(messages.SignHead(log, size, root, index, list(proof), head))


def sign_text(text: str) -> bytes:
    """A note over a text that is no head and introduces no key. Raises NotSigned."""
    return _signed(messages.SignText(text))


def sign_receipt(head: bytes) -> tuple[str, bytes]:
    """The key (a vkey) and its signature (64 bytes) under the COSE receipts of all leaves of the signed global `head`.

    Raises NotSigned when the head is not by this log.
    """
    answer = ask(messages.SignReceipt(head))
    assert isinstance(answer, Attested)
    return answer.vkey, answer.signature


def announce() -> bytes:
    """The note that introduces the next key, made now or before."""
    return _signed(messages.Announce())


def activate(index: int, proof: Sequence[bytes], head: bytes) -> Known:
    """Let the announced key sign: its note is leaf `index` of the signed global `head`. Raises NotSigned."""
    answer = ask(messages.Activate(index, list(proof), head))
    assert isinstance(answer, Known)
    return answer


def _signed(request: Request) -> bytes:
    answer = ask(request)
    assert isinstance(answer, Signed)
    return answer.note
