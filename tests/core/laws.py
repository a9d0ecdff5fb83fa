"""What must hold of every history of a session, judged from its events alone.

A second reading of DESIGN section 5, on purpose without the engine's state and without its rules: it shares only the
vocabulary, the digest of a permit and the paths of the scratchpad.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.decide import permit_digest
from agentstate.engine.model import ContextMessage

NEVER_AGAIN = {"rejected", "responded", "expired", "withdrawn"}


class Unlawful(AssertionError):
    """A history that must not be."""


def require(holds: bool, law: str) -> None:
    """Raise Unlawful, naming the law, unless it holds."""
    if not holds:
        raise Unlawful(law)


@dataclass
class Reader:
    """Reads a history, event by event. `may` says which permissions each person has."""

    may: Mapping[str, frozenset[str]]
    asked: dict[str, ev.ApprovalRequested] = field(default_factory=dict)
    latest: dict[str, str] = field(default_factory=dict)  # call -> its latest request
    decided: dict[str, list[ev.DecisionMade]] = field(default_factory=dict)
    outcome: dict[str, str] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)  # calls that must never be intended
    running: dict[str, int] = field(default_factory=dict)  # call -> attempt
    attempts: dict[str, int] = field(default_factory=dict)
    to_be_tried: dict[str, int] = field(default_factory=dict)  # call -> attempt that failed and is tried again
    effect: dict[str, str] = field(default_factory=dict)
    pad: dict[str, Any] = field(default_factory=dict)
    ended: bool = False
    epoch: int = 0
    late: dict[str, int] = field(default_factory=dict)  # call -> attempt that ran when its epoch ended
    allowed: set[str] = field(default_factory=set)
    superseded: set[str] = field(default_factory=set)

    def read(self, event: ev.AnyEvent) -> None:
        """Judge one event. Raises Unlawful."""
        reading = getattr(self, "_" + event.__struct_config__.tag.replace(".", "_"), None)  # type: ignore[union-attr]
        if reading is not None:
            reading(event)

    def _approval_requested(self, event: ev.ApprovalRequested) -> None:
        require(not self.ended, "nothing is asked after the end")
        require(event.call not in self.dead, "a call that has ended is not asked for again")
        before = self.latest.get(event.call)
        require(before is None or before in self.outcome, "of one call, one request waits")
        require(event.supersedes == (before or ""), "a request names the one that it takes the place of")
        self.asked[event.request], self.latest[event.call] = event, event.request

    def _decision_made(self, event: ev.DecisionMade) -> None:
        require(event.request in self.asked, "a decision answers a request")
        require(event.request not in self.outcome, "an ended request is not decided")
        needed = "decide_tier3" if max(event.tier, self.asked[event.request].tier) >= 3 else "decide"
        require(needed in self.may[event.by], "who decides is entitled to")
        self.decided.setdefault(event.request, []).append(event)

    def _request_ended(self, event: ev.RequestEnded) -> None:
        require(event.request not in self.outcome, "a request ends once")
        self.outcome[event.request] = event.outcome
        if event.outcome == "superseded":
            self.superseded.add(event.request)
        if event.outcome in NEVER_AGAIN:
            self.dead.add(self.asked[event.request].call)

    def _call_allowed(self, event: ev.CallAllowed) -> None:
        self.allowed.add(event.call)

    def _session_rolled_back(self, event: ev.SessionRolledBack) -> None:
        require(not self.ended, "what is over does not go back")
        require(event.epoch == self.epoch + 1, "a rollback begins the next epoch")
        require(set(self.asked) == set(self.outcome), "no request outlives its epoch")
        self.epoch = event.epoch
        self.late |= self.running
        self.dead |= self.allowed | {asked.call for asked in self.asked.values()} | set(self.running)
        self.running = {}
        self.pad = event.restored["pad"]

    def _call_refused(self, event: ev.CallRefused) -> None:
        self.dead.add(event.call)

    def _tool_intended(self, event: ev.ToolIntended) -> None:
        require(event.call not in self.dead, "a call that was refused, or has a result, is never intended")
        again = event.call in self.running
        require(again or not self.ended, "nothing new begins after the end")
        require(not (again and event.effect == "once"), "a lost result of `once` is not run again")
        require(event.attempt == self.attempts.get(event.call, 0) + 1, "attempts count one by one")
        require(event.arguments_digest == ev.digest(event.arguments), "the digest is of the arguments")
        if event.call in self.latest:
            self._rests_on_a_permit(event, again)
        self.running[event.call] = self.attempts[event.call] = event.attempt
        self.to_be_tried.pop(event.call, None)

    def _rests_on_a_permit(self, event: ev.ToolIntended, again: bool) -> None:
        asked = self.asked[self.latest[event.call]]
        require(self.outcome.get(asked.request) in ("approved", "edited"), "a gated call has an approval")
        require(event.request == asked.request, "an intent names the approval it rests on")
        decisions = self.decided[asked.request]
        edits = [made.arguments for made in decisions if made.decision == "edit"]
        require(event.arguments == (edits[-1] if edits else asked.arguments), "what runs is what was decided")
        permit = permit_digest(asked.call, self.epoch, event.tool, event.tool_version, event.arguments, asked.basis)
        require(event.digest == permit, "the permit is of this call, tool, version, arguments and basis")
        behind = {made.by for made in decisions if made.digest == permit and made.decision in ("approve", "edit")}
        require(asked.request not in self.superseded, "what was superseded lets nothing run")
        require(len(behind) >= asked.quorum, "a quorum of different people approved exactly this")
        if not again:
            now = {item.path: scratchpad.read(self.pad, item.path) for item in asked.basis}
            require(now == {item.path: item.value for item in asked.basis}, "the basis has not changed")

    def _tool_returned(self, event: ev.ToolReturned) -> None:
        if event.call in self.late:
            require(self.late.pop(event.call) == event.attempt, "a late result answers the intent of its epoch")
            return
        require(self.running.pop(event.call, None) == event.attempt, "a result answers the open intent")
        self.dead.add(event.call)
        if event.output_path is not None:
            self.pad = scratchpad.write(self.pad, event.output_path, event.result)

    def _tool_failed(self, event: ev.ToolFailed) -> None:
        if event.call in self.late:
            require(self.late.pop(event.call) == event.attempt and not event.retry_at, "it is not tried again")
            return
        failed = self.to_be_tried.pop(event.call, None) if not event.retry_at else None
        answered = self.running.pop(event.call, failed)
        require(answered == event.attempt, "a failure answers the open intent, or gives up what was to be tried again")
        if event.retry_at:
            self.to_be_tried[event.call] = event.attempt
        else:
            self.dead.add(event.call)

    def _model_requested(self, event: ev.ModelRequested) -> None:
        require(not self.ended, "no model is asked after the end")

    def _message_added(self, event: ev.MessageAdded) -> None:
        require(not self.ended, "nothing is said after the end")

    def _session_ended(self, event: ev.SessionEnded) -> None:
        require(not self.ended, "a session ends once")
        require(set(self.asked) == set(self.outcome), "no request outlives its session")
        self.ended = True


def judge(history: Iterable[tuple[ev.AnyEvent, str]], may: Mapping[str, frozenset[str]]) -> Reader:
    """Read a whole history. Raises Unlawful naming the law that it breaks."""
    reader = Reader(may)
    for event, _ in history:
        reader.read(event)
    return reader


def told_well(messages: Sequence[ContextMessage]) -> None:
    """Every call of the agent is followed at once by one result each, and no result stands anywhere else."""
    awaited: list[str] = []
    for message in messages:
        if message.role == "tool":
            require(message.call_id in awaited, "a result follows its call at once")
            awaited.remove(message.call_id)
        else:
            require(not awaited, "every call is answered before anybody speaks")
            awaited = [call.id for call in message.calls]
            require(message.role == "agent" or not awaited, "only the agent calls")
    require(not awaited, "the last call is answered too")
