"""Which logs have an entry under which data subject's key: a small index, so that erasing one person reads no ledger.

A row is written in the statement that appends the first entry of a key to a log. Each process remembers which pairs it
has seen committed, so later appends carry nothing more. `manage.py rebuild --check` compares it with the ledger.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from uuid import UUID

from django.db import connection, transaction

from audit.reading import run

MOST_REMEMBERED = 20_000  # pairs

ROWS = """
keyed AS (INSERT INTO audit_keyedlog (kid, log)
  SELECT new.kid, head.log FROM head, unnest(%(keyed_kids)s::uuid[]) AS new(kid) ON CONFLICT DO NOTHING)"""

_seen: OrderedDict[tuple[UUID, UUID], None] = OrderedDict()
_lock = threading.Lock()


def unseen(log: UUID, kids: Iterable[UUID]) -> list[UUID]:
    """The keys that are not known to have a row with `log` yet, each once and sorted."""
    return sorted({kid for kid in kids if (log, kid) not in _seen})


def written(log: UUID, kids: Iterable[UUID]) -> None:
    """Their rows are written: remembered once they are committed, for what is rolled back must be written again."""
    pairs = [(log, kid) for kid in kids]
    if connection.in_atomic_block:
        transaction.on_commit(lambda: _remember(pairs))
    else:
        _remember(pairs)


def _remember(pairs: Iterable[tuple[UUID, UUID]]) -> None:
    with _lock:
        for pair in pairs:
            _seen[pair] = None
        while len(_seen) > MOST_REMEMBERED:
            _seen.popitem(last=False)


def forget_all() -> None:
    """Write every pair again when its turn comes; those that are there stay as they are."""
    with _lock:
        _seen.clear()


def logs_of(kid: UUID) -> list[UUID]:
    """Every log with an entry under the key, sorted."""
    return [log for (log,) in run("SELECT log FROM audit_keyedlog WHERE kid = %(kid)s ORDER BY log", {"kid": kid})]


# `escape` leaves ASCII as it is, and never fails, whatever somebody may have written there.
_MISSING = """
SELECT DISTINCT substring(encode(envelope, 'escape') FROM '"kid":"([0-9a-f-]{36})"')::uuid, log FROM audit_entry
  EXCEPT SELECT kid, log FROM audit_keyedlog"""
_SURPLUS = """
SELECT kid, log FROM audit_keyedlog
  EXCEPT SELECT substring(encode(envelope, 'escape') FROM '"kid":"([0-9a-f-]{36})"')::uuid, log FROM audit_entry"""
_FILL = """
INSERT INTO audit_keyedlog (kid, log) SELECT * FROM unnest(%(kids)s::uuid[], %(logs)s::uuid[])
  ON CONFLICT DO NOTHING RETURNING 1"""


def differences() -> tuple[list[tuple[UUID, UUID]], list[tuple[UUID, UUID]]]:
    """The pairs (key, log) that the ledger has and the index has not, and the other way about. Reads all envelopes."""
    missing, surplus = run(_MISSING, {}), run(_SURPLUS, {})
    return [(kid, log) for kid, log in missing], [(kid, log) for kid, log in surplus]


def fill() -> None:
    """Write the pairs that are missing. One too many does no harm: erasing finds nothing there."""
    missing = [pair for pair in differences()[0] if pair[0] is not None]
    run(_FILL, {"kids": [kid for kid, _ in missing], "logs": [log for _, log in missing]})
