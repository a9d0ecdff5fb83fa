"""Connections to the database that last from task to task, until they are old or the server has hung up.

A new connection costs a worker more than all that it is opened for: the server starts a process, and that process
learns the tables and plans every statement anew. So none is closed because a task has ended (`CELERY_DB_REUSE_MAX`),
and before a task begins each is looked at without a round trip.
"""

from __future__ import annotations

import select

import psycopg
from django.db import connections


def let_go_of_the_broken() -> None:
    """Close this thread's connections that are older than CONN_MAX_AGE, that failed, or that the server has closed.
    The next statement opens a new one.
    """
    for held in connections.all(initialized_only=True):
        if held.in_atomic_block:
            continue
        if held.connection is not None and not _stands(held.connection):
            held.close()
        held.close_if_unusable_or_obsolete()


def _stands(raw: psycopg.Connection[object]) -> bool:
    """Nobody has asked anything of it, so whatever can be read from it is the server's farewell."""
    if raw.closed:
        return False
    looking = select.poll()
    looking.register(raw.fileno(), select.POLLIN)
    return not looking.poll(0)
