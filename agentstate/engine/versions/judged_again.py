"""Recorded calls judged again by another policy, each on the state as it was folded then. Nothing goes otherwise.

Unlike a replay (`replay`), which follows what would have come of it, each call is looked at for itself: what would have
been asked about, with everything before it as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.speech import facts_of
from agentstate.engine.decide.verdicts import policy_on
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.policy import Gate, Requirements, Terms, Verdict, asks_more, required
from agentstate.engine.speech import SAY
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import Call, SessionState

MOVES = ("stopped", "let through", "stricter", "laxer", "same")


class Said(msgspec.Struct, frozen=True):
    """What policy said when the call was gated, as the record has it. `terms`: what its request asked of people."""

    gate: Gate
    tier: int
    rule: str
    policy: str
    quorum: int = 1
    terms: Terms = Terms(gate="allow")


class JudgedAgain(msgspec.Struct, frozen=True):
    """One call that was gated. `would` is None where the tool is not registered any more."""

    seq: int
    at: str
    call: str
    tool: str
    was: Said
    would: Verdict | None

    @property
    def move(self) -> str:
        """One of MOVES, or "unknown"."""
        if self.would is None:
            return "unknown"
        if (self.was.gate == "allow") != (self.would.gate == "allow"):
            return "stopped" if self.was.gate == "allow" else "let through"
        if self.would.gate == "allow":
            was, would = self.was.tier, self.would.tier
            return "same" if was == would else "stricter" if would > was else "laxer"
        before = _required(self.was.terms, self.was.tier, self.was.quorum)
        after = _required(self.would.terms, self.would.tier, self.would.quorum)
        return "stricter" if asks_more(after, before) else "laxer" if asks_more(before, after) else "same"


def _required(terms: Terms, tier: int, quorum: int) -> Requirements:
    """What is required of people; a delay ends without any of them."""
    return required(terms, tier, 0 if terms.gate == "hold" else quorum)


def judged_again(
    history: Iterable[tuple[int, ev.AnyEvent, str]], context: Callable[[str], CommandContext], since: str, until: str
) -> Iterator[JudgedAgain]:
    """Every call of `history` (seq, event, instant; from the first entry on) that was gated from `since` to before
    `until`.
    """
    state = SessionState()
    before: ev.AnyEvent | None = None
    for seq, event, at in history:
        if at >= until:
            return
        if at >= since and (said := _said(state, event) or _spoken(state, event, before, context, at)) is not None:
            call, was = said
            yield JudgedAgain(seq, at, call.id, call.tool, was, _would(state, call, context(at)))
        state, before = evolve(state, event, at), event


def _said(state: SessionState, event: ev.AnyEvent) -> tuple[Call, Said] | None:
    match event:
        case ev.CallAllowed() if (call := state.calls.get(event.call)) is not None:
            return call, Said("allow", event.tier, event.rule, event.policy)
        case ev.ApprovalRequested() if (call := state.calls.get(event.call)) is not None:
            terms = event.terms or Terms()
            return call, Said(terms.gate, event.tier, event.rule, event.policy, event.quorum, terms)
        case ev.ToolIntended() if event.call not in state.calls:  # of a plan: it begins as it is let through
            call = Call(event.call, event.tool, event.arguments, None, CallStatus.PROPOSED, activity=event.activity)
            return call, Said("allow", event.tier, event.rule, event.policy)
        case _:
            return None


def _spoken(
    state: SessionState,
    event: ev.AnyEvent,
    before: ev.AnyEvent | None,
    context: Callable[[str], CommandContext],
    at: str,
) -> tuple[Call, Said] | None:
    """Words that were said at once, where the policy has rules about words."""
    if not isinstance(event, ev.MessageAdded) or event.role != "agent" or not context(at).policy.judges_speech:
        return None
    if isinstance(before, ev.ToolReturned) and (call := state.calls.get(before.call)) and call.tool == SAY:
        return None  # they were judged as a call
    return Call("", SAY, {"text": event.text}, None, CallStatus.PROPOSED), Said("allow", 0, "", "")


def _would(state: SessionState, call: Call, context: CommandContext) -> Verdict | None:
    facts = facts_of(call.tool, state, context)
    return None if facts is None else policy_on(state, call, facts, context)[0]
