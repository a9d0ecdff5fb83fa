"""What always recording who reads costs: appends per second of a worker that also reads once in ten appends, with the
reading entered in the access log, against the same where it is not.

The reading itself (a list of entries, opened) is done in both; only the entry is the difference.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from statistics import median

from django.db import connection

from agentstate.people.commands import create_user
from agentstate.people.models import User
from agentstate.people.queries import the_tenant
from audit import ledger
from benchmarks.ground import Ground
from benchmarks.ledger.appends import STEP, Log
from benchmarks.rounds import Cell, Size, Writer, interleaved, paired, speed
from benchmarks.rows import Goal, Row, against
from sessions.core import access, entry_lines
from sessions.models.sessions import AgentSession

READ_EVERY = 10  # appends
READ = 20  # entries
GOAL = Goal(0.9, at_least=True)
WRITERS = (1, 8)


def rows(here: Ground, size: Size, group: str) -> list[Row]:
    """A row for each number of writers."""
    made = []
    for writers in WRITERS:
        speeds = interleaved(cells(here, writers), size)
        recorded, silent = speeds["recorded"], speeds["silent"]
        name = f"appends with a read every {READ_EVERY}, recorded, {writers} at once"
        ratio = paired(recorded, silent)
        made.append(against(group, name, median(recorded), "1/s", median(silent), GOAL, str(size), ratio))
    return made


def cells(here: Ground, writers: int) -> dict[str, Cell]:
    """Appends per second of so many writers, with and without the entries of their reading."""
    people = [_reader(number) for number in range(writers)]
    return {
        "silent": lambda seconds: speed(writers, seconds, _working(here, people, _silent)),
        "recorded": lambda seconds: speed(writers, seconds, _working(here, people, _recorded)),
    }


def _reader(number: int) -> User:
    name = f"bench-reader-{number}"
    found = User.objects.filter(username=name).first()
    return found or create_user(tenant=the_tenant(), username=name, password=None, by=None)


def _working(here: Ground, people: list[User], read: Callable[[User, AgentSession], None]) -> Writer:
    def write(number: int, over: threading.Event, start: threading.Barrier) -> int:
        log, done = Log.fresh(here, f"customer-{number}", len(STEP)), 0
        session = AgentSession.objects.get(pk=log.head.log)
        try:
            log.append()
            read(people[number], session)
            start.wait()
            while not over.is_set():
                log.append()
                done += 1
                if done % READ_EVERY == 0:
                    read(people[number], session)
        finally:
            connection.close()
        return done

    return write


def _silent(user: User, session: AgentSession) -> None:
    list(entry_lines.opened(ledger.read_rows(session.pk, 0, READ)))


def _recorded(user: User, session: AgentSession) -> None:
    _silent(user, session)
    access.note(user, "entries", [access.Seen(session.pk, session.team_id, 0, READ - 1)])
