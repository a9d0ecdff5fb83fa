"""Grants, where they touch the world: their end by the database's clock, and those that hold beyond one session.

The end is judged in the statement that lets a call through by a grant or begins it. A process whose clock is late
commits nothing on a grant that has ended: it decides again, and asks a person as soon as its own clock says so too.

A grant for a customer or an agent is an entry of the session in which it was given, and a row. The row holds how often
it was used and whether somebody took it back; the statement that lets a call through by it locks the row, looks at
both, and counts. So however many sessions use it at once, it lets through as often as was granted, and nothing from
the instant at which it was taken back. The row's words are under the key of the customer of whose request it came, and
go with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from agentstate.engine import events as ev
from agentstate.engine.policy import Policy
from agentstate.engine.policy.granted import PREFIX, Grant
from agentstate.engine.state.session import SessionState
from audit import keys, ledger
from sessions.core.projections import Place
from sessions.models.sessions import StandingGrant

PURPOSE = "agent_sessions/grant"
MOST = 50  # of the newest that hold in one session
_json = msgspec.json.Encoder(decimal_format="number")

# A row of a grant that holds, locked, with so many uses left.
_HOLDS = """EXISTS (SELECT 1 FROM agent_sessions_standinggrant WHERE id = %(w_id{n})s AND revoked_at IS NULL
 AND until > clock_timestamp() AND used + %(w_times{n})s::int8 <= uses FOR UPDATE)"""
_COUNT = """UPDATE agent_sessions_standinggrant SET used = used + %(w_times{n})s::int8
 WHERE id = %(w_id{n})s AND EXISTS (SELECT 1 FROM head)"""
_GIVE = """INSERT INTO agent_sessions_standinggrant
 (id, tenant_id, team_id, scope, agent, kid, tool, given_in, by, at, until, uses, used, revoked_by, sealed)
 SELECT %(w_id)s, %(w_tenant)s, %(w_team)s, %(w_scope)s, %(w_agent)s, %(w_kid)s, %(w_tool)s, %(w_session)s, %(w_by)s,
  clock_timestamp(), %(w_until)s::timestamptz, %(w_uses)s, 0, '', %(w_sealed)s FROM head"""
_REVOKE = """UPDATE agent_sessions_standinggrant
 SET revoked_at = clock_timestamp(), revoked_by = %(w_by)s, rolled_back = %(w_rolled_back)s
 WHERE id IN (SELECT id FROM agent_sessions_standinggrant WHERE id = ANY(%(w_revoked)s::uuid[]) AND revoked_at IS NULL
  ORDER BY id FOR UPDATE) AND EXISTS (SELECT 1 FROM head)"""
_NOT_REVOKED = """SELECT 1 FROM agent_sessions_standinggrant WHERE id = %(g_grant)s AND revoked_at IS NULL
 FOR UPDATE"""


def rows_for(place: Place, agent: str) -> QuerySet[StandingGrant]:
    """The grants that were given for a session like this one, newest first."""
    found = StandingGrant.objects.filter(tenant=place.tenant, team=place.team)
    ours = found.filter(scope="customer", kid=place.kid) | found.filter(scope="agent", agent=agent)
    return ours.exclude(sealed=b"").order_by("-at", "pk")


def _in_force(rows: QuerySet[StandingGrant]) -> QuerySet[StandingGrant]:
    return rows.filter(revoked_at=None, until__gt=Now())


def still_usable(grants: Sequence[str]) -> tuple[str, ...]:
    """Returns those of these grants that may still let a call through."""
    if not grants:
        return ()
    found = _in_force(StandingGrant.objects.filter(pk__in=grants, used__lt=F("uses")))
    return tuple(map(str, found.order_by("pk").values_list("pk", flat=True)))


def standing_for(place: Place, state: SessionState, policy: Policy) -> dict[str, Grant]:
    """The grants from beyond this session that may let its calls through. Where no rule offers such, nobody looks."""
    if state.opened is None or not policy.offers_beyond_the_session:
        return {}
    rows = _in_force(rows_for(place, state.opened.agent))[:MOST]
    return {str(row.pk): found for row in rows if (found := grant_of(row)) is not None}


def may_rest_on(place: Place, state: SessionState) -> bool:
    """Whether there are grants from beyond this session on which something of it may rest."""
    return state.opened is not None and rows_for(place, state.opened.agent).exists()


def grant_of(row: StandingGrant) -> Grant | None:
    """What was granted, as it stands; None once its words are gone."""
    try:
        given = msgspec.json.decode(keys.unseal(row.kid, _purpose(row.pk), bytes(row.sealed)), type=Grant)
    except keys.Erased:
        return None
    revoked_at = row.revoked_at.isoformat() if row.revoked_at else ""
    return msgspec.structs.replace(given, used=row.used, revoked_by=row.revoked_by, revoked_at=revoked_at)


def _purpose(grant: UUID) -> str:
    return f"{PURPOSE}/{grant}"


def not_revoked(grant: UUID) -> ledger.Fragment:
    """Returns the guard that a standing approval has not been revoked."""
    return ledger.Fragment(_NOT_REVOKED, {"g_grant": grant})


def in_time(
    guard: ledger.Fragment | None,
    state: SessionState,
    events: Sequence[ev.AnyEvent],
    before: SessionState | None = None,
    standing: Mapping[str, Grant] | None = None,
) -> ledger.Fragment | None:
    """`guard`, and that no grant on which `events` let something through has ended, was taken back or is used up."""
    rules = {event.rule for event in events if isinstance(event, ev.CallAllowed | ev.ToolIntended)}
    if not any(rule.startswith(PREFIX) for rule in rules):
        return guard
    known = {**state.grants, **(standing or {})}
    ends = [grant.until for grant in known.values() if grant.name in rules]
    params: dict[str, object] = {"t_until": min(ends, default="-infinity")}
    still = "clock_timestamp() < %(t_until)s::timestamptz"
    for number, (grant, times) in enumerate(uses(before or state, events, standing or {})):
        params |= {f"w_id{number}": grant, f"w_times{number}": times}
        still += f" AND {_HOLDS.format(n=number)}"
    if guard is None:
        return ledger.Fragment(f"SELECT 1 WHERE {still}", params)
    return ledger.Fragment(f"SELECT 1 WHERE EXISTS ({guard.sql}) AND {still}", {**guard.params, **params})


def uses(before: SessionState, events: Sequence[ev.AnyEvent], standing: Mapping[str, Grant]) -> list[tuple[UUID, int]]:
    """The standing grants on which `events` rest, in the order in which they are locked, and how often each is used: by
    every call once, and not again by one that was let through by it before.
    """
    names = {grant.name: UUID(key) for key, grant in standing.items()}
    rested: dict[UUID, set[str]] = {}
    for event in events:
        if isinstance(event, ev.CallAllowed | ev.ToolIntended) and event.rule in names:
            calls = rested.setdefault(names[event.rule], set())
            held = before.calls.get(event.call)
            if held is None or held.rule != event.rule:
                calls.add(event.call)
    return [(grant, len(rested[grant])) for grant in sorted(rested)]


def fragments(
    place: Place, before: SessionState, events: Sequence[ev.AnyEvent], standing: Mapping[str, Grant], at: str
) -> Iterator[ledger.Fragment]:
    """What is written with `events`: the rows of grants that are given, the uses of those that stand, and the end of
    those that are taken back. The uses' parameters are those of `in_time`.
    """
    for number, _ in enumerate(uses(before, events, standing)):
        yield ledger.Fragment(_COUNT.format(n=number))
    for event in events:
        if isinstance(event, ev.GrantGiven) and event.scope != "session" and before.opened is not None:
            yield ledger.Fragment(_GIVE, _row(place, before.opened.agent, event, at))
    if revoked := [event for event in events if isinstance(event, ev.GrantRevoked)]:
        yield ledger.Fragment(_REVOKE, _end(revoked, events))


def _end(revoked: Sequence[ev.GrantRevoked], events: Sequence[ev.AnyEvent]) -> dict[str, object]:
    return {
        "w_revoked": [UUID(event.grant) for event in revoked],
        "w_by": revoked[0].by,
        "w_rolled_back": any(isinstance(event, ev.SessionRolledBack | ev.ForkPromoted) for event in events),
    }


def _row(place: Place, agent: str, event: ev.GrantGiven, at: str) -> dict[str, object]:
    shared: dict[str, Any] = {name: getattr(event, name) for name in Grant.__struct_fields__ if hasattr(event, name)}
    given = Grant(**shared, id=event.grant, at=at)
    return {
        "w_id": UUID(event.grant),
        "w_tenant": place.tenant,
        "w_team": place.team,
        "w_scope": event.scope,
        "w_agent": agent,
        "w_kid": place.kid,
        "w_tool": event.tool,
        "w_session": place.id,
        "w_by": event.by,
        "w_until": event.until,
        "w_uses": event.uses,
        "w_sealed": keys.seal(place.kid, _purpose(UUID(event.grant)), _json.encode(given)),
    }
