"""What happened, in a supervisor's words. Pure: entries, lines and values in, sentences out; nothing is read here.

An entry that was erased says so; a kind that is not known here is named as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentstate.engine.lifecycle import SessionStatus
from sessions import money

if TYPE_CHECKING:
    from sessions.queries import SessionLine

Data = dict[str, Any]
LONGEST = 160  # characters of one value in a list
MOST_FACTS = 5  # of one result in one line
MOST_ROWS = 80  # of a scratchpad on a page
MOST_OF_GROUP = 6  # of them beside a conversation
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)")


class Sentence(NamedTuple):
    """What an entry says: the act, what it was about, and whose dot it bears ("p" people, "r" risk, "" software)."""

    act: str
    about: str = ""
    mark: str = ""


class Group(NamedTuple):
    """Rows of a scratchpad under one name. `more` are left out."""

    name: str
    title: str
    rows: list[tuple[str, str]]
    more: int


class Doing(NamedTuple):
    """What a session does now, with the icon beside it."""

    icon: str
    text: str


DOING = {
    SessionStatus.IDLE: Doing("quote", "Listening"),
    SessionStatus.EXPIRED: Doing("clock", "Expired"),
    SessionStatus.PLANNING: Doing("live", "Thinking"),
    SessionStatus.EXECUTING: Doing("tool", "Working"),
    SessionStatus.WAITING_FEEDBACK: Doing("decide", "Needs a decision"),
    SessionStatus.PAUSED: Doing("pause", "Paused"),
    SessionStatus.DONE: Doing("check", "Ended"),
    SessionStatus.FAILED: Doing("warn", "Cannot go on"),
    SessionStatus.CANCELLED: Doing("stop", "Stopped"),
}
STANDS = {
    SessionStatus.IDLE: "The agent waits for the customer.",
    SessionStatus.EXPIRED: "Expired, reopens with the next message.",
    SessionStatus.PLANNING: "The agent works out what to say or do.",
    SessionStatus.EXECUTING: "The agent carries out a step.",
    SessionStatus.WAITING_FEEDBACK: "A step waits for a person to decide.",
    SessionStatus.PAUSED: "A person stopped it; it may go on.",
    SessionStatus.DONE: "The conversation is over.",
    SessionStatus.FAILED: "The agent cannot go on by itself.",
    SessionStatus.CANCELLED: "A person stopped it for good.",
}
SEALED = {
    "asked": "nothing follows any more",
    "erased": "its customer was erased",
    "pruned": "its words were deleted",
}
OUTCOMES = {
    "pending": ("decide", "Needs a decision", ""),
    "approved": ("check", "Approved", ""),
    "edited": ("check", "Edited, approved", "people"),
    "rejected": ("x", "Rejected", ""),
    "responded": ("quote", "Asked again", "people"),
    "ignored": ("x", "Left alone", ""),
    "expired": ("clock", "Expired", "time"),
    "withdrawn": ("undo", "Withdrawn", ""),
    "superseded": ("undo", "Replaced", ""),
    "failed": ("warn", "Failed", "risk"),
}
_SHOWN = {"tool": "Result", "summary": "In short", "customer": "Customer"}
_SPEAKERS = {"customer": "Caller", "agent": "Agent", "staff": "Colleague", "note": "Note"}


def doing(line: SessionLine) -> Doing:
    """What a session does now. An open request comes first: it is what a person is needed for, but for a pause."""
    status = SessionStatus(line.status)
    waits = line.open_requests and status is not SessionStatus.PAUSED
    return DOING[SessionStatus.WAITING_FEEDBACK if waits else status]


def stands(status: str) -> str:
    """Where a session stands, as a sentence."""
    return STANDS[SessionStatus(status)]


def speaker(role: str) -> str:
    """Who says something, in one word."""
    return _SPEAKERS.get(role, role)


def spoken_by(role: str) -> str:
    """Whose words a model was shown."""
    return _SHOWN.get(role) or speaker(role)


def happening(name: str) -> str:
    """What a chart waits for: call.returned.load_customer becomes "load customer returned"."""
    kind, _, rest = name.partition(".")
    what, _, tool = rest.partition(".")
    if kind == "after":
        return f"the time at {plain(rest.partition('#')[0]).lower()} is up"
    told = f"{plain(tool)} {what}" if tool and kind in ("call", "request") else name.replace(".", " ")
    return told.replace("_", " ").lower()


def result(shown: str) -> str:
    """What a tool gave back, as a model was shown it, in words."""
    try:
        given = msgspec.json.decode(shown)
    except (msgspec.MsgspecError, RecursionError):
        return shown
    if not isinstance(given, dict):
        return value(given)
    return value(given["result"]) if "result" in given else facts({k: v for k, v in given.items() if k != "status"})


def plain(name: str) -> str:
    """A name of code as words: load_customer becomes "Load customer"."""
    words = name.rsplit(".", 1)[-1].replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:] if words else name


def value(given: object) -> str:
    """A value on one line."""
    if money.is_money(given):
        return money.show(given)
    if isinstance(given, bool):
        return "yes" if given else "no"
    if given is None:
        return "nothing"
    if isinstance(given, int | Decimal | float):
        return str(given)
    if isinstance(given, dict):
        return account(given) or facts(given)
    if isinstance(given, list):
        return _listed(given)
    return _clipped(text(str(given)))


def text(given: str) -> str:
    """A text as it is, but an instant as pages write it: in UTC, to the minute."""
    if not _INSTANT.fullmatch(given):
        return given
    try:
        return f"{datetime.fromisoformat(given).astimezone(UTC):%d %b %Y %H:%M}"
    except (ValueError, OverflowError):
        return given


def account(given: Data) -> str:
    """An account in short, "savings ··2207", or nothing when the value is none."""
    if not (isinstance(given.get("kind"), str) and isinstance(given.get("last4"), str)):
        return ""
    balance = given.get("balance")
    return f"{given['kind']} ··{given['last4']}" + (f", {money.show(balance)}" if money.is_money(balance) else "")


def facts(given: Data) -> str:
    """The facts of an object on one line: lists are counted, the rest is named."""
    told = []
    for name, item in list(given.items())[:MOST_FACTS]:
        if isinstance(item, list) and item and isinstance(item[0], dict):
            told.append(f"{len(item)} {name}")
        elif name == "at" and isinstance(item, str):
            told.append(text(item))
        elif item not in (None, "", [], {}):
            told.append(f"{plain(name).lower()} {value(item)}")
    return _clipped(", ".join(told))


def _listed(items: list[Any]) -> str:
    return _clipped(", ".join(value(item) for item in items[:MOST_FACTS]) + (", …" if len(items) > MOST_FACTS else ""))


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def rows(pad: Data, path: str = "") -> list[tuple[str, str]]:
    """A scratchpad as paths and values, bounded."""
    found = []
    for row in _rows(pad, path):
        found.append(row)
        if len(found) == MOST_ROWS:
            break
    return found


def groups(shown: list[tuple[str, str]]) -> list[Group]:
    """Rows by the first name of their paths, in that order; of each the first few."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path, told in shown:
        name, _, rest = path.partition(".")
        found.setdefault(name, []).append((_place(rest) or plain(name), told))
    return [
        Group(name, plain(name), held[:MOST_OF_GROUP], max(0, len(held) - MOST_OF_GROUP))
        for name, held in found.items()
    ]


def _place(path: str) -> str:
    """accounts.0.holder becomes "Accounts 1 holder"."""
    parts = [str(int(part) + 1) if part.isdecimal() else plain(part).lower() for part in path.split(".") if part]
    told = " ".join(parts)
    return told[:1].upper() + told[1:]


def _rows(given: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(given, dict) and given and not money.is_money(given) and not account(given):
        for name, item in given.items():
            yield from _rows(item, f"{path}.{name}" if path else name)
    elif isinstance(given, list) and any(isinstance(item, dict) for item in given):
        for number, item in enumerate(given):
            yield f"{path}.{number}", value(item)
    else:
        yield path, value(given)


def entry(kind: str, data: Data | None, tool: str = "") -> Sentence:
    """What an entry says. `tool` is the tool of the call that it is about, when the entry itself does not name it."""
    if data is None:
        return Sentence(plain(kind), "erased with its subject, or pruned")
    tell = _TELL.get(kind)
    return tell(data, plain(tool) if tool else "Step") if tell else Sentence(kind)


def _message(data: Data, tool: str) -> Sentence:
    role = str(data.get("role", ""))
    return Sentence(f"{speaker(role)} said", f"“{_clipped(data['text'])}”", "p" if role == "staff" else "")


def _opened(data: Data, tool: str) -> Sentence:
    return Sentence("Call answered" if data.get("channel") == "phone" else "Chat opened", data.get("topic", ""))


def _requested(data: Data, tool: str) -> Sentence:
    return Sentence("Needs a decision", f"{data['preview'] or plain(data['tool'])}. Rule {data['rule']}", "r")


_DECIDED = {"approve": "Approved", "edit": "Edited and approved", "reject": "Rejected", "respond": "Asked again"}


def _decided(data: Data, tool: str) -> Sentence:
    decision = str(data["decision"])
    return Sentence(_DECIDED.get(decision, decision), data.get("reason") or data.get("response", ""), "p")


def _ended_request(data: Data, tool: str) -> Sentence:
    word = OUTCOMES.get(data["outcome"], ("", data["outcome"], ""))[1]
    return Sentence(f"Request closed: {word.lower()}", data.get("because", ""))


def _failed_tool(data: Data, tool: str) -> Sentence:
    again = ", will be tried again" if data.get("retry_at") else ""
    return Sentence(f"{tool} failed", f"{data['reason']}{again}", "" if again else "r")


def _failed_model(data: Data, tool: str) -> Sentence:
    again = ", will be asked again" if data.get("retry_at") else ""
    return Sentence("The model gave no answer", f"{data['reason']}{again}", "" if again else "r")


def _long(seconds: int) -> str:
    """A length of time in the largest unit that it fills."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}{'s' if seconds >= 2 * size else ''}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def _adapted(data: Data, tool: str) -> Sentence:
    known = data["adaptation"].get("mappings", [])
    applied = ", ".join(plain(name.replace(".", " ")).lower() for name in known)
    return Sentence("Learned what the profile says", applied or "nothing that changes a step")


def _moved_chart(data: Data, tool: str) -> Sentence:
    """Where the chart stands, in its innermost state, and on what it moved."""
    if data.get("stopped"):
        return Sentence("The chart was stopped", str(data["stopped"]), "r")
    here = [plain(name) for name in data["after"].get("configuration", ())][-1:]
    on = f"signal {data['event']}" if data.get("by") else data["event"] or "it begins"
    return Sentence(f"Stands at {', '.join(here).lower() or 'nothing'}", on, "p" if data.get("by") else "")


def _answered(data: Data, tool: str) -> Sentence:
    calls = [plain(call["tool"]).lower() for call in data.get("calls", ())]
    return Sentence("The model answered", f"proposes {', '.join(calls)}" if calls else "")


def _changed(data: Data, tool: str) -> Sentence:
    told = [f"{plain(write['path'])}: {_written(write)}" for write in data["writes"][:MOST_FACTS]]
    return Sentence("Changed the state", _clipped("; ".join(told)), "p")


def _written(write: Data) -> str:
    held = "removed" if write.get("removed") else value(write.get("value"))
    return f"{held}, instead of {value(write['lost'][0])}" if write.get("lost") else held


def _contested(data: Data, tool: str) -> Sentence:
    settles = "a person must settle it" if data["rule"] == "arbiter" else f"{data['quorum']} votes settle it"
    return Sentence(f"{plain(data['path'])} is contested", f"{_proposal(data['proposal'])}; {settles}", "r")


def _proposal(proposal: Data) -> str:
    return value(proposal["value"][0]) if proposal["value"] else "nothing"


def _settled(data: Data, tool: str) -> Sentence:
    if data["outcome"] == "withdrawn":
        return Sentence("A contested value was let be", data.get("reason", ""))
    held = value(data["value"][0]) if data.get("value") else "nothing"
    return Sentence("Settled" if data["outcome"] == "arbitrated" else "Settled by votes", held, "p")


def _named(data: Data, tool: str) -> Sentence:
    return Sentence("Checkpoint", f"“{data['name']}”, the state after entry {data['seq'] - 1}", "p")


def _put_back(data: Data, tool: str) -> Sentence:
    lasting = len(data.get("lasting", ())) + data.get("more", 0)
    stays = f"; {lasting} effects are not undone" if lasting > 1 else "; one effect is not undone" if lasting else ""
    return Sentence(f"Put back to entry {data['to'] - 1}", f"{data['reason']}{stays}", "p")


def _put_right(data: Data, tool: str) -> Sentence:
    meant = ", ".join(data["entities"]) or "nothing that is known"
    return Sentence("A reference was put right", _clipped(f"“{data['mention']}” means {meant}"), "p")


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
    return Sentence(f"{plain(data['tool'])} has all it needs", about)


def _dropped(data: Data, tool: str) -> Sentence:
    told = "; ".join(f"{call['name']} {call['status']}: {call['reason']}" for call in data["calls"][:MOST_FACTS])
    more = len(data["calls"]) - MOST_FACTS
    where = f"{data['instance']}: " if data.get("instance") else ""
    blocked = any(call["status"] == "blocked" for call in data["calls"])
    return Sentence(
        "Will not run", _clipped(f"{where}{told}" + (f" and {more} more" if more > 0 else "")), "r" if blocked else ""
    )


def _round_ended(data: Data, tool: str) -> Sentence:
    counts = ", ".join(f"{count} {status}" for status, count in data["counts"].items())
    of = data.get("instances") or {}
    each = f"; {of.get('well', 0)} of {sum(of.values())} instances went well" if of else ""
    return Sentence(
        "Plan carried out" if not data.get("because") else "Plan dropped", f"{data.get('because') or counts}{each}"
    )


def _migrated(data: Data, tool: str) -> Sentence:
    held = ", and stays there" if data.get("held") else ""
    return Sentence("The state took another form", f"{data['schema']} {data['before']} to {data['after']}{held}")


_TRIGGERS = {
    "customer": "the customer spoke",
    "tool": "a result came",
    "note": "a colleague left a note",
    "opened": "the session was opened",
}
_RESTS = {
    "customer": "until the customer speaks",
    "decision": "until somebody decides",
    "retry": "until the next try",
    "nobody": "for good",
    "resume": "until a person lets it go on",
    "delegate": "until another session has done its task",
}
RATINGS = {-2: "of no use", -1: "of little use", 0: "neither", 1: "of use", 2: "of much use"}


def _range(data: Data) -> str:
    return f"entries {data['first']} to {data['last']}"


_TELL: dict[str, Callable[[Data, str], Sentence]] = {
    "session.opened": _opened,
    "message.added": _message,
    "run.started": lambda data, tool: Sentence("The agent set to work", _TRIGGERS.get(data["trigger"], "")),
    "run.rested": lambda data, tool: Sentence("The agent rests", _RESTS.get(data["waiting_for"], "")),
    "model.requested": lambda data, tool: Sentence("Asked the model", data["model"]),
    "model.answered": _answered,
    "model.failed": _failed_model,
    "call.allowed": lambda data, tool: Sentence(f"{tool} allowed", f"rule {data['rule']}, tier {data['tier']}"),
    "call.refused": lambda data, tool: Sentence(f"{tool} refused", data["reason"], "r"),
    "approval.requested": _requested,
    "decision.made": _decided,
    "request.ended": _ended_request,
    "tool.intended": lambda data, tool: Sentence(f"{plain(data['tool'])} begins", f"attempt {data['attempt']}"),
    "tool.returned": lambda data, tool: Sentence(f"{tool} done", value(data["result"])),
    "tool.failed": _failed_tool,
    "plan.proposed": _plan_proposed,
    "plan.committed": _plan,
    "plan.instance_opened": lambda data, tool: Sentence("Instance opened", data["instance"]),
    "subject.erased": lambda data, tool: Sentence("Data subject erased", "what concerns them cannot be read any more"),
    "call.readied": _readied,
    "plan.calls_dropped": _dropped,
    "plan.round_ended": _round_ended,
    "call.delegated": lambda data, tool: Sentence(f"{tool} handed over", f"to session {data['session']}"),
    "task.taken": lambda data, tool: Sentence("Does the task of another session", data["parent"]),
    "data.added": lambda data, tool: Sentence(f"{plain(data['of'])} added", value(data["data"]), "p"),
    "goals.set": lambda data, tool: Sentence("Goal taken apart", str(data["tree"].get("title", "")), _by(data)),
    "checkpoint.named": _named,
    "chart.moved": _moved_chart,
    "state.changed": _changed,
    "conflict.opened": _contested,
    "value.proposed": lambda data, tool: Sentence("Proposed", _proposal(data["proposal"]), "p"),
    "vote.cast": lambda data, tool: Sentence("Voted", data.get("reason", ""), "p"),
    "conflict.ended": _settled,
    "session.rolled_back": _put_back,
    "session.forked": lambda data, tool: Sentence(f"Forked at entry {data['seq'] - 1}", data["reason"], "p"),
    "message.drafted": lambda data, tool: Sentence("The agent would have said", f"“{_clipped(data['text'])}”"),
    "fork.promoted": lambda data, tool: Sentence("The fork took over", data["reason"], "p"),
    "session.superseded": lambda data, tool: Sentence("Another version goes on", data["reason"], "p"),
    "item.pinned": lambda data, tool: Sentence("Pinned", f"entry {data['seq']} stays in its own words", "p"),
    "item.unpinned": lambda data, tool: Sentence("Unpinned", f"entry {data['seq']}", "p"),
    "item.rated": lambda data, tool: Sentence("Rated", f"entry {data['seq']}: {RATINGS.get(data['rating'], '')}", "p"),
    "summary.requested": lambda data, tool: Sentence("Asked the model for a summary", _range(data)),
    "summary.made": lambda data, tool: Sentence("Summarised", f"{_range(data)}, {data['count']} in all"),
    "session.expired": lambda data, tool: Sentence("Expired", f"nothing happened for {_long(data['idle'])}"),
    "session.reopened": lambda data, tool: Sentence("Reopened", "somebody spoke again"),
    "session.paused": lambda data, tool: Sentence("Paused", data["reason"], "p"),
    "session.resumed": lambda data, tool: Sentence("Goes on", "", "p"),
    "session.cancelled": lambda data, tool: Sentence("Stopped for good", data["reason"], "p"),
    "payload.pruned": lambda data, tool: Sentence("Words deleted", f"the term of {data['retention']} was over"),
    "session.sealed": lambda data, tool: Sentence("Sealed", SEALED[data["why"]], "p" if data["by"] else ""),
    "session.ended": lambda data, tool: Sentence("Ended", data["reason"]),
    "user.adapted": _adapted,
    "talk.declared": lambda data, tool: Sentence("What the talk is about was declared anew"),
    "topic.opened": lambda data, tool: Sentence("New topic", data["label"] or plain(data["topic"]), "p"),
    "topic.switched": lambda data, tool: Sentence("The topic is", data["label"] or plain(data["topic"]), "p"),
    "topic.resumed": lambda data, tool: Sentence("Back to the topic", plain(data["topic"]), "p"),
    "topic.closed": lambda data, tool: Sentence("Topic closed", plain(data["topic"]), "p"),
    "reference.corrected": _put_right,
    "state.migrated": _migrated,
    "state.pruned": lambda data, tool: Sentence(
        "Cleared out what nothing reads", ", ".join(data["paths"][:MOST_FACTS])
    ),
    "session.failed": lambda data, tool: Sentence("The agent cannot go on", data["reason"], "r"),
}
