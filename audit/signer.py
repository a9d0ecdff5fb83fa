"""Asks the signer's process (audit.signing), over its unix socket.

A connection for each question: it takes microseconds, and nothing is left to break when the signer is restarted.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
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
from audit.signing.messages import (
    Admitted,
    Answer,
    Attested,
    Behind,
    Growth,
    Known,
    Refusal,
    Reported,
    Request,
    Signed,
    Unproved,
)

__all__ = [
    "AlreadySigning",
    "BadLogKey",
    "BadMemory",
    "Behind",
    "Growth",
    "HeadRefused",
    "Known",
    "NotSigned",
    "Reported",
    "SignerDown",
    "Unproved",
]

SECONDS = 10.0  # for an answer
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


def admit(size: int, root: bytes, heads: Sequence[Growth]) -> list[Unproved]:
    """Ask whether these heads of logs may stand in the global log after its leaves, `size` with this root; those that
    may not, and from where to prove them. Raises HeadRefused when that log is older than what was signed.
    """
    answer = ask(messages.Admit(size, root, list(heads)))
    assert isinstance(answer, Admitted)
    return answer.unproved


def sign_global(
    size: int, root: bytes, old: int, frontier: bytes, leaves: Sequence[bytes]
) -> bytes | Behind | list[Unproved]:
    """The signed head of the global log, which had `old` leaves and this frontier before `leaves`; or where the signer
    is, or the heads among the leaves that it did not admit.

    Raises HeadRefused when the log does not continue what was signed before.
    """
    answer = ask(messages.SignGlobal(size, root, old, frontier, list(leaves)))
    if isinstance(answer, Signed):
        return answer.note
    assert isinstance(answer, Behind | Admitted)
    return answer if isinstance(answer, Behind) else answer.unproved


def report(log: UUID, size: int, root: bytes) -> None:
    """Tell the signer, past the database, that a decision was committed as an entry of this head. It neither waits nor
    fails: what the signer cannot take at once is not reported.
    """
    line = msgspec.json.encode(messages.Report(log, size, root)) + b"\n"
    with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)
        connection.connect(str(settings.SIGNER_SOCKET))
        connection.sendall(line)


def confirm(log: UUID, old: int, frontier: bytes, nodes: bytes) -> None:
    """Show that the newest signed head of a log continues a reported one of `old` entries. Raises HeadRefused."""
    ask(messages.Confirm(log, old, frontier, nodes))


def dismiss(log: UUID, size: int) -> None:
    """Let the signer wait no more for a reported head. Raises NotSigned when it does not wait."""
    ask(messages.Dismiss(log, size))


def sign_head(
    body: bytes, index: int, proof: Sequence[bytes], head: bytes, growth: Sequence[bytes] = ()
) -> bytes | Behind:
    """The signed head of one log that is leaf `index`, `body`, of the signed global `head` (a note); or the size of the
    log's newest signed head, which `growth` has to prove to continue this one. Raises HeadRefused.
    """
    answer = ask(messages.SignHead(body, index, list(proof), head, list(growth)))
    assert isinstance(answer, Signed | Behind)
    return answer.note if isinstance(answer, Signed) else answer


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
