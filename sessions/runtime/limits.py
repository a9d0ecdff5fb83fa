"""Limits: how many calls of a tool run at once, and how many sessions of an agent or a team are worked on at once,
over all workers.

A limit is so many numbered places in `agent_sessions_slot`; a place has a lease, so what a dead worker held is free
again. Without a limit nothing is read or written. Whoever finds no place holds no thread: a session waits for its turn
as it was, a call's session is looked at again when a place is given back.
"""

from __future__ import annotations

import threading
import time
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from agentstate.people.models import Team
from audit import ledger
from sessions.agents import registry as agents
from sessions.runtime.presence import presence
from sessions.tools import registry as tools

FULL_SECONDS = 0.25  # for so long a process does not look again for a place where there was none
LOOK_AGAIN = 5.0  # seconds after which a call without a place is looked at again, should nobody have told
TRIES = 3  # two may reach for the same free place


class Full(NamedTuple):
    """Whose limits are reached, as far as this process knows."""

    teams: tuple[UUID, ...]
    agents: tuple[str, ...]


class _Places:
    """The places that this process holds, and what it lately found full."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[tuple[UUID, str], list[tuple[str, int]]] = {}
        self._full: dict[str, tuple[float, UUID | str]] = {}

    def put(self, session: UUID, call: str, scope: str, number: int) -> None:
        with self._lock:
            self._held.setdefault((session, call), []).append((scope, number))

    def pop(self, session: UUID, call: str) -> list[tuple[str, int]]:
        with self._lock:
            return self._held.pop((session, call), [])

    def holds(self, session: UUID, call: str) -> bool:
        with self._lock:
            return (session, call) in self._held

    def all(self) -> list[tuple[str, int]]:
        with self._lock:
            return [place for places in self._held.values() for place in places]

    def found_full(self, scope: str, whose: UUID | str) -> None:
        with self._lock:
            self._full[scope] = (time.monotonic() + FULL_SECONDS, whose)

    def has_room(self, scope: str) -> None:
        with self._lock:
            self._full.pop(scope, None)

    def full(self) -> Full:
        now = time.monotonic()
        with self._lock:
            if not self._full:
                return Full((), ())
            self._full = {scope: found for scope, found in self._full.items() if found[0] > now}
            whose = [each for _, each in self._full.values()]
        return Full(
            tuple(each for each in whose if isinstance(each, UUID)),
            tuple(each for each in whose if isinstance(each, str)),
        )


_places = _Places()


def full() -> Full:
    """The teams and agents that are not to be looked at now."""
    return _places.full()


def limit_of_tool(name: str) -> int:
    """How many calls of a tool may run at once; 0: any number."""
    tool = tools.find(name)
    return int(settings.LIMITS.get(f"tool:{name}", tool.limit if tool is not None else 0))


def enter(session: UUID, team: UUID, agent: str) -> bool:
    """Take the places that a session needs to be worked on. False, with none taken, where one is missing."""
    scopes = list[tuple[str, int, UUID | str]]()
    if limit := _limit_of_agent(agent):
        scopes.append((f"agent:{agent}", limit, agent))
    if settings.LIMITS and (limit := settings.LIMITS.get(scope := f"team:{_slug(team)}", 0)):
        scopes.append((scope, limit, team))
    for scope, limit, whose in scopes:
        if not _take(scope, limit, session, ""):
            _places.found_full(scope, whose)
            leave(session)
            return False
    return True


def leave(session: UUID, call: str = "") -> None:
    """Give back the places of a session, or of one call of it, and wake who has waited longest for one."""
    for scope, number in _places.pop(session, call):
        ledger.run(
            "DELETE FROM agent_sessions_slot WHERE scope = %(scope)s AND number = %(number)s"
            " AND session = %(session)s AND call = %(call)s AND holder = %(holder)s",
            {"scope": scope, "number": number, "session": session, "call": call, "holder": presence.number},
        )
        _places.has_room(scope)
        if call:
            _wake(scope)


def enter_call(session: UUID, call: str, tool: str) -> bool:
    """Take the place that a call of a tool needs. The same call keeps the one that it has."""
    limit = limit_of_tool(tool)
    return not limit or _places.holds(session, call) or _take(f"tool:{tool}", limit, session, call)


def renew() -> None:
    """Move on the ends of the places that this process holds."""
    held = _places.all()
    if held:
        ledger.run(
            "UPDATE agent_sessions_slot s SET until = clock_timestamp() + make_interval(secs => %(seconds)s)"
            " FROM unnest(%(scopes)s::text[], %(numbers)s::int[]) AS mine(scope, number)"
            " WHERE s.scope = mine.scope AND s.number = mine.number AND s.holder = %(holder)s",
            {
                "seconds": settings.LEASE_SECONDS,
                "scopes": [scope for scope, _ in held],
                "numbers": [number for _, number in held],
                "holder": presence.number,
            },
        )


_TAKE = """WITH own AS (SELECT number FROM agent_sessions_slot
   WHERE scope = %(scope)s AND session = %(session)s AND call = %(call)s LIMIT 1),
 free AS (SELECT n FROM generate_series(1, %(limit)s) n WHERE NOT EXISTS (SELECT 1 FROM agent_sessions_slot
   WHERE scope = %(scope)s AND number = n AND until > clock_timestamp()) ORDER BY random() LIMIT 1),
 chosen AS (SELECT coalesce((SELECT number FROM own), (SELECT n FROM free)) AS number)
 INSERT INTO agent_sessions_slot AS s (scope, number, session, call, until, holder)
 SELECT %(scope)s, number, %(session)s, %(call)s,
  clock_timestamp() + make_interval(secs => %(seconds)s), %(holder)s FROM chosen WHERE number IS NOT NULL
 ON CONFLICT (scope, number) DO UPDATE SET session = EXCLUDED.session, call = EXCLUDED.call, until = EXCLUDED.until,
  holder = EXCLUDED.holder
  WHERE s.until <= clock_timestamp() OR (s.session = EXCLUDED.session AND s.call = EXCLUDED.call)
 RETURNING number"""


def _take(scope: str, limit: int, session: UUID, call: str) -> bool:
    wanted = {"scope": scope, "limit": limit, "session": session, "call": call}
    for _ in range(TRIES):
        rows = ledger.run(_TAKE, {**wanted, "seconds": settings.LEASE_SECONDS, "holder": presence.shown()})
        if rows:
            _places.put(session, call, scope, rows[0][0])
            return True
    return False


def _wake(scope: str) -> None:
    """The session that has waited longest for a place of this scope is due now."""
    ledger.run(
        "UPDATE agent_sessions_agentsession SET ready_at = now() WHERE id = (SELECT id FROM agent_sessions_agentsession"
        " WHERE stalled = %(why)s AND ready_at > now() ORDER BY stalled_at LIMIT 1 FOR UPDATE SKIP LOCKED)",
        {"why": f"limit {scope}"},
    )


def _limit_of_agent(name: str) -> int:
    own = agents.find(name).limit if name in agents.names() else 0
    return int(settings.LIMITS.get(f"agent:{name}", own))


@lru_cache(maxsize=1024)
def _slug(team: UUID) -> str:
    return Team.objects.values_list("slug", flat=True).get(pk=team)
