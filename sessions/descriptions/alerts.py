"""What entries about alerts say."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import long

SEVERITY = {"info": "Information", "warning": "Warning", "critical": "Critical"}
CAUSES = {
    "person": "closed by a person",
    "spoke_again": "a new message arrived",
    "taken_over": "a person took over",
    "decided": "the request was decided",
    "settled": "the cause was resolved",
    "went_on": "the agent continued",
    "ended": "the session ended",
    "withdrawn": "no human is needed",
    "put_back": "the session was rolled back",
    "rule_off": "the rule was turned off or changed",
    "sealed": "the session was sealed",
    "works_again": "the service recovered",
    "stopped_here": "this team stopped it too",
    "stop_lifted": "the stop ended",
    "answered": "the team answered",
    "space_again": "the disk has space again",
    "right_again": "a later check found no alteration",
}


def cause(code: str) -> str:
    """What has ended an alert, in words; a code of ours that has none, as it is."""
    return CAUSES.get(code, code.replace("_", " "))


def _raised(data: Data, tool: str) -> Sentence:
    return Sentence(f"Alert {data['name']}", f"{SEVERITY[data['severity']].lower()}: {why(data['why'])}", "r")


def _escalated(data: Data, tool: str) -> Sentence:
    return Sentence("Alert escalated", f"not acknowledged: now for {', '.join(data['to'])}", "r")


def _closed(data: Data, tool: str) -> Sentence:
    by_person = "p" if data["cause"] == "person" else ""
    return Sentence("Alert closed", data.get("reason") or cause(data["cause"]), by_person)


WHY = {
    "phrase": "a phrase of the rule was said",
    "silence": "no message for too long",
    "loop": "loop detected or budget used up",
    "stuck": "the session is blocked",
    "refused_often": "many refusals or rejections in a short time",
    "wants_person": "the customer wants a human",
    "deadline_near": "a request is close to its deadline",
    "expired": "a request expired without a decision",
    "tool_failed": "a tool failed repeatedly",
    "not_recovered": "a call failed and the agent did not recover",
    "condition": "its condition became true",
    "sla_at_risk": "a service level is close to being missed",
    "sla_missed": "a service level was missed",
    "stopped_elsewhere": "another team has stopped this; it still runs in this team",
    "stopped_everywhere": "this was stopped in every team",
    "disk_low": "less than 5 % of a disk is free; when it is full, nothing new can be saved",
    "log_missing": "a session was deleted from the database",
    "log_cut_off": "the end of a session was deleted in the database",
    "head_altered": "the head of a session was altered in the database",
    "tail_differs": "the end of a session was altered in the database",
    "session_missing": "a session was deleted from the database",
    "entry_missing": "an entry of a session was deleted in the database",
    "entry_altered": "an entry of a session was altered in the database",
    "entries_altered": "entries of a session were altered in the database",
    "payload_altered": "the content of a session was altered in the database",
    "payload_missing": "the content of a session was deleted in the database",
    "leaves_altered": "the global log was altered in the database",
    "head_refused": "the ledger was cut off, altered or restored from a backup",
    "decision_unsigned": "a decision was recorded, and its entry is not signed",
    "global_log_altered": "the global log was altered in the database",
    "proposal_made": "a proposal waits for this team's answer",
}


def why(code: str) -> str:
    """Why an alert was raised, in words; a code of ours that has none, as it is."""
    return WHY.get(code, code.replace("_", " "))


TELL: dict[str, Tell] = {
    "alert.raised": _raised,
    "alert.acknowledged": lambda data, tool: Sentence(
        "Alert acknowledged", "reassigned from a colleague" if data.get("from_whom") else "", "p"
    ),
    "alert.escalated": _escalated,
    "alert.closed": _closed,
}

_ROLES = {
    "supervisor": "supervisors",
    "admin": "admins",
    "viewer": "viewers",
    "privacy": "privacy staff",
    "privacy_officer": "privacy officers",
    "incident_manager": "incident managers",
}


def whom(names: list[str]) -> str:
    """Whom an alert is for, in words."""
    told = []
    for name in names:
        kind, _, of = name.partition(":")
        if kind == "owner":
            told.append("the person who took the session over")
        elif kind == "role":
            told.append(_ROLES.get(of, f"{of}s"))
        else:
            told.append(f"team {of}" if kind == "team" else of)
    return ", ".join(told)


WHAT = {"rule": "Alert rule", "target": "Service level", "calendar": "Calendar"}
ON = {
    "phrase": "Keyword said",
    "silence": "No message",
    "loop": "Loops and limits",
    "stuck": "Session blocked",
    "refused": "Repeated refusals",
    "person": "Human requested",
    "deadline": "Deadline near",
    "expired": "Request expired",
    "tool": "Repeated tool failure",
    "unrecovered": "Unresolved failure",
    "entry": "Entry condition",
    "level": "Service level",
}
LEVELS = {
    "first_response": "First response",
    "next_response": "Next response",
    "decide": "Time to decide",
    "resolution": "Resolution",
}


def about(what: str, definition: Data) -> str:
    """What a rule, target or calendar is, on one line."""
    if what == "rule":
        return ON[next(iter(definition["on"]))]
    if what == "target":
        by = f", by {definition['calendar']}" if definition["calendar"] else ", around the clock"
        return f"{LEVELS[definition['what']]} within {long(definition['seconds'])}{by}"
    return f"{definition['zone']}, {len(definition['week'])} days a week"
