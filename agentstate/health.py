"""`GET /healthz`: 200 only when database, Valkey and a worker answer."""

from __future__ import annotations

from collections.abc import Callable

from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, JsonResponse

from agentstate.celery import app

WORKER_TIMEOUT = 1.0  # seconds


def healthz(request: HttpRequest) -> JsonResponse:
    """What answers and what does not, by name; 503 when anything does not."""
    parts = {name: _answers(check) for name, check in _CHECKS.items()}
    well = all(parts.values())
    return JsonResponse({"ok": well, **parts}, status=200 if well else 503)


def _answers(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:
        return False


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone())


def _valkey() -> bool:
    cache.set("healthz", "1", 5)
    return cache.get("healthz") == "1"


def _worker() -> bool:
    return bool(app.control.ping(timeout=WORKER_TIMEOUT, limit=1))


_CHECKS: dict[str, Callable[[], bool]] = {"database": _database, "valkey": _valkey, "worker": _worker}
