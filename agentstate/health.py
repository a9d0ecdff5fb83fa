"""`GET /healthz`: 200 only when database, Valkey and a worker answer and no disk is full. `GET /healthz/ledger`:
200 only when what is written is also sequenced and signed.

Two addresses, because a load balancer must not take away what still serves: without sequencer and signer sessions go
on. What is told is no more than the public log tells.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, JsonResponse

from agentstate.celery import app
from agentstate.database_roles import database_roles
from agentstate.people.queries import the_tenant
from audit import condition
from audit.scrub import schedule
from sessions.auditing import alterations
from sessions.automation.alerts import disk_space

WORKER_TIMEOUT = 1.0  # seconds


def healthz(request: HttpRequest) -> JsonResponse:
    """What answers and what does not, by name, and the disks of which less than 5 % is free; 503 when anything does not
    answer, or a disk is full.
    """
    parts = {name: _answers(check) for name, check in _CHECKS.items()}
    well = all(parts.values())
    low = [str(each) for each in disk_space.low_disks()]
    altered = _altered() if parts["database"] else None
    return JsonResponse({"ok": well, **parts, "disks_low": low, "altered": altered}, status=200 if well else 503)


def ledger(request: HttpRequest) -> JsonResponse:
    """Sequencer, signer, the age of the newest signed head, the heads that wait, and each witness's newest cosignature;
    ages in seconds. `warnings` say in plain words what the database roles do not refuse here. 503 when heads are not
    signed as they should be, or that cannot be found out. A silent witness alone is no 503: it holds up nothing.
    """
    try:
        found, seen = _ledger()
    except Exception:
        found, seen = {"ok": False}, {}
    found["warnings"] = database_roles().warnings
    return JsonResponse({**found, "witnesses": seen}, status=200 if found["ok"] else 503)


def _ledger() -> tuple[dict[str, Any], dict[str, float | None]]:
    tenant = the_tenant().pk
    now, signer = condition.read(tenant), condition.signer_seen()
    found = {
        "ok": now.well and not signer.trouble,
        "sequencer": now.sequencing,
        "signer": signer.answers,
        "trouble": now.told.code if now.told else signer.trouble,
        "signed_age": now.signed_age,
        "waiting": now.waiting,
        "lag": now.lag,
    }
    ages = {
        each.name: None if each.at is None else (now.read_at - each.at).total_seconds()
        for each in condition.witnesses_seen(tenant)
    }
    altered, scrubbed = alterations.open_count(tenant), schedule.standing(tenant)
    found |= {
        "ok": found["ok"] and not altered,
        "altered": altered,
        "heads_compared_age": _age(now.read_at, scrubbed.heads_at),
        "entries_read_age": _age(now.read_at, scrubbed.pass_at),
    }
    return found, ages


def _age(now: datetime, at: datetime | None) -> float | None:
    return None if at is None else max(0.0, (now - at).total_seconds())


def _answers(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:
        return False


def _altered() -> int | None:
    """How many places were altered in the database that nobody has acknowledged. It takes nothing away: all serves."""
    try:
        return alterations.open_count(the_tenant().pk)
    except Exception:
        return None


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone())


def _valkey() -> bool:
    cache.set("healthz", "1", 5)
    return cache.get("healthz") == "1"


def _worker() -> bool:
    # A connection of its own: where no worker answered it still waits, and its next user would read that answer.
    # The pool loses such a connection for good, and waits forever once it has none.
    with app.connection_for_write() as own:
        return bool(app.control.ping(timeout=WORKER_TIMEOUT, limit=1, connection=own))


def _disk() -> bool:
    return not any(each.is_full for each in disk_space.low_disks())


_CHECKS: dict[str, Callable[[], bool]] = {"database": _database, "valkey": _valkey, "worker": _worker, "disk": _disk}
