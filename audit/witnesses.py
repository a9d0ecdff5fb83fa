"""Asks witnesses (C2SP tlog-witness) to cosign the newest head of the global log. Never part of a round.

Each is told what the log looks like from the head that it cosigned last. One that is away costs its time-out and
nothing else; one that knows a larger head than we do says that our database is older than what it saw.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

import httpx
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from audit import globallog
from audit.globallog import SignedHead
from audit.ledger import run
from audit.tlog import cosignature, note
from audit.tlog.note import BadNote, VerifierKey

SECONDS = 5.0  # for an answer
LONGEST = 100_000  # bytes of an answer
log = logging.getLogger("audit.witnesses")


@dataclass(frozen=True, slots=True)
class Witness:
    """Whose cosignatures we collect, and where it answers (without `/add-checkpoint`)."""

    key: VerifierKey
    url: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a witness did: cosigned at `at`, or `why` not. `size`: of the head it cosigned last, if it said so."""

    at: datetime | None
    why: str = ""
    size: int | None = None


def configured() -> list[Witness]:
    """The setting WITNESSES. Raises ImproperlyConfigured."""
    words = settings.WITNESSES
    if len(words) % 2:
        raise ImproperlyConfigured("WITNESSES: want a vkey and a URL for each")
    try:
        return [
            Witness(note.parse_vkey(vkey, cosignature.KINDS), url.rstrip("/"))
            for vkey, url in zip(words[::2], words[1::2], strict=True)
        ]
    except BadNote as error:
        raise ImproperlyConfigured(f"WITNESSES: {error}") from None


def cosigned_head(tenant: UUID, covering: int, seconds: float) -> SignedHead:
    """The newest head of at least `covering` leaves (there is one) that every configured witness cosigned. They are
    asked when there is none; where some still have not, after so many seconds, the newest with what came in for it.
    """
    names = [witness.key.name for witness in configured()]
    found = globallog.cosigned_head(tenant, names) if names else None
    if names and (found is None or found.size < covering):
        collect(tenant, seconds=seconds)
        found = globallog.cosigned_head(tenant, names)
    if found is None or found.size < covering:
        found = globallog.signed_head(tenant)
    assert found is not None
    return found


def collect(tenant: UUID, witnesses: Sequence[Witness] | None = None, seconds: float = SECONDS) -> dict[str, Outcome]:
    """Ask each for a cosignature of the newest signed head, and keep what comes; by the witness's name."""
    asked = configured() if witnesses is None else witnesses
    head = globallog.signed_head(tenant)
    if head is None or not asked:
        return {}
    known = _last_cosigned(tenant)
    outcomes = _ask_all(head, asked, known, seconds)
    behind = {
        name: outcome.size
        for name, outcome in outcomes.items()
        if outcome.size is not None and outcome.size != known.get(name, 0) and outcome.size <= head.size
    }
    outcomes |= _ask_all(head, [witness for witness in asked if witness.key.name in behind], behind, seconds)
    for name, outcome in outcomes.items():
        if outcome.at is None:
            _complain(name, outcome, head)
    return outcomes


def _ask_all(
    head: SignedHead, witnesses: Sequence[Witness], known: Mapping[str, int], seconds: float
) -> dict[str, Outcome]:
    """At once; the database is asked and written by the caller's thread alone."""
    if not witnesses:
        return {}
    bodies = [_request(head, known.get(witness.key.name, 0)) for witness in witnesses]
    with ThreadPoolExecutor(len(witnesses)) as pool:
        answers = list(pool.map(partial(_post, seconds), [witness.url for witness in witnesses], bodies))
    return {witness.key.name: _taken(head, witness, answer) for witness, answer in zip(witnesses, answers, strict=True)}


def _request(head: SignedHead, old: int) -> bytes:
    proof = globallog.consistency(head.tenant, old, head.size)
    lines = [f"old {old}", *(base64.b64encode(value).decode() for value in proof)]
    return ("\n".join(lines) + "\n\n").encode() + head.note


def _post(seconds: float, url: str, body: bytes) -> httpx.Response | str:
    try:
        return httpx.post(f"{url}/add-checkpoint", content=body, timeout=seconds)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"{type(error).__name__}: {error}"


def _taken(head: SignedHead, witness: Witness, answer: httpx.Response | str) -> Outcome:
    if isinstance(answer, str):
        return Outcome(None, answer)
    if answer.status_code == httpx.codes.CONFLICT and (text := answer.text[:30].removesuffix("\n")).isdecimal():
        return Outcome(None, f"it cosigned a head of {text} leaves last", int(text))
    if answer.status_code != httpx.codes.OK or len(answer.content) > LONGEST:
        return Outcome(None, f"answered {answer.status_code}: {answer.text[:200].strip()}")
    text = note.parse(head.note).text
    try:
        for line in cosignature.read_lines(answer.content):
            if line.is_by(witness.key):
                at = datetime.fromtimestamp(cosignature.verify(witness.key, line, text), UTC)
                _keep(head, witness.key.name, at, line.line())
                return Outcome(at)
    except (BadNote, OverflowError, OSError) as error:
        return Outcome(None, f"{error}")
    return Outcome(None, "its answer holds no cosignature by its key")


def _keep(head: SignedHead, name: str, at: datetime, line: str) -> None:
    run(
        "INSERT INTO audit_cosignature (tenant, size, name, at, line)"
        " VALUES (%(tenant)s, %(size)s, %(name)s, %(at)s, %(line)s) ON CONFLICT DO NOTHING",
        {"tenant": head.tenant, "size": head.size, "name": name, "at": at, "line": line},
    )


def _last_cosigned(tenant: UUID) -> dict[str, int]:
    rows = run(
        "SELECT name, max(size) FROM audit_cosignature WHERE tenant = %(tenant)s GROUP BY name", {"tenant": tenant}
    )
    return dict(rows)


def _complain(name: str, outcome: Outcome, head: SignedHead) -> None:
    if outcome.size is not None and outcome.size > head.size:
        log.error(
            "witness %s cosigned a head of %d leaves and our log has %d: the database was cut off or restored",
            name,
            outcome.size,
            head.size,
        )
    else:
        log.warning("witness %s: %s", name, outcome.why)
