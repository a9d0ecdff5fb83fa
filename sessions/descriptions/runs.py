"""What entries about the agent at work say: runs, model requests, calls of tools."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import plain, unwritten, value


def _failed_tool(data: Data, tool: str) -> Sentence:
    until = f" until {data['retry_until'][11:19]}" if data.get("retry_until") else ""
    again = f", will be tried again{until}" if data.get("retry_at") else ""
    return Sentence(f"{tool} failed", f"{data['reason']}{again}{unwritten(data)}", "" if again else "r")


def _failed_model(data: Data, tool: str) -> Sentence:
    again = ", will be asked again" if data.get("retry_at") else ""
    return Sentence("The model gave no answer", f"{data['reason']}{again}", "" if again else "r")


def _answered(data: Data, tool: str) -> Sentence:
    calls = [plain(call["tool"]).lower() for call in data.get("calls", ())]
    parts = [f"proposes {', '.join(calls)}"] if calls else []
    if cut := data.get("cut"):
        parts.append(f"its text was too long: the last {cut:,} characters were not said")
    return Sentence("The model answered", "; ".join(parts))


_BOUNDS = {
    "tokens": "tokens",
    "money": "money",
    "no_price": "no price",
    "steps": "model requests",
    "calls": "calls",
    "time": "time",
    "circle": "going in circles",
    "output": "unusable output",
    "refusals": "people rejected too much",
}


def _granted(data: Data, tool: str) -> Sentence:
    given = [f"{data[name]} {word}" for name, word in _GRANTED.items() if data.get(name)]
    return Sentence(f"Let go on with {', '.join(given)} more" if given else "Let go on", data["reason"], "p")


_GRANTED = {
    "tokens": "tokens",
    "micros": "millionths",
    "steps": "model requests",
    "seconds": "seconds",
    "calls": "calls",
}
_TRIGGERS = {
    "customer": "the customer spoke",
    "tool": "a result came",
    "note": "a colleague left a note",
    "granted": "a person let it go on",
    "opened": "the session was opened",
    "trigger": "a trigger started it",
}
_RESTS = {
    "customer": "until the customer speaks",
    "decision": "until somebody decides",
    "retry": "until the next try",
    "nobody": "for good",
    "resume": "until a person lets it go on",
    "colleague": "while a person has the session",
    "stop": "until the stop is lifted",
    "stuck": "until a person settles a call",
    "delegate": "until another session has done its task",
}


TELL: dict[str, Tell] = {
    "run.started": lambda data, tool: Sentence("The agent set to work", _TRIGGERS.get(data["trigger"], "")),
    "run.rested": lambda data, tool: Sentence("The agent rests", _RESTS.get(data["waiting_for"], "")),
    "run.stopped": lambda data, tool: Sentence(f"The run was stopped: {_BOUNDS[data['code']]}", data["reason"], "r"),
    "run.granted": _granted,
    "run.interrupted": lambda data, tool: Sentence("The customer interrupted", "what was being said is dropped"),
    "circle.noticed": lambda data, tool: Sentence("Goes in circles", f"{data['times']} times, and was told so", "r"),
    "model.requested": lambda data, tool: Sentence("Asked the model", data["model"]),
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
