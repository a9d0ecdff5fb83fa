"""The life of a request, in every order of what can happen to it: people decide, claim, take, edit, lend, object, pass
it on; clocks run out; policy changes; the session is taken over, put back or ended; the call runs and its worker dies.

The real `decide` and `evolve` go through all interleavings up to a depth; `approval_laws.py` judges each history, and a
guard taken away makes it fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from agentstate.engine import decide as core
from agentstate.engine import policy as pol
from agentstate.engine.decide import approvals, calls, claims, holds, reviewing
from agentstate.engine.decide.commands import Authority
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.policy.rules import Step
from agentstate.engine.state import Request
from agentstate.errors import Broken, Refused
from tests.core import worlds
from tests.core.approval_laws import TermsReader, judge
from tests.core.laws import Unlawful
from tests.core.test_engine_explorer import essence
from tests.core.test_versions import rollback
from tests.core.worlds import MAY, World, transfer

DEPTH = 6 if os.environ.get("FULL") else 4
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
    return pol.Rule(name="transfer.any", tools=("transfer",), when="true", **fields)


ALLOW = pol.Rule(name="authorize.any", tools=("authorize",), when="true", tier=1, gate="allow", why="Asks.")
CHAIN = (Step(60, ("role:senior",)), Step(120, ("user:zoe",)))
STARTS: dict[str, tuple[pol.Rule, ...]] = {
    "reviewers and a chain": (rule(reviewers=("role:senior",), chain=CHAIN, expires_in=300), ALLOW),
    "four eyes": (rule(four_eyes=True, quorum=2), ALLOW),
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


def decides(kind: str, by: str, **more: Any) -> Move:
    """`by` decides the latest request on what it shows, with the first reason and the figure as it stands."""

    def move(world: World) -> World:
        request = latest(world)
        arguments = {"amount": {"minor": 90_000, "currency": "USD"}} if kind == "edit" else None
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
        return world.after(core.Decide(request.asked.request, kind, by, MAY[by], **{**fields, **more}))  # type: ignore[arg-type]

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


def back(world: World) -> World:
    """Put back to before the transfer was proposed."""
    return world.after(rollback(world, 8))


MOVES: dict[str, Move] = {
    "ann approves": decides("approve", "ann"),
    "bob approves": decides("approve", "bob"),
    "sue approves": decides("approve", "sue"),
    "zoe approves": decides("approve", "zoe"),
    "zoe edits": decides("edit", "zoe"),
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
    "policy asks for more": lambda world: replace(world, policy=pol.Policy("other", 3, (rule(quorum=2), ALLOW))),
    "the call begins": lambda world: world.after(core.Begin(world.call("transfer").id)),
    "the worker dies": lambda world: world.after(core.Begin(world.call("transfer").id)),
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
NEVER = {"without typing": "retype", "typing another figure": "retype", "what was seen before the edit": ""}


def explored(world: World, depth: int) -> Iterator[World]:
    """Every world that is reached by `depth` moves; each is judged. A refused move leads nowhere."""
    layer = {_known(world): world}
    for _ in range(depth):
        following: dict[tuple[bytes, int], World] = {}
        for here in layer.values():
            for name, move in MOVES.items():
                try:
                    then = move(here)
                except (Refused, KeyError, IndexError):
                    continue
                _must_not(name, here)
                lent = {by: frozenset(of) for by, of in LENT.items()}
                judge(then.history, TermsReader(MAY, names=NAMES, lent=lent))
                following.setdefault(_known(then), then)
        yield from following.values()
        layer = following


def _known(world: World) -> tuple[bytes, int]:
    return essence(world.state), world.policy.version


def _must_not(name: str, world: World) -> None:
    """What no history shows: what the person had typed or seen. Such a move must have been refused."""
    if name in NEVER and (not NEVER[name] or getattr(latest(world).terms, NEVER[name])):
        raise Unlawful(f"somebody decided {name}")


@pytest.mark.parametrize("terms", STARTS)
def test_no_order_of_what_can_happen_to_a_request_breaks_a_law(terms):
    ends: set[object] = set()
    for world in explored(start(terms), DEPTH):
        ends |= {call.status for call in world.state.calls.values()}
        ends |= {request.status for request in world.state.requests.values()}
    assert ends >= {CallStatus.RUNNING, CallStatus.REJECTED, RequestStatus.WITHDRAWN, RequestStatus.IGNORED}
    assert (RequestStatus.UNOPPOSED in ends) == (terms == "held by policy")
    assert RequestStatus.EXPIRED in ends


@pytest.mark.parametrize("terms", STARTS)
def test_every_request_that_is_reached_is_pending_or_has_a_named_outcome(terms):
    for world in explored(start(terms), 4):
        for request in world.state.requests.values():
            assert request.status is RequestStatus.PENDING or request.ended_at
            assert not (request.status is not RequestStatus.PENDING and (request.claimed_by or request.held_until))


def _anybody(command: Any, *_: Any) -> Authority:
    return Authority(command.may, command.names)


GUARDS: dict[str, tuple[str, Callable[..., Any]]] = {
    "must_be_entitled": ("reviewers and a chain", _anybody),
    "must_be_another": ("four eyes", lambda *_: None),
    "left_out": ("four eyes", lambda *_: ()),
    "behind": ("four eyes", lambda *_: 1),
    "must_give_code": ("reasons and typing", lambda *_: None),
    "must_have_retyped": ("reasons and typing", lambda *_: None),
    "as_seen": ("four eyes", lambda command, state, request: approvals.digest_of(state, request)),
    "held": ("approved, then held", lambda *_: None),
    "changed_since": ("four eyes", lambda *_: ""),
    "open_request": ("four eyes", lambda state, request: state.requests[request]),
    "_outcome": ("approved, then held", lambda _: "unopposed"),
}
MODULES = (approvals, calls, claims, holds, reviewing)


@pytest.mark.parametrize("guard", GUARDS)
def test_without_any_one_guard_the_exploration_fails(guard, monkeypatch):
    terms, passing = GUARDS[guard]
    users = [module for module in MODULES if hasattr(module, guard)]
    assert users
    for module in users:
        monkeypatch.setattr(module, guard, passing)
    with pytest.raises((Unlawful, Broken)):
        for _ in explored(start(terms), 5):
            pass
