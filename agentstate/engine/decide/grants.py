"""Grants for what follows: given by who approved, where the rule offers it; taken back by whoever may decide."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.decide.commands.approvals import Authority, GrantSame, RevokeGrant
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.refusals import DecisionNotAllowed, UnknownRequest
from agentstate.engine.decide.reviewing import entitling, left_out, why_left_out
from agentstate.engine.decide.say import tool_named
from agentstate.engine.decide.verdicts import grants_for, policy_on
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.policy import Sticky, required
from agentstate.engine.state.session import Request, SessionState
from agentstate.errors import Invalid, NotFound, Refused

MAX_REASON = 2_000
ROLLED_BACK = "taken back by a rollback"
SUPERSEDED = "taken back by the promotion of a fork"


class NoGrantOffered(Refused):
    """The rules do not offer to let the same through for what follows."""

    code = "no_grant_offered"


class UnknownGrant(NotFound):
    """There is no such grant in this session."""

    code = "unknown_grant"


class GrantOver(Refused):
    """This grant lets nothing through any more."""

    code = "grant_over"


@command_handler(GrantSame)
def granted(command: GrantSame, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The grant, bound to what was approved and to what the rules offered then and offer now."""
    must_live(state)
    request = state.requests.get(command.request)
    if request is None:
        raise UnknownRequest()
    if request.status not in (RequestStatus.APPROVED, RequestStatus.EDITED) or command.by not in request.approvals:
        raise DecisionNotAllowed("only who approved it may grant the same for what follows")
    authority = _authority(command, state, request)
    offer = _offer(state, request, context)
    if any(grant.request == command.request for grant in grants_for(state, context)):
        raise NoGrantOffered("it is granted already")
    asked, terms = request.asked, request.asked.terms
    assert terms is not None
    return [
        ev.GrantGiven(
            grant=context.new_id(),
            request=command.request,
            call=asked.call,
            tool=asked.tool,
            rule=asked.rule,
            policy=asked.policy,
            gate=terms.gate,
            tier=asked.tier,
            reviewers=terms.reviewers,
            four_eyes=terms.four_eyes,
            retype=terms.retype,
            arguments=request.arguments,
            scope=offer.scope,
            until=stamp(context.at + timedelta(seconds=_within(command.seconds, offer.seconds, "seconds"))),
            uses=_within(command.uses, offer.uses, "uses"),
            limit=offer.limit,
            by=command.by,
            under=authority.of,
            reason=_reason(command.reason),
            activity=asked.activity,
            met=replace(required(terms, asked.tier, 1), reasons=tuple(code for code in request.codes if code)),
        )
    ]


def offered(state: SessionState, request: Request) -> Sticky | None:
    """What may be granted for what follows a request that was let through in this epoch; None: nothing."""
    asked = request.asked
    if asked.terms is None or asked.quorum > 1 or request.kid or state.versions.is_draft:
        return None
    return asked.terms.sticky


def _offer(state: SessionState, request: Request, context: CommandContext) -> Sticky:
    """What was offered with the request, as far as today's policy still offers it."""
    then, call, facts = (
        offered(state, request),
        state.calls.get(request.asked.call),
        tool_named(request.asked.tool, context),
    )
    now = policy_on(state, call, facts, context)[0].sticky if call is not None and facts is not None else None
    if then is None or now is None:
        raise NoGrantOffered()
    if then.limit != now.limit or then.scope != now.scope:
        raise NoGrantOffered("policy has changed since it was asked about")
    return Sticky(then.scope, min(then.seconds, now.seconds), min(then.uses, now.uses), then.limit)


def _within(wanted: int | None, offer: int, field: str) -> int:
    if wanted is None:
        return offer
    if not 1 <= wanted <= offer:
        raise Invalid(f"got {wanted}, want 1 to {offer}", field=field)
    return wanted


def counted(context: CommandContext, state: SessionState, event: ev.AnyEvent) -> CommandContext:
    """What is given once `event` has happened in `state`: a grant from beyond the session on which it rests has one use
    less, unless the call was let through by it already.
    """
    if not isinstance(event, ev.CallAllowed | ev.ToolIntended):
        return context
    grant = next((each for each in context.grants.values() if each.name == event.rule), None)
    held = state.calls.get(event.call)
    if grant is None or (held is not None and held.rule == event.rule):
        return context
    return replace(context, grants={**context.grants, grant.id: replace(grant, used=grant.used + 1)})


@command_handler(RevokeGrant)
def revoked(command: RevokeGrant, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The end of a grant. What it let through and has not begun is gated anew when it begins."""
    grant = state.grants.get(command.grant)
    if grant is None and not command.wider:
        raise UnknownGrant()
    if not command.may:
        raise DecisionNotAllowed("a grant is taken back by who may decide", permission="decide")
    if grant is not None and grant.revoked_by:
        raise GrantOver(f"{grant.revoked_by} has taken it back")
    return [ev.GrantRevoked(command.grant, command.by, _reason(command.reason))]


def taken_back(grants: Iterable[str], by: str, reason: str) -> list[ev.GrantRevoked]:
    """Returns the end of the standing approvals that were given in what a rollback or a promoted fork takes back."""
    return [ev.GrantRevoked(grant, by, reason) for grant in grants]


def _reason(text: str) -> str:
    if len(text) > MAX_REASON:
        raise Invalid(f"{len(text)} characters, {MAX_REASON} allowed", field="reason")
    return text.strip()


def _authority(command: GrantSame, state: SessionState, request: Request) -> Authority:
    """Returns the authority on which a person gives a standing approval: it entitles them to decide the request, and
    they may approve it. Raises DecisionNotAllowed saying why there is none.
    """
    left = left_out(state, request, request.asked.tier)
    whys: list[str] = []
    for authority in entitling(command, request, request.asked.tier):
        why = why_left_out(command.by, authority, left, command.sharing)
        if not why:
            return authority
        whys.append(why)
    raise DecisionNotAllowed(whys[0])
