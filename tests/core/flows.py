"""The 55 recorded service flows as saved plans: what an agent of that desk would follow, step by step.

A step reads what the step before it found out, so that the order of the flow is in its references. What changes
something is guarded by the checks of identity and purchase that come before it, and has an error path, which is told
to the customer. Slots are declared inputs: whatever the customer has said of them by then.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from agentstate.engine.plan import goals, library, model
from agentstate.engine.plan.facts import Facts, ToolCard
from agentstate.engine.plan.library import Saved
from tests.shared_data import shared_data

CHECKS = ("verify-identity", "validate-purchase")
CHANGES = (
    "offer-refund",
    "make-purchase",
    "update-order",
    "update-account",
    "send-link",
    "promo-code",
    "make-password",
)
TEXT = {"type": "string"}
CHECKED = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


@lru_cache(maxsize=1)
def recorded() -> dict[str, Any]:
    """The three files: flows with their actions, guidelines in words, and the slots of each action."""
    names = ("kb", "guidelines", "ontology")
    return {name: json.loads(shared_data("abcd", f"{name}.json").read_text("utf-8")) for name in names}


def slots() -> dict[str, list[str]]:
    return {action: names for group in recorded()["ontology"]["actions"].values() for action, names in group.items()}


def facts() -> Facts:
    """The desk's tools: each takes its slots and what came before."""
    cards = [_card(action, names) for action, names in slots().items()]
    return Facts({card.name: card for card in (*cards, ToolCard("say", _arguments(["text"], {}), activity=False))})


def _card(action: str, names: list[str]) -> ToolCard:
    result = CHECKED if action in CHECKS else {"type": "object"}
    effect = "once" if action in CHANGES else "pure"
    example = {"ok": True, "found": action}
    return ToolCard(action, _arguments(["slots", "before"], dict.fromkeys(names, TEXT)), result, example, effect=effect)


def _arguments(names: list[str], given: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = dict.fromkeys(names, True)
    if "slots" in names:
        properties["slots"] = {"type": "object", "properties": given, "additionalProperties": False}
    return {"type": "object", "properties": properties, "required": names[:1], "additionalProperties": False}


def plan_of(flow: str) -> Saved:
    """A flow as a saved plan."""
    actions = recorded()["kb"][flow]
    steps = [_step(number, actions) for number in range(len(actions))]
    last = steps[-1]
    trouble = ["state.trouble"] if any(action in CHANGES for action in actions) else []
    told = {"_tool": "say", "_scopes": ["input", "state.steps", *trouble], "text": f"†{last['_outputPath']}"}
    return library.saved(flow, model.read([*steps, told]), _inputs(actions), about=f"Service flow {flow}")


def _step(number: int, actions: list[str]) -> dict[str, Any]:
    action = actions[number]
    step: dict[str, Any] = {"_tool": action, "_outputPath": f"state.steps.{_name(number, actions)}"}
    step["slots"] = {name: f"†input.{name}" for name in slots()[action]}
    if number:
        step["before"] = f"†state.steps.{_name(number - 1, actions)}"
    if action in CHANGES:
        checks = [f"state.steps.{_name(at, actions)}.ok" for at in range(number) if actions[at] in CHECKS]
        step["_outputPath"] += f" || state.trouble.{_name(number, actions)}"
        step |= {"_when": " && ".join(checks)} if checks else {}
    return step


def _name(number: int, actions: list[str]) -> str:
    return f"s{number}_{actions[number].replace('-', '_')}"


def _inputs(actions: list[str]) -> dict[str, Any]:
    names = dict.fromkeys(name for action in actions for name in slots()[action])
    return {"type": "object", "properties": dict.fromkeys(names, TEXT), "additionalProperties": False}


def goal_of(group: str, name: str) -> goals.Goal:
    """A guideline in words as a goal with its tasks in order."""
    actions = recorded()["guidelines"][group]["subflows"][name]["actions"]
    tasks = [
        {
            "id": f"t{number}",
            "title": (action["text"] or action["button"])[:300],
            "needs": [f"t{number - 1}"] if number else [],
        }
        for number, action in enumerate(actions)
    ]
    return goals.read({"id": "flow", "title": name, "tasks": tasks})
