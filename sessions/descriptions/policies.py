"""What rules of a policy ask for, in a supervisor's words."""

from __future__ import annotations

from agentstate.engine.policy import Rule

REACH = {
    "session": "in this session",
    "customer": "in every session of this customer",
    "agent": "in every session of this agent in the team",
}
MOVES = {
    "stopped": "Would have stopped",
    "let through": "Would have gone on",
    "stricter": "Asked for more",
    "laxer": "Asked for less",
    "same": "As it was",
    "unknown": "Its tool is gone",
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
        return ["It goes on."]
    if rule.gate == "refuse":
        return ["It is refused, and the agent is told why."]
    if rule.gate == "hold":
        return [f"It waits {lasting(rule.hold)}, in which a person may stop it.", *_of_people(rule)]
    many = "A person decides" if rule.quorum == 1 else f"{rule.quorum} people decide"
    return [f"{many} within {lasting(rule.expires_in)}.", *_of_people(rule)]


def _of_people(rule: Rule) -> list[str]:
    told = []
    if rule.reviewers:
        told.append(f"Only {_either(rule.reviewers)}.")
    if rule.four_eyes:
        told.append("Nobody who asked for it, has the session, or approved it before.")
    if rule.reasons:
        told.append(f"With a reason: {_either(rule.reasons)}.")
    if rule.retype:
        told.append(f"They type it themselves: {', '.join(rule.retype)}.")
    told += [f"After {lasting(step.after)} it goes to {_either(step.reviewers)}." for step in rule.chain]
    if rule.hold and rule.gate == "approve":
        told.append(f"Then it waits {lasting(rule.hold)}, in which it can be undone.")
    if rule.sticky is not None:
        least = f"at most {rule.sticky.uses} times in {lasting(rule.sticky.seconds)}"
        limit = f", while {rule.sticky.limit}" if rule.sticky.limit else ""
        told.append(f"Who approves may let the same through {reaching(rule.sticky.scope)}: {least}{limit}.")
    return told


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(name.replace(":", " ") for name in names)
