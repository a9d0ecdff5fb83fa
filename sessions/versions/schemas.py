"""Shapes of checkpoints, rollbacks, forks and differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, get_args

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.decide import MAX_TEXT
from agentstate.engine.decide.versions import MAX_NAME, MAX_REASON
from agentstate.engine.versions.kept import Why
from agentstate.engine.versions.replay import MAX_INPUTS, Assume, CallReplayed, Gate, GateKind
from sessions.http.bodies import About, Body, Chars, Command, Items, Object, Range, Words
from sessions.http.openapi import published
from sessions.versions import queries

CHECKPOINT_WHY = list(get_args(Why))
ASSUME = list(get_args(Assume))
GATE_KIND = list(get_args(GateKind))
EFFECT_OUTCOME = ("done", "failed", "unknown")


class NameCheckpoint(Command, kw_only=True):
    """A name for a point of the session."""

    name: Annotated[str, Chars(MAX_NAME)]
    seq: Annotated[int, Range(1, None, "the state after so many entries; without it, as it is now")] | UnsetType = UNSET


class Rollback(Command, kw_only=True):
    """Where to go back to. Without `confirm` nothing is done: the answer says what would be."""

    to: Annotated[int, Range(1, None, "go on from the state after so many entries")]
    confirm: Annotated[str, Chars(64, "`digest` of the consequences as you saw them")] | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REASON, "needed to confirm")] | UnsetType = UNSET


class ForkSession(Command, kw_only=True):
    """From where to try another way."""

    seq: Annotated[int, Range(1, None, "the state after so many entries; without it, as it is now")] | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REASON)]


class PromoteFork(Command, kw_only=True):
    """Why the fork takes its parent's place."""

    reason: Annotated[str, Chars(MAX_REASON)]


class Effect(Struct, frozen=True):
    seq: Annotated[int, About("of the entry that began it")]
    call: str
    tool: str
    outcome: Annotated[str, Words(EFFECT_OUTCOME)]
    arguments: Object
    what: Annotated[str, About("in the tool's words")]
    compensation: Annotated[str, About("what can be done about it, as the tool declares")]
    session: Annotated[str, About("the session that did it for this one, or empty; `seq` is of its log")]


class Consequences(Struct, frozen=True):
    to: int
    digest: Annotated[str, About("what `confirm` names")]
    withdrawn: Annotated[Sequence[str], About("requests that would be withdrawn")]
    running: Annotated[Sequence[str], About("calls whose results would be recorded and change nothing")]
    not_begun: Annotated[Sequence[str], About("approved or allowed calls that have not begun, and would be withdrawn")]
    standing_approvals: Annotated[
        Sequence[str], About("standing approvals for a customer or an agent that were given since, and would end")
    ]
    lasting: Annotated[Sequence[Effect], About("what is not undone, oldest first; the newest hundred")]
    more: Annotated[int, About("how many older effects are not undone")]


class Difference(Struct, frozen=True):
    patch: Annotated[Sequence[Object], About("JSON Patch (RFC 6902) that makes the second state of the first")]
    sentences: Sequence[str]


class ReplayInput(Body, kw_only=True):
    """Another value in the place of a recorded one."""

    seq: Annotated[int, Range(0, None, "of the entry: a message of the customer, or a tool's result")]
    text: Annotated[str, Chars(MAX_TEXT)] | UnsetType = UNSET
    result: Any | UnsetType = UNSET


class Replay(Body, kw_only=True):
    """Under which policy, with which inputs."""

    policy: Annotated[Object, About("a whole policy: name, version, rules; without it, today's policy")] | UnsetType = (
        UNSET
    )
    inputs: Annotated[list[ReplayInput], Items(MAX_INPUTS, f"at most {MAX_INPUTS}")] | UnsetType = UNSET
    assume: (
        Annotated[str, Words(ASSUME, "what people would have decided where nobody was asked; `approve`")] | UnsetType
    ) = UNSET


class Replayed(Struct, frozen=True):
    policy: str
    calls: Annotated[Sequence[CallReplayed], About("those of which something else would have become")]
    from_seq: Annotated[
        int,
        About("entry from which on the record is an assumption: the model might have said something else; -1: none"),
    ]
    not_needed: Annotated[int, About("decisions that nobody would have had to make")]
    not_made: Annotated[int, About("decisions that were assumed")]
    left_out: Annotated[Object, About("entries that could not have been, by kind")]
    patch: Annotated[Sequence[Object], About("from the state as it is (RFC 6902)")]
    sentences: Sequence[str]


published(Versions=queries.VersionsLine, ReplayedGate=Gate, ReplayedCall=CallReplayed)
