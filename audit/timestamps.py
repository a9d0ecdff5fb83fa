"""Time stamps (RFC 3161): a time-stamp authority states that a signed head existed at an instant.

The authority gets a hash and a nonce. Its answer is kept only if it is over our bytes and leads to the configured root
certificate. Anybody can check it: `openssl ts -verify -data checkpoint -in checkpoint.tsr -CAfile root.pem`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
from cryptography import x509
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from agentstate.errors import Broken
from audit import globallog
from audit.globallog import SignedHead
from audit.ledger import run
from audit.verify import Fault, read_timestamp

SECONDS = 10.0  # for an answer
LONGEST = 100_000  # bytes of an answer


class NoTimestamp(Broken):
    """The time-stamp authority gave no usable time stamp."""

    code = "no_timestamp"
    status = 503


@dataclass(frozen=True, slots=True)
class Timestamp:
    """The authority's answer (`token`, DER) over the bytes `checkpoint`: a signed head of `size` leaves with the
    cosignatures that it had. `at`: the authority's time.
    """

    size: int
    at: datetime
    checkpoint: bytes
    token: bytes


def stamp(tenant: UUID) -> Timestamp | None:
    """Have the newest signed head stamped; None when there is no head, or no authority is configured.

    Raises NoTimestamp.
    """
    head = globallog.signed_head(tenant)
    return None if head is None else stamp_head(head)


def over(head: SignedHead, seconds: float = SECONDS) -> Timestamp | None:
    """A time stamp over exactly this head with these cosignatures: one that is stored, else a new one; None when no
    authority is configured. Raises NoTimestamp when it has not answered within `seconds`.
    """
    rows = run(
        "SELECT at, token FROM audit_timestamp WHERE tenant = %(tenant)s AND size = %(size)s AND note = %(note)s"
        " ORDER BY at LIMIT 1",
        {"tenant": head.tenant, "size": head.size, "note": head.checkpoint},
    )
    if rows:
        return Timestamp(head.size, rows[0][0], head.checkpoint, bytes(rows[0][1]))
    return stamp_head(head, seconds)


def stamp_head(head: SignedHead, seconds: float = SECONDS) -> Timestamp | None:
    """Have this head stamped, now; None when no authority is configured. Raises NoTimestamp."""
    if not settings.TIMESTAMP_URL:
        return None
    token = request(head.checkpoint, seconds)
    return Timestamp(head.size, keep(head.tenant, head.size, head.checkpoint, token), head.checkpoint, token)


def keep(tenant: UUID, size: int, stamped: bytes, token: bytes) -> datetime:
    """Store an answer over the bytes `stamped`, a head of `size`, or older stamps (below 0); the authority's time."""
    at = decode_timestamp_response(token).tst_info.gen_time
    run(
        "INSERT INTO audit_timestamp (tenant, size, at, note, token, until)"
        " VALUES (%(tenant)s, %(size)s, %(at)s, %(note)s, %(token)s, %(until)s) ON CONFLICT DO NOTHING",
        {"tenant": tenant, "size": size, "at": at, "note": stamped, "token": token, "until": until_of(token)},
    )
    return at


def until_of(token: bytes) -> datetime | None:
    """When the first of the certificates in an answer ends; None if it holds none. Raises NoTimestamp."""
    try:
        end = read_timestamp(token)[2]
    except Fault as error:
        raise NoTimestamp(f"{error}.") from None
    return datetime.strptime(end, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC) if end else None


def latest(tenant: UUID, covering: int = 0) -> Timestamp | None:
    """The newest time stamp over a head of at least so many leaves."""
    rows = run(
        "SELECT size, at, note, token FROM audit_timestamp WHERE tenant = %(tenant)s AND size >= %(covering)s"
        " ORDER BY size DESC, at DESC LIMIT 1",
        {"tenant": tenant, "covering": covering},
    )
    if not rows:
        return None
    size, at, checkpoint, token = rows[0]
    return Timestamp(size, at, bytes(checkpoint), bytes(token))


def request(data: bytes, seconds: float = SECONDS) -> bytes:
    """The configured authority's verified answer over `data`. Raises NoTimestamp."""
    question = TimestampRequestBuilder().hash_algorithm(HashAlgorithm.SHA256).data(data)
    asked = question.nonce(nonce=True).cert_request(cert_request=True).build()
    try:
        answer = httpx.post(
            settings.TIMESTAMP_URL,
            content=asked.as_bytes(),
            headers={"Content-Type": "application/timestamp-query"},
            timeout=seconds,
        )
        answer.raise_for_status()
        if len(answer.content) > LONGEST:
            raise NoTimestamp(f"Got {len(answer.content)} bytes.")
        response = decode_timestamp_response(answer.content)
        verifier = VerifierBuilder.from_request(asked).add_root_certificate(_root()).build()
        verifier.verify_message(response, data)
    except (httpx.HTTPError, httpx.InvalidURL, VerificationError, ValueError) as error:
        raise NoTimestamp(f"{error}".rstrip(".") + ".") from None
    return answer.content


def _root() -> x509.Certificate:
    if not settings.TIMESTAMP_ROOT:
        raise ImproperlyConfigured("TIMESTAMP_URL needs TIMESTAMP_ROOT, the authority's root certificate")
    try:
        return x509.load_pem_x509_certificate(Path(settings.TIMESTAMP_ROOT).read_bytes())
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(f"TIMESTAMP_ROOT: {error}") from None
