"""What must hold of what people decide on a request, judged from the events alone: a second reading of what its terms
ask, beside `laws.py`, on purpose without the engine's rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.policy.terms import Terms
from tests.core.laws import Reader, require

APPROVES = ("approve", "edit")


@dataclass
class TermsReader(Reader):
    """Reads a history; `names` are those by which rules know each person, `lent` whose authority each may use."""

    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lent: Mapping[str, frozenset[str]] = field(default_factory=dict)
    step: dict[str, int] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)
    owner: str = ""

    def _terms(self, request: str) -> Terms:
        return self.asked[request].terms or Terms()

    voices: set[str] = field(default_factory=set)  # who spoke as the customer, or to the customer for the agent

    def _message_added(self, event: ev.MessageAdded) -> None:
        super()._message_added(event)
        if event.role in ("customer", "staff"):
            self.voices.add(event.by)

    def _session_taken_over(self, event: ev.SessionTakenOver) -> None:
        self.owner = event.by

    def _session_handed_back(self, event: ev.SessionHandedBack) -> None:
        self.owner = ""

    def _request_escalated(self, event: ev.RequestEscalated) -> None:
        terms, step = self._terms(event.request), self.step.get(event.request, 0) + 1
        require(event.request not in self.outcome, "an ended request is passed on to nobody")
        require(event.step == step <= len(terms.chain), "a chain is gone step by step, to its end at most")
        require(event.reviewers == terms.chain[step - 1].reviewers, "a step names whom the rule names")
        require(event.request not in self.held, "what is held is not passed on")
        self.on.pop(event.request, None)
        self.step[event.request] = step

    def _decision_made(self, event: ev.DecisionMade) -> None:
        super()._decision_made(event)
        terms, step = self._terms(event.request), self.step.get(event.request, 0)
        groups = terms.chain[step - 1].reviewers if step else terms.reviewers
        require(not event.under or event.under in self.lent.get(event.by, ()), "only what was lent is used")
        known = self.names[event.under or event.by]
        require(all(known & set(group) for group in groups), "who decides is among the reviewers")
        if event.decision in ("approve", "edit", "reject"):
            require(not terms.reasons or event.code in terms.reasons, "a reason is chosen where some are named")
        self._whole(event)
        if event.decision in APPROVES and event.digest:
            self._approved(event, terms)
        if event.decision == "edit":
            self._edits(event, terms)

    authors: dict[str, set[str]] = field(default_factory=dict)  # call -> people who proposed it
    asked_by: str = ""  # who edited what must now be asked about anew

    def _edits(self, event: ev.DecisionMade, terms: Terms) -> None:
        """An edit that counts lowers what the rule names and nothing else; every other one leads to a new request."""
        asked = self.asked[event.request]
        before = [made.arguments for made in self.decided[event.request][:-1] if made.arguments is not None]
        old, new = (before or [asked.arguments])[-1], event.arguments or {}
        lowered = new.get("amount", {}).get("minor", 0) < old["amount"]["minor"]
        only_that = {**new, "amount": {**new["amount"], "minor": old["amount"]["minor"]}} == old
        if event.digest:
            require(bool(terms.edits) and lowered and only_that, "an edit counts where the rule names what it changes")
            require(not terms.four_eyes, "under four eyes no edit counts")
        else:
            self.asked_by = event.by
        self.authors.setdefault(asked.call, set()).add(event.by)

    def _whole(self, event: ev.DecisionMade) -> None:
        asked, edits = self.asked[event.request], [one.arguments for one in self.decided[event.request][:-1]]
        stood = next((each for each in reversed(edits) if each is not None), asked.arguments)
        require(event.decision in asked.allowed, "only what is offered is decided")
        why = event.decision not in ("reject", "edit", "escalate") or event.reason or event.code
        require(bool(why), "who says no, changes it or passes it on says why")
        require(event.decision != "respond" or bool(event.response), "an answer has words")
        require(
            (event.arguments is not None) == (event.decision == "edit"), "an edit carries arguments, and only an edit"
        )
        require(event.arguments != stood, "an edit changes something")
        require(event.shown is None or event.shown.data["digest"] == event.seen, "what was shown is what is decided")
        if event.decision in APPROVES:
            require(event.request not in self.held, "what is approved and held is not approved again")

    def _approved(self, event: ev.DecisionMade, terms: Terms) -> None:
        require(set(event.retyped) == set(terms.retype), "what must be typed again was typed")
        before = [made for made in self.decided[event.request][:-1] if made.digest == event.digest]
        used = {who for made in before if made.decision in APPROVES for who in (made.by, made.under) if who}
        require(not used & {event.by, event.under}, "nobody stands behind it twice, nor does whom they stand for")
        proposers = self.authors.get(self.asked[event.request].call, set())
        require(not proposers & {event.by, event.under}, "nobody approves what they proposed, nor do their lenders")
        require(not self.owner or self.owner not in (event.by, event.under), "whose session it is does not approve")
        require(not self.voices & {event.by, event.under}, "nobody approves who spoke as the customer or for the agent")
        if event.arguments is not None:
            require(event.arguments["amount"]["minor"] > 0, "an edit is what the tool takes")
        if event.decision == "edit":
            self.edited.add(event.request)
            self.held.discard(event.request)

    def _request_held(self, event: ev.RequestHeld) -> None:
        require(self._enough(event.request), "what is held was approved")
        self.held.add(event.request)

    def _request_undone(self, event: ev.RequestUndone) -> None:
        require(event.request not in self.outcome, "what has ended is not undone")
        by_policy = self._terms(event.request).gate == "hold" and event.request not in self.stopped | self.edited
        require(event.request in self.held or by_policy, "only what is held is undone")
        require("decide" in self.may.get(event.by, ()), "who objects may decide")
        self.held.discard(event.request)
        self.edited.discard(event.request)
        self.decided[event.request] = []
        if self._terms(event.request).gate == "hold":
            self.stopped.add(event.request)

    stopped: set[str] = field(default_factory=set)  # holds that somebody objected to

    def _request_ended(self, event: ev.RequestEnded) -> None:
        super()._request_ended(event)
        terms = self._terms(event.request)
        require(event.outcome != "expired" or event.request not in self.held, "what is held has a time of its own")
        if event.outcome in ("rejected", "responded", "expired"):
            self.answered.add(ev.digest(self.asked[event.request].tool, self.asked[event.request].arguments))
        if event.outcome in ("approved", "edited"):
            require(self._enough(event.request), "nothing is approved by fewer than it needs")
            held = terms.gate != "approve" or not terms.hold or event.request in self.held
            require(held, "what is to be held is held before it runs")
        if event.outcome == "unopposed":
            objected = event.request in self.stopped | self.edited
            require(terms.gate == "hold" and not objected, "only what policy holds, and nobody objected to, runs so")

    answered: set[str] = field(default_factory=set)  # calls that nobody is asked about again

    def _approval_requested(self, event: ev.ApprovalRequested) -> None:
        super()._approval_requested(event)
        if self.asked_by:
            require(event.proposed_by[-1:] == (self.asked_by,), "an edited call is proposed by its editor")
            self.asked_by = ""
        require(
            ev.digest(event.tool, event.arguments) not in self.answered, "nobody is asked twice about the same call"
        )

    def _enough(self, request: str) -> bool:
        decisions = [made for made in self.decided.get(request, ()) if made.decision in APPROVES and made.digest]
        last = decisions[-1].digest if decisions else ""
        behind = {made.by for made in decisions if made.digest == last}
        return bool(decisions) and len(behind) >= self.asked[request].quorum

    def _request_claimed(self, event: ev.RequestClaimed) -> None:
        require(event.request not in self.outcome, "nobody is on what has ended")
        require(event.taken_from != event.by, "nobody takes from themselves")
        require(event.by in self.may, "who is on it may decide it")
        self.on[event.request] = event.by

    on: dict[str, str] = field(default_factory=dict)  # who is on which request

    def _request_released(self, event: ev.RequestReleased) -> None:
        require(self.on.pop(event.request, "") == event.by, "only who is on it gives it back")

    def _rests_on_a_permit(self, event: ev.ToolIntended, again: bool) -> None:
        asked = self.asked[self.latest[event.call]]
        if self.outcome.get(asked.request) != "unopposed":
            super()._rests_on_a_permit(event, again)
            return
        require(event.request == "" and event.arguments == asked.arguments, "what ran unopposed is what was shown")
        now = {item.path: scratchpad.read(self.pad, item.path) for item in asked.basis}
        require(again or now == {item.path: item.value for item in asked.basis}, "the basis has not changed")


def judge(history: Iterable[tuple[ev.AnyEvent, str]], reader: TermsReader) -> TermsReader:
    """Read a whole history. Raises Unlawful naming the law that it breaks."""
    for event, _ in history:
        reader.read(event)
    return reader
