"""Every interleaving of what can happen to one call that waits for a person, up to a depth, judged by laws.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine.decide import approvals, calls, conversation, runs
from agentstate.engine.decide.commands.approvals import Authority
from agentstate.engine.lifecycle import CallStatus, RequestStatus
from agentstate.engine.state.session import SessionState, pending
from agentstate.errors import Broken, Refused
from tests.core import worlds
from tests.core.laws import Unlawful, judge
from tests.core.worlds import AUTHORIZE, MAY, World, transfer
from tests.searching import FULL

DEPTH = 12 if FULL else 8
RUNNING = CallStatus.RUNNING


def _decided(kind: str, by: str) -> Callable[[World], object]:
    return lambda world: worlds.decision(world, kind, by) if pending(world.state) else _stale(world, kind, by)


def _stale(world: World, kind: str, by: str) -> core.Decide:
    """A decision on a request that has ended: a page that was not reloaded."""
    request = next(reversed(world.state.requests))
    return core.Decide(request, kind, by, MAY[by], "because", response="no")  # type: ignore[arg-type]


def _edited(minor: int, by: str) -> Callable[[World], object]:
    def command(world: World) -> object:
        return worlds.edit(world, by, minor) if pending(world.state) else _stale(world, "approve", by)

    return command


def _begun(tool: str) -> Callable[[World], object]:
    return lambda world: core.Begin(world.call(tool).id)


def _returned(tool: str, result: Any) -> Callable[[World], object]:
    return lambda world: core.Return(world.call(tool).id, world.call(tool).attempt, result)


def _returned_late(world: World) -> object:
    return core.Return(world.call("transfer").id, world.call("transfer").attempt - 1, {"receipt": "late"})


def _failed(transient: bool) -> Callable[[World], object]:
    return lambda world: core.Fail(world.call("transfer").id, world.call("transfer").attempt, "no", transient)


MOVES: dict[str, Callable[[World], object]] = {
    "approve": _decided("approve", "ann"),
    "approve, senior": _decided("approve", "sue"),
    "edit": _edited(90_000, "bob"),
    "edit above the limit": _edited(900_000, "bob"),
    "edit above the limit, senior": _edited(900_000, "zoe"),
    "reject": _decided("reject", "ann"),
    "expire": lambda world: core.Expire(next(reversed(world.state.requests))),
    "end": lambda world: core.End("hung up", "customer"),
    "begin": _begun("transfer"),
    "return": _returned("transfer", {"receipt": "r"}),
    "return of an earlier attempt": _returned_late,
    "fail": _failed(False),
    "fail for now": _failed(True),
    "say": lambda world: core.Say("customer", "Hello?", "customer"),
    "authorize again": _begun("authorize"),
    "authorization withdrawn": _returned("authorize", {"allowed": False}),
}


def start(quorum: int = 1) -> World:
    """A transfer that waits, beside a second authorization that is ready to run and will change its basis."""
    return worlds.authorized().with_rules(*worlds.gated_by(quorum)).asked(AUTHORIZE, transfer(100_000))


_NEW = SessionState()


def essence(state: SessionState) -> bytes:
    """What deciding can depend on: the state without its words, its times and the numbers of its entries."""
    bare = msgspec.structs.replace(
        state, seq=0, items=(), messages=0, last_at="", talk=_NEW.talk, memory=_NEW.memory, versions=_NEW.versions
    )
    data = msgspec.to_builtins(bare)
    for part in (*data["calls"].values(), *data["requests"].values()):
        for name in ("intent", "retry_at", "seq", "at", "ended_at"):
            part.pop(name, None)
    return msgspec.json.encode(data, order="sorted")


def explored(world: World, depth: int) -> Iterator[World]:
    """Every world that is reached by `depth` moves; each is judged. A refused move leads nowhere."""
    layer = {essence(world.state): world}
    for _ in range(depth):
        following: dict[bytes, World] = {}
        for here in layer.values():
            for move in MOVES.values():
                try:
                    then = here.after(move(here))
                except Refused:
                    continue
                judge(then.history, MAY)
                following.setdefault(essence(then.state), then)
        yield from following.values()
        layer = following


@pytest.mark.parametrize("quorum", [1, 2])
def test_no_interleaving_of_what_can_happen_to_a_waiting_call_breaks_a_law(quorum):
    ends = set()
    for world in explored(start(quorum), DEPTH):
        ends.add(world.call("transfer").status)
        ends |= {request.status for request in world.state.requests.values()}
    assert ends >= {RUNNING, CallStatus.DONE, CallStatus.FAILED, CallStatus.REJECTED, CallStatus.EXPIRED}
    assert ends >= {RequestStatus.APPROVED, RequestStatus.EDITED, RequestStatus.WITHDRAWN, CallStatus.WITHDRAWN}


GUARDS: dict[str, Callable[..., Any]] = {
    "changed_since": lambda *_: "",
    "must_be_entitled": lambda command, *_: Authority(command.may, command.names),
    "open_request": lambda state, request: state.requests[request],
    "_running": lambda state, call, attempt: state.calls[call],
    "must_live": lambda state: None,
}


@pytest.mark.parametrize("guard", GUARDS)
def test_without_any_one_guard_the_exploration_fails(guard, monkeypatch):
    users = [module for module in (approvals, calls, conversation, runs) if hasattr(module, guard)]
    for module in users:
        monkeypatch.setattr(module, guard, GUARDS[guard])
    with pytest.raises((Unlawful, Broken)):
        for _ in explored(start(), 5):
            pass
