"""The folder that an installation of the attack suite brings: policies with their cases, charts, settings.

The rules of the policy `hunt` are chosen by a session's topic, so that one installation holds every sort of rule.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import BANK_LIBRARY

Json = dict[str, Any]
CODES = ["called_back", "payee_known"]
SOON, BRIEF = 20, 4  # seconds to decide, where a test waits until they are over
AMOUNT = "arguments.amount.minor"


def _rule(name: str, tools: str, when: str, tier: int, gate: str = "approve", **more: Any) -> Json:
    return {"name": name, "tools": tools.split(), "when": when, "tier": tier, "gate": gate, "why": f"{name}.", **more}


def _topic(topic: str) -> str:
    return f"session.topic == '{topic}'"


#: Each rule with the case that it decides: tool, arguments, topic, channel. The rules of a topic come first.
RULES: tuple[tuple[Json, Json], ...] = (
    (_rule("two", "transfer", _topic("two"), 2, quorum=2), {"minor": 100, "topic": "two", "state": {"calm": True}}),
    (
        _rule("risky", "transfer", "session.topic == 'two' && (!has(state.calm) || !state.calm)", 3, quorum=2),
        {"minor": 100, "topic": "two"},
    ),
    (
        _rule("four_eyes", "transfer act", _topic("four eyes"), 2, four_eyes=True),
        {"minor": 100, "topic": "four eyes"},
    ),
    (
        _rule("seniors", "transfer", _topic("seniors"), 2, reviewers=["team:seniors"]),
        {"minor": 100, "topic": "seniors"},
    ),
    (
        _rule(
            "standing", "transfer", _topic("standing"), 2, reviewers=["team:seniors"],
            sticky={"scope": "session", "seconds": 3600, "uses": 3, "limit": f"{AMOUNT} <= granted.amount.minor"},
        ),
        {"minor": 100, "topic": "standing"},
    ),
    (
        _rule(
            "chain", "transfer", _topic("chain"), 2, quorum=2, reviewers=["role:supervisor", "team:seniors"],
            chain=[{"after": 300, "reviewers": ["team:seniors"]}],
        ),
        {"minor": 100, "topic": "chain"},
    ),
    (
        _rule(
            "day", "transfer",
            "session.topic == 'day' && 'transfer' in history.today.moved"
            f" && history.today.moved.transfer.USD + {AMOUNT} > 20000",
            3, retype=[AMOUNT],
        ),
        {"minor": 100, "topic": "day", "moved": 20000},
    ),
    (_rule("day.small", "transfer", _topic("day"), 1, "allow"), {"minor": 100, "topic": "day"}),
    (
        _rule("soon", "transfer act", _topic("soon"), 2, expires_in=SOON, hold=60),
        {"minor": 100, "topic": "soon"},
    ),
    (_rule("brief", "transfer act", _topic("brief"), 2, expires_in=BRIEF), {"minor": 100, "topic": "brief"}),
    (_rule("held", "transfer act", _topic("held"), 2, hold=3), {"minor": 100, "topic": "held"}),
    (_rule("reads", "check wait load_customer", "true", 0, "allow"), {"tool": "check"}),
    (_rule("delegates", "delegate", "true", 1, "allow"), {"tool": "delegate"}),
    (_rule("notes", "note", "true", 1, "allow"), {"tool": "note"}),
    (
        _rule("plans.brief", "plan", "session.channel == 'chat' && session.topic == 'brief'", 2, expires_in=BRIEF),
        {"tool": "plan", "channel": "chat", "topic": "brief"},
    ),
    (_rule("plans.by_chat", "plan", "session.channel == 'chat'", 2), {"tool": "plan", "channel": "chat"}),
    (_rule("plans", "plan", "session.channel != 'chat'", 1, "allow"), {"tool": "plan"}),
    (_rule("acts", "act redo ring_1 ring_2 ring_3 ring_4", "true", 2), {"tool": "act"}),
    (_rule("letters", "post_letter", "true", 2), {"tool": "post_letter"}),
    (_rule("transfers", "transfer", "!(session.topic in ['day', 'standing'])", 2), {"minor": 100}),
    (_rule("high", "transfer", f"{AMOUNT} > 250000", 3, retype=[AMOUNT]), {"minor": 250001}),
    (
        _rule(
            "new_payee", "transfer", "arguments.new_payee", 3,
            hold=2, reasons=CODES, retype=[AMOUNT],
        ),
        {"minor": 100, "arguments": {"new_payee": True}},
    ),
)  # fmt: skip
EFFECTS = {"check": "pure", "plan": "pure", "post_letter": "once"}


def _case(rule: Json, given: Json) -> Json:
    tool = given.get("tool", "transfer")
    arguments = {"amount": {"minor": given["minor"], "currency": "USD"}} if "minor" in given else {}
    usual = {"amount": {"minor": 100, "currency": "USD"}, "new_payee": False}
    moved = {"transfer": {"USD": given["moved"]}} if "moved" in given else {}
    return {
        "name": rule["name"], "tool": tool, "effect": EFFECTS.get(tool, "idempotent"),
        "arguments": {**usual, **arguments, **given.get("arguments", {})},
        "given": {
            "session": {"agent": "hunt", "channel": given.get("channel", "phone"), "topic": given.get("topic", "")},
            "state": given.get("state", {}),
            "history": {"today": {"moved": moved, "calls": {}}, "refusals": 0},
        },
        "want": {"gate": rule["gate"], "tier": rule["tier"], "rule": rule["name"]},
    }  # fmt: skip


#: For so long the chart lets the agent act; then, without anybody's doing, it does not.
WINDOW = 15
WINDOW_CHART: Json = {
    "name": "hunt-window", "version": 1, "title": "A window in which transfers are allowed",
    "initial": ["open"],
    "states": [
        {
            "id": "open",
            "transitions": [{"after": f"{WINDOW}s", "to": ["closed"]}, {"event": "session.ended", "to": ["over"]}],
        },
        {
            "id": "closed", "tools": ["check", "wait", "note"],
            "transitions": [{"event": "session.ended", "to": ["over"]}],
        },
        {"id": "over", "kind": "final"},
    ],
}  # fmt: skip
FRAUD_CHART: Json = {
    "name": "hunt-fraud", "version": 1, "title": "The fraud desk may hold a session",
    "events": ["fraud.suspected", "fraud.cleared", "fraud.brief"],
    "initial": ["serving"],
    "states": [
        {
            "id": "serving",
            "transitions": [
                {"event": "fraud.suspected", "to": ["held"]},
                {"event": "fraud.brief", "to": ["briefly"]},
                {"event": "session.ended", "to": ["over"]},
            ],
        },
        {
            "id": "held", "tools": [],
            "transitions": [{"event": "fraud.cleared", "to": ["serving"]}, {"event": "session.ended", "to": ["over"]}],
        },
        {
            "id": "briefly", "tools": [],
            "transitions": [{"after": "2s", "to": ["serving"]}, {"event": "session.ended", "to": ["over"]}],
        },
        {"id": "over", "kind": "final"},
    ],
}  # fmt: skip


def _schema(version: int) -> Json:
    """A schema of the state; the second version has a place for one thing more."""
    text = {"type": "string", "default": ""}
    properties = {name: {} for name in ("check", "act", "gate", "customer")} | ({"letter": text} if version > 1 else {})
    return {"name": "hunt", "version": version, "schema": {"type": "object", "properties": properties}}


def next_release(folder: Path) -> None:
    """Puts the next release in place of the first: another version of a chart and of the state's schema."""
    (folder / "charts" / "hunt-fraud.1.json").unlink()
    write_chart(folder, {**FRAUD_CHART, "version": 2})
    schemas = folder / "state_schemas" / "hunt"
    letter = {"op": "default", "path": "state.letter", "value": ""}
    (schemas / "2.json").write_text(json.dumps(_schema(2)))
    (schemas / "1-2.json").write_text(json.dumps({"schema": "hunt", "before": 1, "steps": [letter]}))


def written(folder: Path) -> dict[str, str]:
    """Writes the installation's files below `folder`; returns its settings."""
    policies, charts = folder / "policies" / "hunt", folder / "charts"
    policies.mkdir(parents=True)
    document = {"name": "hunt", "version": 1, "rules": [rule for rule, _ in RULES]}
    (policies / "1.json").write_text(json.dumps(document))
    (policies / "1.cases.json").write_text(json.dumps({"cases": [_case(*each) for each in RULES]}))
    charts.mkdir()
    (folder / "state_schemas" / "hunt").mkdir(parents=True)
    (folder / "state_schemas" / "hunt" / "1.json").write_text(json.dumps(_schema(1)))
    for chart in (WINDOW_CHART, FRAUD_CHART):
        write_chart(folder, chart)
    return {
        "TRUSTED_PROXIES": "127.0.0.1",
        "AGENT_MODULES": "hunters", "LIBRARY_FOLDERS": f"{BANK_LIBRARY},{folder}",
        "PYTHONPATH": str(Path(__file__).parent / "installed"),
    }  # fmt: skip


def write_chart(folder: Path, chart: Json) -> None:
    """Installs a version of a chart."""
    (folder / "charts" / f"{chart['name']}.{chart['version']}.json").write_text(json.dumps(chart))
