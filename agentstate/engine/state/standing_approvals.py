"""What events change in grants, and in what was set going today. A function an event, named like it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.handlers import event_handler
from agentstate.engine.policy.granted import Grant
from agentstate.engine.policy.tally import amounts_before, counted
from agentstate.engine.state.session import SessionState

KEPT_GRANTS = 20  # those that ended go first


@event_handler(ev.GrantGiven)
def grant_given(state: SessionState, event: ev.GrantGiven, at: str) -> SessionState:
    shared = [name for name in Grant.__struct_fields__ if hasattr(event, name)]
    fields: dict[str, Any] = {name: getattr(event, name) for name in shared}
    grants = {**state.grants, event.grant: Grant(**fields, id=event.grant, at=at)}
    while len(grants) > KEPT_GRANTS:
        del grants[next((key for key, grant in grants.items() if _is_over(grant, at)), next(iter(grants)))]
    return replace(state, grants=grants)


def _is_over(grant: Grant, at: str) -> bool:
    return bool(grant.revoked_by) or grant.used >= grant.uses or grant.until <= at


@event_handler(ev.GrantRevoked)
def grant_revoked(state: SessionState, event: ev.GrantRevoked, at: str) -> SessionState:
    if event.grant not in state.grants:  # given in another session
        return state
    revoked = replace(state.grants[event.grant], revoked_by=event.by, revoked_at=at)
    return replace(state, grants={**state.grants, event.grant: revoked})


def used(state: SessionState, call: str, rule: str) -> SessionState:
    """One use of the grant that `rule` names, unless the call was let through by it already."""
    held = state.calls.get(call)
    grant = next((grant for grant in state.grants.values() if grant.name == rule), None)
    if grant is None or (held is not None and held.rule == rule):
        return state
    return replace(state, grants={**state.grants, grant.id: replace(grant, used=grant.used + 1)})


def set_going(state: SessionState, event: ev.ToolIntended, at: str) -> SessionState:
    """Counts a call that begins in the sums of the day. The same arguments count once, however often they are tried;
    what only reads, a call that a delegate does and calls of other data subjects do not count. Of a call that began
    before this was kept, its first arguments have counted, and no others are known of.
    """
    call = state.calls[event.call]
    known = call.counted[1] or (event.arguments_digest if event.attempt > 1 else "")
    if event.effect in ("pure", "delegate") or call.kid or known == event.arguments_digest:
        return state
    moved = amounts_before(event.arguments) if event.moved is None else event.moved
    call = replace(call, counted=(at[:10], event.arguments_digest), moved=moved)
    tally = counted(state.tally, event.tool, moved, at)
    return replace(state, tally=tally, calls={**state.calls, event.call: call})
