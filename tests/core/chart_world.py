"""Small charts for tests, and a hand that moves them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from agentstate.engine import charts
from agentstate.engine.charts import Chart, ChartState, Happening, Moved

AT = "2026-11-21T03:00:00.000000Z"


def chart(*states: dict[str, Any], **more: Any) -> Chart:
    """A chart of these states, through the door that all charts come through."""
    return charts.load(json.dumps({"name": "tried", "version": 1, "states": list(states), **more}).encode())


def state(id: str, *transitions: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: A002  (as the JSON has it)
    return {"id": id, "transitions": list(transitions), **more}


def go(event: str = "", to: str = "", when: str = "", **more: Any) -> dict[str, Any]:
    return {"event": event, "to": to.split(), "when": when, **more}


def put(path: str, value: str) -> dict[str, str]:
    return {"act": "assign", "path": path, "value": value}


class Hand:
    """A chart in motion; every state it comes to is written to JSON and read back."""

    def __init__(self, made: Chart, **outside: Any) -> None:
        self.chart, self.outside, self.at = made, outside, AT
        state, self.moved = charts.start(made, outside, AT)
        self.state = through_json(state)

    def tell(self, event: str, data: Any = None) -> Moved:
        state, self.moved = charts.step(self.chart, self.state, Happening(event, data), self.outside, self.at)
        self.state = through_json(state)
        return self.moved

    def wait(self, span: str) -> Moved:
        self.at = charts.later(self.at, charts.delay_of(span))
        state, self.moved = charts.tick(self.chart, self.state, self.outside, self.at)
        self.state = through_json(state)
        return self.moved

    @property
    def here(self) -> tuple[str, ...]:
        return self.state.configuration


def through_json(state: ChartState) -> ChartState:
    """The state as it is stored and read again; anything but the same is an error."""
    import msgspec

    back = msgspec.json.decode(msgspec.json.encode(state), type=ChartState)
    assert back == state
    return back


names = st.sampled_from(["a", "b", "c", "d", "e", "f"])
events = st.sampled_from(["x", "y", "x.y", "*", "done.state.a", "error", ""])
guards = st.sampled_from(
    ["", "", "n > 1", "n <= 1", "In('a')", "_event.data == null", "nobody", "n ==", "l.all(i, i > 0)"]
)
values = st.sampled_from(
    ["n + 1", "0", "'t'", "l + [n]", "null", "n / 0", "_event.name", "{'k': n}", "0.5", "_sessionid"]
)
sends = st.builds(
    lambda event, after, target: {"act": "send", "event": event, "after": after, "target": target},
    st.sampled_from(["x", "y"]),
    st.sampled_from(["", "1s", "2m", "soon"]),
    st.sampled_from(["", "#_internal", "#_parent", "#_nobody", "nobody"]),
)
plain_actions = (
    st.builds(put, st.sampled_from(["n", "l", "n.k", "_event", "z"]), values)
    | st.builds(lambda event: {"act": "raise", "event": event}, st.sampled_from(["x", "y"]))
    | sends
    | st.builds(lambda value: {"act": "log", "label": "l", "value": value}, values)
    | st.just({"act": "cancel", "id": "s"})
)
actions = st.recursive(
    plain_actions,
    lambda inner: (
        st.builds(
            lambda when, do: {"act": "choose", "branches": [{"when": when, "do": do}]},
            guards,
            st.lists(inner, max_size=2),
        )
        | st.builds(
            lambda items, do: {"act": "foreach", "items": items, "item": "i", "do": do},
            st.sampled_from(["l", "[1, 2]", "n"]),
            st.lists(inner, max_size=2),
        )
    ),
    max_leaves=3,
)
blocks = st.lists(actions, max_size=2)
transitions = st.builds(
    lambda event, when, to, internal, do: {"event": event, "when": when, "to": to, "internal": internal, "do": do},
    events, guards, st.lists(names, max_size=2), st.booleans(), blocks,
)  # fmt: skip


def random_states(depth: int = 2) -> st.SearchStrategy[list[dict[str, Any]]]:
    """States with any names, kinds and transitions; most make no chart."""
    inner = st.just([]) if depth == 0 else st.just([]) | random_states(depth - 1)
    one = st.builds(
        lambda name, kind, states, moves, entry, leave: {
            "id": name, "kind": kind,
            **({"initial": ["a"]} if kind == "history" else
               {"states": states, "transitions": moves, "entry": [entry], "exit": [leave]}),
        },
        names, st.sampled_from(["state", "state", "state", "parallel", "final", "history"]), inner,
        st.lists(transitions, max_size=2), blocks, blocks,
    )  # fmt: skip
    return st.lists(one, min_size=1, max_size=3)


random_charts = st.builds(
    lambda states, binding: {
        "name": "any", "version": 1, "states": states, "binding": binding,
        "data": [{"name": "n", "value": "0"}, {"name": "l", "value": "[1]"}],
    },
    random_states(), st.sampled_from(["early", "late"]),
)  # fmt: skip
