"""What entries about alerts say."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import long

SEVERITY = {"info": "For information", "warning": "Warning", "critical": "Critical"}
CAUSES = {
    "person": "somebody says that it is over",
    "spoke_again": "somebody has spoken",
    "taken_over": "a person has the session",
    "decided": "the request has been decided",
    "settled": "what it was about is settled",
    "went_on": "the agent went on",
    "ended": "the session is over",
    "withdrawn": "no person is needed any more",
    "put_back": "the session was put back",
    "rule_off": "the rule was switched off or changed",
    "sealed": "the session was sealed",
    "works_again": "it works again",
    "stopped_here": "this team has stopped the same",
    "stop_lifted": "the stop was lifted",
    "answered": "the team has answered",
    "space_again": "the disk has space again",
    "right_again": "a later look found it right again",
}


def cause(code: str) -> str:
    """What has ended an alert, in words; a code of ours that has none, as it is."""
    return CAUSES.get(code, code.replace("_", " "))


def _raised(data: Data, tool: str) -> Sentence:
    return Sentence(f"Alert {data['name']}", f"{SEVERITY[data['severity']].lower()}: {why(data['why'])}", "r")


def _escalated(data: Data, tool: str) -> Sentence:
    return Sentence("Alert passed on", f"nobody acknowledged it: now for {', '.join(data['to'])}", "r")


def _closed(data: Data, tool: str) -> Sentence:
    by_person = "p" if data["cause"] == "person" else ""
    return Sentence("Alert closed", data.get("reason") or cause(data["cause"]), by_person)


WHY = {
    "phrase": "words that the rule listens for were said",
    "silence": "it has been silent for too long",
    "loop": "the agent goes round in circles, or has used up what it may",
    "stuck": "nothing goes on until somebody steps in",
    "refused_often": "much was refused or rejected in a short time",
    "wants_person": "the customer asks for a person",
    "deadline_near": "a request is close to its deadline",
    "expired": "nobody decided a request in time",
    "tool_failed": "a tool failed, again and again",
    "not_recovered": "a call failed and the agent did not get over it",
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
        "Alert acknowledged", "taken from a colleague" if data.get("from_whom") else "", "p"
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
            told.append("who has the session")
        elif kind == "role":
            told.append(_ROLES.get(of, f"{of}s"))
        else:
            told.append(f"team {of}" if kind == "team" else of)
    return ", ".join(told)


WHAT = {"rule": "Alert rule", "target": "Service level", "calendar": "Calendar"}
ON = {
    "phrase": "Words are said",
    "silence": "Nobody speaks",
    "loop": "Circles and bounds",
    "stuck": "Nothing goes on",
    "refused": "Refused again and again",
    "person": "A person is asked for",
    "deadline": "A deadline is near",
    "expired": "A request expired",
    "tool": "A tool keeps failing",
    "unrecovered": "A failure was left behind",
    "entry": "An entry, by condition",
    "level": "A service level",
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
