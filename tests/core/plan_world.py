"""Random plans for the laws: acyclic by construction, written in any order, with forks, joins, guards and failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from agentstate.engine.plan import model, ready, rounds
from agentstate.engine.plan.model import Plan
from agentstate.engine.plan.rounds import Round

ENDS = ("done", "done", "done", "other", "failed", "rejected")
GIVEN = {"input": {"who": "Ada", "list": [1, 2]}, "state": {"old": {"x": 1}}}


@st.composite
def plans(draw: Callable[..., Any], most: int = 7) -> Plan:
    """A plan in which every path has one writer."""
    count = draw(st.integers(1, most))
    calls = [draw(_calls(number)) for number in range(count)]
    return model.read(draw(st.permutations(calls)))


@st.composite
def _calls(draw: Callable[..., Any], number: int) -> dict[str, Any]:
    call: dict[str, Any] = {"_tool": "work", "_id": f"c{number}", "_outputPath": f"state.r.c{number}"}
    if draw(st.booleans()):
        call["_outputPath"] += draw(st.sampled_from([" || ", " && "])) + f"state.e.c{number}"
    if number and draw(st.integers(0, 3)) == 0:
        before = draw(st.integers(0, number - 1))
        call["_when"] = draw(st.sampled_from([f"has(state.r.c{before})", f"!has(state.e.c{before})", "true", "false"]))
    call["inputs"] = draw(st.lists(_references(number), max_size=2))
    return call


def _references(number: int) -> st.SearchStrategy[Any]:
    paths = ["†input.who", "†state.old", "†state.old.x", "plain text"]
    for before in range(number):
        paths += [f"†state.r.c{before}", f"†state.e.c{before}", f"†state.r.c{before}.value"]
        paths += [f"†state.r.c{before} || †input.who", f"†state.e.c{before} || state.r.c{before}"]
        paths += [f"†state.r.c{before} && †state.old"]
    return st.sampled_from(paths) | st.sampled_from(paths).map(lambda path: {"deep": [path]})


def fates(plan: Plan) -> st.SearchStrategy[dict[str, str]]:
    """What will become of each call that runs, whenever it runs."""
    return st.fixed_dictionaries({call.id: st.sampled_from(ENDS) for call in plan.calls})


def end(now: Round, pad: dict[str, Any], call: str, fate: str, arguments: Any = None) -> tuple[Round, dict[str, Any]]:
    """The round and its scratchpad after this call met its fate."""
    result = {"value": arguments, "by": call}
    if fate == "rejected":
        return rounds.rejected(now, call), pad
    if fate == "failed":
        return rounds.failed(now, pad, call, {"error": call})[:2]
    other = fate == "other" and len(now.plan.by_id[call].alternatives) > 1
    return rounds.done(now, pad, call, result, outcome=int(other))[:2]


def views(pad: Mapping[str, Any]) -> dict[str, Any]:
    return {**GIVEN, "state": pad}


def worked(plan: Plan, fate: Mapping[str, str], choose: Callable[[list[str]], str]) -> tuple[Round, dict[str, Any]]:
    """A whole round, taking ready calls in the order that `choose` likes."""
    now, pad = Round(plan), dict(GIVEN["state"])
    while True:
        found = ready.standings(now, views(pad))
        able = [each.call for each in found.values() if each.status == "ready"]
        if not able:
            return now, pad
        call = choose(able)
        now, pad = end(rounds.began(now, call), pad, call, fate[call], found[call].arguments)
