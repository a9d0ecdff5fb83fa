"""What rules of a policy ask for, in a supervisor's words."""

from __future__ import annotations

from agentstate.engine.policy import Rule

REACH = {
    "session": "in this session",
    "customer": "in every session of this customer",
    "agent": "in every session of this agent in the team",
}
MOVES = {
    "stopped": "Would need approval",
    "let through": "Would run",
    "stricter": "Stricter",
    "laxer": "Less strict",
    "same": "Unchanged",
    "unknown": "Tool missing",
}


def lasting(seconds: int) -> str:
    """A length of time in words: `10 minutes`."""
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {name}{'' if seconds == size else 's'}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def reaching(scope: str) -> str:
    """Where a grant of this scope holds."""
    return REACH[scope]


def asks(rule: Rule) -> list[str]:
    """What a rule asks for, a sentence each."""
    if rule.gate == "allow":
        return ["Runs without approval."]
    if rule.gate == "refuse":
        return ["Refused. The agent gets the reason."]
    if rule.gate == "hold":
        return [f"Runs after {lasting(rule.hold)} unless stopped.", *_of_people(rule)]
    many = "One approval" if rule.quorum == 1 else f"{rule.quorum} approvals"
    return [f"{many} within {lasting(rule.expires_in)}.", *_of_people(rule)]


def _of_people(rule: Rule) -> list[str]:
    told = []
    if rule.reviewers:
        told.append(f"Only {_either(rule.reviewers)}.")
    if rule.four_eyes:
        told.append("Not the requester, the session's owner or an earlier approver.")
    if rule.reasons:
        told.append(f"With a reason: {_either(rule.reasons)}.")
    if rule.retype:
        told.append(f"They confirm: {', '.join(rule.retype)}.")
    told += [f"Escalates to {_either(step.reviewers)} after {lasting(step.after)}." for step in rule.chain]
    if rule.hold and rule.gate == "approve":
        told.append(f"Then a delay of {lasting(rule.hold)}, in which the call can be stopped.")
    if rule.sticky is not None:
        least = f"at most {rule.sticky.uses} times in {lasting(rule.sticky.seconds)}"
        limit = f", while {rule.sticky.limit}" if rule.sticky.limit else ""
        told.append(f"The approver may give a standing approval {reaching(rule.sticky.scope)}: {least}{limit}.")
    return told


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(name.replace(":", " ") for name in names)
