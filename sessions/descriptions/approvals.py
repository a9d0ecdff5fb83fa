"""What entries about requests and decisions say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.status import OUTCOMES
from sessions.descriptions.values import plain, unwritten, value


def groups_of_people(groups: Iterable[Iterable[str]]) -> str:
    """`supervisor or user maya, and team retail` of groups of reviewers as rules name them."""
    told = (" or ".join(name.replace(":", " ").removeprefix("role ") for name in one) for one in groups)
    return ", and ".join(told)


def proposed(by: Iterable[str], names: Mapping[str, str]) -> str:
    """Returns a sentence that names the proposers of a call: `Proposed by Maya Okafor, not by the agent.` Where the
    agent is among them, the people wrote only values that the call reads. A person without a name among `names` is
    named by their actor. Empty for entries that do not name proposers.
    """
    actors = list(by)
    people = [names.get(actor, actor) for actor in actors if not actor.startswith("agent:")]
    if not people:
        return "Proposed by the agent." if actors else ""
    if len(people) < len(actors):
        return f"Proposed by the agent, with values that {' and '.join(people)} wrote."
    return f"Proposed by {' and '.join(people)}, not by the agent."


def too_few(quorum: int, missing: int) -> str:
    """Says that too few people could approve a request when it was made; empty: enough could."""
    if not missing:
        return ""
    able = quorum - missing
    needs = "1 person" if quorum == 1 else f"{quorum} people"
    found = f"only {able} could approve it" if able else "no one in the team could approve it"
    return f"Needs {needs}; {found} at the time of the request."


def sent_to_deputies(names: Sequence[str]) -> str:
    """Who may approve, as deputies, a request that too few people could approve; or that there is no such deputy."""
    if not names:
        return "No deputy of the team may approve it. It expires unless the team names a deputy."
    return f"Sent to the team's deputies: {', '.join(names)}."


def gap(tier: int, quorum: int, names: Sequence[str], count: int) -> str:
    """Says that a team has fewer people who may approve at a tier than a rule asks for. `count`: how many of these
    count.
    """
    needs = "1 person" if quorum == 1 else f"{quorum} people"
    if not names:
        return f"Tier {tier} needs {needs}; no one in this team may approve."
    sharing = f" They share a right, so they count as {count}." if count < len(names) else ""
    return f"Tier {tier} needs {needs}; this team has {len(names)} who may approve ({', '.join(names)}).{sharing}"


def _requested(data: Data, tool: str) -> Sentence:
    about = f"{data['preview'] or plain(data['tool'])}. Rule {data['rule']}"
    lacks = too_few(data.get("quorum", 1), data.get("approvers_missing", 0))
    return Sentence("Needs a decision", f"{about}. {lacks}" if lacks else about, "r")


_DECIDED = {
    "approve": "Approved",
    "edit": "Edited and approved",
    "reject": "Rejected",
    "respond": "Sent back to revise",
    "ignore": "Dismissed",
    "escalate": "Escalated",
}


def _decided(data: Data, tool: str) -> Sentence:
    decision = str(data["decision"])
    told = [
        *map(_change, data.get("changed", ())),
        data.get("code", ""),
        data.get("reason") or data.get("response", ""),
    ]
    under = "under a delegation" if data.get("under") else "as a deputy of the team" if data.get("deputy") else ""
    if decision == "edit" and not data.get("digest"):
        return Sentence("Edited, needs another approver", "; ".join(part for part in (under, *told) if part), "p")
    return Sentence(_DECIDED.get(decision, decision), "; ".join(part for part in (under, *told) if part), "p")


def _change(changed: Data) -> str:
    """One value of an edit: `amount.minor 90000 to 80000`."""
    path = str(changed["path"]).removeprefix("arguments.")
    return f"{path} {value(changed['old'])} to {value(changed['new'])}"


def _escalated(data: Data, tool: str) -> Sentence:
    whom = ", and ".join(" or ".join(group) for group in data["reviewers"])
    act = "Escalated" if data.get("by") else "Escalated automatically"
    return Sentence(act, f"To {whom}. {data.get('reason', '')}".strip(), "p" if data.get("by") else "")


def _held(data: Data, tool: str) -> Sentence:
    return Sentence("Approved with delay", f"Runs at {data['until'][11:19]} unless stopped")


def _undone(data: Data, tool: str) -> Sentence:
    missing = data.get("approvers_missing")
    parts = [data.get("reason", ""), f"{missing} approvers missing" if missing else ""]
    return Sentence("Stopped during the delay", "; ".join(filter(None, parts)), "p")


def _claimed(data: Data, tool: str) -> Sentence:
    return Sentence("Taken over from a colleague" if data.get("taken_from") else "Claimed", "", "p")


def _released(data: Data, tool: str) -> Sentence:
    return Sentence("Claim released", "", "p")


def _ended_request(data: Data, tool: str) -> Sentence:
    word = OUTCOMES.get(data["outcome"], ("", data["outcome"], ""))[1]
    return Sentence(f"Request closed: {word.lower()}", f"{data.get('because', '')}{unwritten(data)}".removeprefix(". "))


def _granted(data: Data, tool: str) -> Sentence:
    times = "once" if data["uses"] == 1 else f"{data['uses']} times at most"
    return Sentence(
        f"Standing approval given: {plain(data['tool']).lower()}", f"{times}. {data.get('reason', '')}".strip(), "p"
    )


def _taken_back(data: Data, tool: str) -> Sentence:
    return Sentence("Standing approval ended", data.get("reason", ""), "p")


TELL: dict[str, Tell] = {
    "grant.given": _granted,
    "grant.revoked": _taken_back,
    "approval.requested": _requested,
    "decision.made": _decided,
    "request.escalated": _escalated,
    "request.held": _held,
    "request.undone": _undone,
    "request.claimed": _claimed,
    "request.released": _released,
    "request.ended": _ended_request,
}
