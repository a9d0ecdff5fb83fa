"""The life of a request, in every order of what can happen to it: people decide, claim, take, edit, lend, object, pass
it on; clocks run out; policy changes; the session is taken over, put back or ended; the call runs and its worker dies.

The real `decide` and `evolve` go through all interleavings up to a depth; `approval_laws.py` judges each history. That
any one guard taken away makes it fail is `test_approval_guards.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.policy.rules import Step
from agentstate.engine.state.session import Request
from agentstate.errors import Refused
from tests.core import worlds
from tests.core.approval_laws import TermsReader, judge
from tests.core.laws import Unlawful, require
from tests.core.test_engine_explorer import essence
from tests.core.test_versions import rollback
from tests.core.worlds import MAY, World, transfer
from tests.searching import FULL

DEPTH = 5 if FULL else 4  # one more takes six times as long: eleven minutes
AMOUNT = "arguments.amount.minor"
NAMES = {
    "ann": frozenset({"role:supervisor", "user:ann"}),
    "bob": frozenset({"role:supervisor", "user:bob"}),
    "sue": frozenset({"role:senior", "user:sue"}),
    "zoe": frozenset({"role:senior", "user:zoe"}),
}
LENT = {"bob": ("sue",)}  # bob may act under sue's authority
Move = Callable[[World], World]


def rule(**terms: Any) -> pol.Rule:
    """Every transfer needs people, on these terms."""
    fields = {"tier": 2, "gate": "approve", "why": "Money.", "evidence": ("state.authorization",), **terms}
    fields = {"edits": worlds.DOWN, **fields}
    return pol.Rule(name="transfer.any", tools=("transfer",), when="true", **fields)


ALLOW = pol.Rule(name="authorize.any", tools=("authorize",), when="true", tier=1, gate="allow", why="Asks.")
CHAIN = (Step(60, ("role:senior",)), Step(120, ("user:zoe",)))
STARTS: dict[str, tuple[pol.Rule, ...]] = {
    "reviewers and a chain": (rule(reviewers=("role:senior",), chain=CHAIN, expires_in=300), ALLOW),
    "four eyes": (rule(four_eyes=True, quorum=2), ALLOW),
    "two people": (rule(quorum=2), ALLOW),
    "reasons and typing": (rule(reasons=("asked", "urgent"), retype=(AMOUNT,)), ALLOW),
    "approved, then held": (rule(hold=10), ALLOW),
    "held by policy": (rule(gate="hold", hold=10), ALLOW),
}


def start(terms: str) -> World:
    """A transfer of $1,000.00 that waits on these terms, beside an authorization that will change its basis."""
    return worlds.authorized().with_rules(*STARTS[terms]).asked(worlds.AUTHORIZE, transfer(100_000))


def latest(world: World) -> Request:
    if not world.state.requests:
        raise Refused("it was put back to before anything was asked")
    return next(reversed(world.state.requests.values()))


def decides(kind: str, by: str, to: int = 90_000, **more: Any) -> Move:
    """`by` decides the latest request on what it shows, with the first reason and the figure as it stands."""

    def move(world: World) -> World:
        request = latest(world)
        arguments = {"amount": {"minor": to, "currency": "USD"}} if kind == "edit" else None
        minor = (arguments or request.arguments)["amount"]["minor"]
        fields: dict[str, Any] = {
            "reason": "because",
            "arguments": arguments,
            "response": "The branch does it." if kind == "respond" else "",
            "seen": world.state.calls[request.asked.call].approved or request.asked.digest,
            "code": next(iter(request.terms.reasons), ""),
            "retyped": {AMOUNT: minor} if request.terms.retype else {},
            "names": NAMES[by],
            "lent": tuple(Authority(MAY[of], NAMES[of], of) for of in LENT.get(by, ())),
        }
        fields |= {name: value(request) if callable(value) else value for name, value in more.items()}
        return world.after(core.Decide(request.asked.request, kind, by, MAY[by], **fields))  # type: ignore[arg-type]

    return move


def stale(world: World) -> World:
    """An approval of what the agent proposed, by somebody who has not seen the colleague's edit."""
    request = latest(world)
    if request.approved_arguments is None:
        raise Refused("nobody has edited it")
    return decides("approve", "ann", seen=request.asked.digest)(world)


def claim(by: str, take: bool, lasts: bool) -> Move:
    return lambda world: world.after(core.Claim(latest(world).asked.request, by, MAY[by], take, lasts, NAMES[by], ()))


def of_request(command: Callable[[str, Request], object]) -> Move:
    return lambda world: world.after(command(latest(world).asked.request, latest(world)))


def gone(world: World) -> World:
    """The call begins, and whoever approved it may decide nothing any more."""
    standing = {by: (Authority(frozenset(), names),) for by, names in NAMES.items()}
    return world.after(core.Begin(world.call("transfer").id, authorities=standing))


def begins(world: World) -> World:
    """The call begins; those who approved it may what they always might."""
    standing = {by: (Authority(MAY[by], names), *_lent(by)) for by, names in NAMES.items()}
    return world.after(core.Begin(world.call("transfer").id, authorities=standing))


def _lent(by: str) -> tuple[Authority, ...]:
    return tuple(Authority(MAY[of], NAMES[of], of) for of in LENT.get(by, ()))


def under(version: int, **terms: Any) -> Move:
    """Policy has changed."""
    return lambda world: replace(world, policy=pol.Policy("other", version, (rule(**terms), ALLOW)))


def back(world: World) -> World:
    """Put back to before the transfer was proposed."""
    return world.after(rollback(world, 8))


MOVES: dict[str, Move] = {
    "ann approves": decides("approve", "ann"),
    "bob approves": decides("approve", "bob"),
    "sue approves": decides("approve", "sue"),
    "zoe approves": decides("approve", "zoe"),
    "zoe lowers it": decides("edit", "zoe"),
    "zoe raises it": decides("edit", "zoe", to=110_000),
    "ann rejects": decides("reject", "ann"),
    "zoe lets it be": decides("ignore", "zoe"),
    "sue passes it on": decides("escalate", "sue"),
    "without a reason": decides("approve", "sue", code=""),
    "with a reason of their own": decides("reject", "sue", code="whim"),
    "without typing": decides("approve", "sue", retyped={}),
    "typing another figure": decides("approve", "sue", retyped={AMOUNT: 1}),
    "what was seen before the edit": stale,
    "the chain's time comes": of_request(lambda key, request: core.Escalate(key, request.step + 1)),
    "the deadline passes": of_request(lambda key, _: core.Expire(key)),
    "the hold is over": of_request(lambda key, _: core.HoldOver(key)),
    "ann objects": of_request(lambda key, _: core.Undo(key, "ann", MAY["ann"])),
    "zoe claims": claim("zoe", False, True),
    "sue takes it": claim("sue", True, True),
    "sue claims what has run out": claim("sue", False, False),
    "zoe gives it back": of_request(lambda key, _: core.Release(key, "zoe")),
    "sue takes the session over": lambda world: world.after(core.TakeOver("sue")),
    "policy asks for more": under(3, quorum=2),
    "the call begins": begins,
    "who approved has lost the right": gone,
    "it returns": lambda world: world.after(
        core.Return(world.call("transfer").id, world.call("transfer").attempt, {"receipt": "r"})
    ),
    "authorize again": lambda world: world.after(core.Begin(world.call("authorize").id)),
    "authorization withdrawn": lambda world: world.after(
        core.Return(world.call("authorize").id, world.call("authorize").attempt, {"allowed": False})
    ),
    "put back": back,
    "the customer hangs up": lambda world: world.after(core.End("hung up", "customer")),
}
# What is refused at every moment: these lead nowhere, unless a guard is missing.
HOPELESS: dict[str, Move] = {
    "ann rejects without a word": decides("reject", "ann", reason="", code=""),
    "sue answers with nothing": decides("respond", "sue", response=" "),
    "sue brings arguments": decides("approve", "sue", arguments={"amount": {"minor": 1, "currency": "USD"}}),
    "zoe edits nothing": decides("edit", "zoe", arguments=lambda request: request.arguments),
    "zoe edits to nonsense": decides("edit", "zoe", arguments={"amount": {"minor": -1, "currency": "USD"}}),
    "zoe edits and sends none": decides("edit", "zoe", arguments=None),
    "sue saw another request": decides("approve", "sue", shown=ev.View("", {"digest": "0" * 64})),
    "the chain is jumped": of_request(lambda key, request: core.Escalate(key, request.step + 2)),
    "the chain goes back": of_request(lambda key, request: core.Escalate(key, request.step)),
    "a viewer objects": of_request(lambda key, _: core.Undo(key, "vic", frozenset())),
    "a viewer claims": of_request(lambda key, _: core.Claim(key, "vic", frozenset(), names=NAMES["ann"])),
    "what nobody asked is decided": lambda world: world.after(core.Decide("none", "approve", "sue", MAY["sue"])),
}
# Policy has become stricter in one respect each, while a request waits or its call is ready.
STRICTER: dict[str, Move] = {
    "policy asks for others": under(4, reviewers=("user:zoe",)),
    "policy asks for four eyes": under(5, four_eyes=True),
    "policy asks at a higher tier": under(6, tier=3),
    "policy asks for approval": under(7),
    "policy asks for a reason": under(8, reasons=("asked",)),
    "policy asks to type it": under(9, retype=(AMOUNT,)),
    "policy asks for a delay": under(10, hold=60),
}
NEVER = {"without typing": "retype", "typing another figure": "retype", "what was seen before the edit": ""}


def explored(world: World, depth: int, moves: Mapping[str, Move] = MOVES) -> Iterator[World]:
    """Every world that is reached by `depth` moves; each is judged. A refused move leads nowhere."""
    layer = {_known(world): world}
    for _ in range(depth):
        following: dict[tuple[bytes, int], World] = {}
        for here in layer.values():
            for name, move in moves.items():
                try:
                    then = move(here)
                except (Refused, KeyError, IndexError):
                    continue
                _must_not(name, here)
                _fits_policy(name, here, then)
                lent = {by: frozenset(of) for by, of in LENT.items()}
                judge(then.history, TermsReader(MAY, names=NAMES, lent=lent))
                following.setdefault(_known(then), then)
        yield from following.values()
        layer = following


def _known(world: World) -> tuple[bytes, int]:
    return essence(world.state), world.policy.version


def _must_not(name: str, world: World) -> None:
    """What no history shows: what the person had typed, seen or wished. Such a move must have been refused."""
    if name in HOPELESS:
        raise Unlawful(name)
    if name in NEVER and (not NEVER[name] or getattr(latest(world).terms, NEVER[name])):
        raise Unlawful(f"somebody decided {name}")
    if name == "zoe claims" and latest(world).claimed_by == "sue":
        raise Unlawful("somebody claims what a colleague is on, and does not take it")


def _fits_policy(name: str, here: World, then: World) -> None:
    """A transfer that has just begun on people's approval: policy as it is now asks for no more than they gave, and
    they still may. Read from the rule in force, not by the engine.
    """
    begun = [event for event, _ in then.history[len(here.history) :] if isinstance(event, ev.ToolIntended)]
    for intent in begun:
        if intent.tool != "transfer" or not intent.request or here.call("transfer").status is CallStatus.RUNNING:
            continue
        asks, passed = here.policy.rules[0], here.state.requests[intent.request]
        people = [behalf or by for by, behalf in zip(passed.approvals, passed.behalf, strict=True)]
        require(name != "who approved has lost the right", "who approved it still may")
        require(asks.tier <= max(passed.asked.tier, here.call("transfer").tier), "at no higher tier than was passed")
        require(asks.quorum <= len(people), "as many people as policy asks for now")
        require(
            not asks.reviewers or passed.step or all(NAMES[one] & set(asks.reviewers) for one in people), "by those"
        )
        require(set(asks.retype) <= set(passed.terms.retype), "every value that policy names now was typed")
        require(
            not asks.reasons or set(passed.codes) <= set(asks.reasons), "a reason that policy offers now was chosen"
        )
        late = asks.hold if asks.gate == "approve" else 0
        require(late <= passed.terms.hold, "it was delayed for as long as policy asks now")
        owner = here.state.taken_by
        newly = asks.four_eyes and not passed.terms.four_eyes
        require(not newly or owner not in (*passed.approvals, *people), "four eyes, as policy asks now")


@pytest.fixture(scope="module", params=STARTS)
def reached(request):
    """The terms, and every world that is reached from them."""
    return request.param, list(explored(start(request.param), DEPTH))


def test_no_order_of_what_can_happen_to_a_request_breaks_a_law(reached):
    terms, worlds_reached = reached
    ends: set[object] = set()
    for world in worlds_reached:
        ends |= {call.status for call in world.state.calls.values()}
        ends |= {request.status for request in world.state.requests.values()}
    assert ends >= {CallStatus.RUNNING, CallStatus.REJECTED, RequestStatus.WITHDRAWN, RequestStatus.IGNORED}
    assert (RequestStatus.UNOPPOSED in ends) == (terms == "held by policy")
    assert RequestStatus.EXPIRED in ends


def test_every_request_that_is_reached_is_pending_or_has_a_named_outcome(reached):
    for world in reached[1]:
        for request in world.state.requests.values():
            assert request.status is RequestStatus.PENDING or request.ended_at
            assert not (request.status is not RequestStatus.PENDING and (request.claimed_by or request.held_until))


@pytest.mark.parametrize("terms", ["four eyes", "held by policy"])
def test_no_order_breaks_a_law_when_policy_becomes_stricter_meanwhile(terms):
    few = ("ann approves", "zoe approves", "sue takes the session over", "the hold is over", "the call begins")
    some = {name: MOVES[name] for name in few}
    assert any(world.events(ev.ToolIntended)[1:] for world in explored(start(terms), 5, {**some, **STRICTER}))


@pytest.mark.parametrize("terms", STARTS)
def test_what_is_hopeless_is_refused_at_every_moment(terms):
    reached = explored(start(terms), 2)
    for world in (start(terms), *reached):
        for _ in explored(world, 1, HOPELESS):
            pass
