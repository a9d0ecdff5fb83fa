"""Time stamps end with their authority's certificate: before that, a newer stamp is put over the older ones.

One stamp renews many: it is over a text that names the SHA-256 of each (after RFC 4998, by a list in place of a tree).
Whoever keeps an old stamp fetches the newer ones at /log/restamps/<SHA-256 of it>, and `verify.py --restamps` follows
them from one to the next.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from datetime import timedelta
from uuid import UUID

from django.conf import settings

from agentstate.clock import now
from audit import timestamps
from audit.ledger import run
from audit.tlog import canonical
from audit.verify import MAX_RESTAMPS, RESTAMP_TITLE, RESTAMPS_FORMAT, Fault, read_timestamp

MOST = 1_000  # stamps that one renews
log = logging.getLogger("audit.restamping")

_DUE = """
SELECT encode(sha256(t.token), 'hex'), t.token FROM audit_timestamp t
  WHERE t.tenant = %(tenant)s AND (t.until IS NULL OR t.until BETWEEN now() AND %(soon)s) AND NOT EXISTS (
    SELECT 1 FROM audit_timestamp newer WHERE newer.tenant = t.tenant AND newer.at >= t.at
      AND newer.size < 0 AND position(convert_to(encode(sha256(t.token), 'hex'), 'UTF8') IN newer.note) > 0)
  ORDER BY t.at"""
_OVER = """
SELECT note, token FROM audit_timestamp WHERE tenant = %(tenant)s AND size < 0
  AND position(%(digest)s IN note) > 0 ORDER BY at DESC LIMIT 1"""


def restamp(tenant: UUID) -> int:
    """Have the stamps renewed of which the authority's certificate ends within `RESTAMP_DAYS`. Gives how many were.

    Nothing where no authority is configured. Raises timestamps.NoTimestamp.
    """
    if not settings.TIMESTAMP_URL:
        return 0
    due = _due(tenant)
    for at in range(0, len(due), MOST):
        some = due[at : at + MOST]
        text = "".join(f"{line}\n" for line in (RESTAMP_TITLE, settings.LOG_ORIGIN, *(digest for digest, _ in some)))
        token = timestamps.request(text.encode())
        until = timestamps.until_of(token)
        if until is None or until.strftime("%Y%m%d%H%M%S") <= min(end for _, end in some):
            raise timestamps.NoTimestamp("Its certificate ends no later than that of the stamps to be renewed.")
        timestamps.keep(tenant, -1 - at // MOST, text.encode(), token)
    return len(due)


def _due(tenant: UUID) -> list[tuple[str, str]]:
    """(SHA-256, end) of the stamps that end soon and that no other renews. One that has ended already is too late."""
    soon, found = now() + timedelta(days=settings.RESTAMP_DAYS), []
    for digest, token in run(_DUE, {"tenant": tenant, "soon": soon}):
        try:
            end = read_timestamp(bytes(token))[2]
        except Fault:
            log.error("the time stamp %s cannot be read: it was altered", digest)
            continue
        if f"{now():%Y%m%d%H%M%S}" < end < f"{soon:%Y%m%d%H%M%S}":
            found.append((digest, end))
    return found


def renewals(tenant: UUID, digest: str) -> bytes | None:
    """The stamps over the one with this SHA-256 (hex), each over the one before; None where there is none."""
    found: list[dict[str, str]] = []
    while len(found) < MAX_RESTAMPS:
        rows = run(_OVER, {"tenant": tenant, "digest": digest.encode()})
        if not rows:
            break
        document, token = (bytes(each) for each in rows[0])
        found.append({"document": document.decode(), "token": base64.b64encode(token).decode()})
        digest = hashlib.sha256(token).hexdigest()
    return canonical.dumps({"format": RESTAMPS_FORMAT, "restamps": found}) if found else None
