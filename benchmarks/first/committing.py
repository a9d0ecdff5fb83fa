"""The instant at which a command of this thread has committed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction


@contextmanager
def committing() -> Iterator[list[int]]:
    """Gathers the instants, in nanoseconds, right after each COMMIT of this thread and before anything that follows it.

    Commands begin their own transaction and allow none around it, so the connection itself is watched.
    """
    connection: Any = transaction.get_connection()
    follows = connection.run_and_clear_commit_hooks
    instants: list[int] = []

    def told() -> None:
        instants.append(time.monotonic_ns())
        follows()

    connection.run_and_clear_commit_hooks = told
    try:
        yield instants
    finally:
        del connection.run_and_clear_commit_hooks
