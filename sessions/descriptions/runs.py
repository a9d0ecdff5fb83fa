"""What entries about the agent at work say: runs, model requests, calls of tools."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import plain, unwritten, value


def _failed_tool(data: Data, tool: str) -> Sentence:
    until = f" until {data['retry_until'][11:19]}" if data.get("retry_until") else ""
    again = f", will be retried{until}" if data.get("retry_at") else ""
    return Sentence(f"{tool} failed", f"{data['reason']}{again}{unwritten(data)}", "" if again else "r")


def _failed_model(data: Data, tool: str) -> Sentence:
    again = ", will be retried" if data.get("retry_at") else ""
    return Sentence("Model request failed", f"{data['reason']}{again}", "" if again else "r")


def _answered(data: Data, tool: str) -> Sentence:
    calls = [plain(call["tool"]).lower() for call in data.get("calls", ())]
    parts = [f"proposes {', '.join(calls)}"] if calls else []
    if cut := data.get("cut"):
        parts.append(f"text too long: the last {cut:,} characters were not sent")
    return Sentence("Model replied", "; ".join(parts))


_BOUNDS = {
    "tokens": "tokens",
    "money": "money",
    "no_price": "no price",
    "steps": "model requests",
    "calls": "calls",
    "time": "time",
    "circle": "loop detected",
    "output": "unusable output",
    "refusals": "too many rejections",
}


def _granted(data: Data, tool: str) -> Sentence:
    given = [f"{data[name]} {word}" for name, word in _GRANTED.items() if data.get(name)]
    return Sentence(f"Budget extended by {', '.join(given)}" if given else "Budget extended", data["reason"], "p")


_GRANTED = {
    "tokens": "tokens",
    "micros": "millionths",
    "steps": "model requests",
    "seconds": "seconds",
    "calls": "calls",
}
_TRIGGERS = {
    "customer": "the customer replied",
    "tool": "a result arrived",
    "note": "a colleague left a note",
    "granted": "a person extended the budget",
    "opened": "the session was opened",
    "trigger": "a trigger fired",
}
_RESTS = {
    "customer": "waiting for the customer",
    "decision": "waiting for a decision",
    "retry": "waiting for a retry",
    "nobody": "permanently",
    "resume": "waiting for a budget extension",
    "colleague": "a person has taken over",
    "stop": "stopped",
    "stuck": "waiting for a repair",
    "delegate": "waiting for a delegate session",
}


TELL: dict[str, Tell] = {
    "run.started": lambda data, tool: Sentence("Agent started", _TRIGGERS.get(data["trigger"], "")),
    "run.rested": lambda data, tool: Sentence("Agent idle", _RESTS.get(data["waiting_for"], "")),
    "run.stopped": lambda data, tool: Sentence(f"Run stopped: {_BOUNDS[data['code']]}", data["reason"], "r"),
    "run.granted": _granted,
    "run.interrupted": lambda data, tool: Sentence("Customer interrupted", "the unsent reply is discarded"),
    "circle.noticed": lambda data, tool: Sentence("Loop detected", f"{data['times']} times; the agent was warned", "r"),
    "model.requested": lambda data, tool: Sentence("Model requested", data["model"]),
    "model.answered": _answered,
    "model.failed": _failed_model,
    "call.allowed": lambda data, tool: Sentence(f"{tool} allowed", f"rule {data['rule']}, tier {data['tier']}"),
    "call.withdrawn": lambda data, tool: Sentence(
        f"{tool} withdrawn, not done", data["because"], "r" if data.get("request") else ""
    ),
    "call.refused": lambda data, tool: Sentence(f"{tool} refused", data["reason"], "r"),
    "tool.intended": lambda data, tool: Sentence(f"{plain(data['tool'])} begins", f"attempt {data['attempt']}"),
    "tool.returned": lambda data, tool: Sentence(f"{tool} done", value(data["result"])),
    "tool.failed": _failed_tool,
}
