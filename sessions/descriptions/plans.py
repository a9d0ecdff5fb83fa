"""What entries about plans, tasks and goals say."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import MOST_FACTS, clipped, facts, plain


def _plan(data: Data, tool: str) -> Sentence:
    count = data.get("instances", 0)
    each = f", for each of {count} instances" if count else ""
    return Sentence(f"Plan {data['version']} in force", f"{len(data['calls'])} calls{each}", _by(data))


def _plan_proposed(data: Data, tool: str) -> Sentence:
    return Sentence("Plan proposed", f"{len(data['calls'])} calls", _by(data))


def _by(data: Data) -> str:
    return "p" if data.get("source") in ("person", "saved") else ""


def _readied(data: Data, tool: str) -> Sentence:
    about = f"for {data['instance']}" if data.get("instance") else facts(data["arguments"])
    return Sentence(f"{plain(data['tool'])} ready", about)


def _dropped(data: Data, tool: str) -> Sentence:
    each = (f"label {call['name']} {call['status']}: {call['reason']}" for call in data["calls"][:MOST_FACTS])
    told = "; ".join(each)
    more = len(data["calls"]) - MOST_FACTS
    where = f"{data['instance']}: " if data.get("instance") else ""
    blocked = any(call["status"] == "blocked" for call in data["calls"])
    return Sentence(
        "Will not run", clipped(f"{where}{told}" + (f" and {more} more" if more > 0 else "")), "r" if blocked else ""
    )


def _round_ended(data: Data, tool: str) -> Sentence:
    counts = ", ".join(f"{count} {status}" for status, count in data["counts"].items())
    of = data.get("instances") or {}
    each = f"; {of.get('well', 0)} of {sum(of.values())} instances succeeded" if of else ""
    return Sentence(
        "Plan completed" if not data.get("because") else "Plan cancelled", f"{data.get('because') or counts}{each}"
    )


def _customers_added(data: Data, tool: str) -> Sentence:
    count = len(data["customers"])
    people = "1 person" if count == 1 else f"{count} people"
    return Sentence("Excluded from approving", f"{people} wrote as the customer in the requesting session")


TELL: dict[str, Tell] = {
    "plan.proposed": _plan_proposed,
    "plan.committed": _plan,
    "plan.instance_proposed": lambda data, tool: Sentence("Instance proposed", data["instance"]),
    "plan.instance_opened": lambda data, tool: Sentence("Instance opened", data["instance"]),
    "call.readied": _readied,
    "plan.calls_dropped": _dropped,
    "plan.round_ended": _round_ended,
    "call.delegated": lambda data, tool: Sentence(f"{tool} delegated", f"to session {data['session']}"),
    "task.taken": lambda data, tool: Sentence("Delegated task started", data["parent"]),
    "task.customers_added": _customers_added,
    "task.delivered": lambda data, tool: Sentence("Delegated result counted", data["session"]),
    "delegate.counted": lambda data, tool: Sentence("Delegate usage counted", f"session {data['session']}"),
    "delegate.opened": lambda data, tool: Sentence("Delegate opened", f"session {data['session']}"),
    "delegate.ended": lambda data, tool: Sentence(
        "Delegate ended", f"session {data['session']}, {data.get('steps', 0)} model requests"
    ),
    "goals.set": lambda data, tool: Sentence("Goal set", str(data["tree"].get("title", "")), _by(data)),
}
