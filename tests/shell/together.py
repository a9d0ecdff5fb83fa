"""Several things at the same moment: real threads, each with a database connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

Result = TypeVar("Result")


def at_once(*jobs: Callable[[], Result]) -> list[Result]:
    """The results of `jobs`, all let go at the same moment. What one raises is raised here."""
    barrier = threading.Barrier(len(jobs))

    def run(job: Callable[[], Result]) -> Result:
        try:
            barrier.wait(30)
            return job()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(jobs)) as threads:
        return list(threads.map(run, jobs, timeout=30))
