"""One round of a plan: what has become of each of its calls so far, and what its outputs have written.

This is all that must be remembered while a plan is worked through; what is ready, waiting or blocked follows from it
(`ready`). A round is as large as its plan. Nothing here decides whether a call may run: that is policy's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from agentstate.engine import scratchpad
from agentstate.engine.plan.model import Call, Plan
from agentstate.engine.references import Path
from agentstate.engine.scratchpad import Pad, marks, messages
from agentstate.engine.scratchpad.marks import Marks
from agentstate.errors import Invalid, NotFound, Refused

Status = Literal["asked", "running", "done", "failed", "rejected", "skipped", "blocked"]
OPEN: frozenset[str] = frozenset({"asked", "running"})
PATH_WRITTEN = "path already written"


class BadOutcome(Invalid):
    """The tool names an outcome that the call does not have."""

    code = "bad_outcome"


class CallEnded(Refused):
    """This call of the plan has ended."""

    code = "call_ended"


class Outcome(msgspec.Struct, frozen=True):
    """What became of a call. `wrote` are the paths that now hold its output; `kept`: its guard said no, so what stood
    at its output path still stands. `began` and `ended` are instants in envelope form.
    """

    status: Status
    wrote: tuple[str, ...] = ()
    reason: str = ""
    began: str = ""
    ended: str = ""
    kept: bool = False


class Round(msgspec.Struct, frozen=True):
    """A plan being worked through. `instance` is the one that calls without an instance of their own belong to."""

    plan: Plan
    number: int = 1
    instance: str = ""
    outcomes: Mapping[str, Outcome] = {}
    marks: Mapping[str, Marks] = {}  # instance -> what outputs wrote


def asked(now: Round, call: str, at: str = "") -> Round:
    """The call waits for a person."""
    return _with(now, call, Outcome("asked", began=at))


def began(now: Round, call: str, at: str = "") -> Round:
    """The call runs."""
    return _with(now, call, Outcome("running", began=at))


def done(
    now: Round, pad: Pad, call: str, result: Any, at: str = "", outcome: int = 0
) -> tuple[Round, Pad, tuple[Path, ...]]:
    """The call returned. `pad` is that of the call's instance, with its data messages (`messages.whole`); `outcome`
    counts the alternatives of its output path, from 0. Gives what was written: nothing where another output was first.
    Raises BadOutcome.
    """
    return _write(now, pad, call, result, at, "done", _aims(_open(now, call), outcome))


def failed(
    now: Round, pad: Pad, call: str, error: Any, at: str = "", reason: str = ""
) -> tuple[Round, Pad, tuple[Path, ...]]:
    """The call failed for good. The error is written to the last of its alternatives, if it has any."""
    found = _open(now, call)
    aims = found.alternatives[-1] if found.has_error_path else ()
    return _write(now, pad, call, error, at, "failed", aims, reason)


def unwritten(now: Round, call: str, status: Literal["done", "failed"], reason: str, at: str = "") -> Round:
    """The call returned or failed, and what it gave has no place where it was to go."""
    return _ended(now, call, Outcome(status, reason=reason, ended=at))


def rejected(now: Round, call: str, reason: str = "", at: str = "") -> Round:
    """A person, the policy or a deadline said no: the call never runs."""
    return _ended(now, call, Outcome("rejected", reason=reason, ended=at))


def skipped(now: Round, call: str, reason: str, at: str = "", kept: bool = False) -> Round:
    """Its branch was not taken; `kept` when its own guard said so."""
    return _ended(now, call, Outcome("skipped", reason=reason, ended=at, kept=kept))


def blocked(now: Round, call: str, reason: str, at: str = "") -> Round:
    """Something that it depends on did not go well."""
    return _ended(now, call, Outcome("blocked", reason=reason, ended=at))


def place(path: Path) -> tuple[str, ...]:
    """The names at which a path stands in a scratchpad together with the data messages beside it."""
    return path.names if path.kind == messages.STATE else (messages.name_of(path.kind), *path.names)


def _open(now: Round, call: str) -> Call:
    found = now.plan.by_id.get(call)
    if found is None:
        raise NotFound(f"the plan has no call {call!r}")
    before = now.outcomes.get(call)
    if before is not None and before.status not in OPEN:
        raise CallEnded(f"{call} is {before.status}")
    return found


def _with(now: Round, call: str, outcome: Outcome) -> Round:
    _open(now, call)
    return replace(now, outcomes={**now.outcomes, call: outcome})


def _ended(now: Round, call: str, outcome: Outcome) -> Round:
    before = now.outcomes.get(call)
    return _with(now, call, replace(outcome, began=before.began if before else ""))


def _aims(call: Call, outcome: int) -> tuple[Path, ...]:
    count = len(call.alternatives)
    if not 0 <= outcome < max(1, count):
        raise BadOutcome(f"{call.id}: got outcome {outcome}, there are {count}", field="outcome")
    return call.alternatives[outcome] if count else ()


def _write(
    now: Round, pad: Pad, call: str, value: Any, at: str, status: Status, aims: tuple[Path, ...], reason: str = ""
) -> tuple[Round, Pad, tuple[Path, ...]]:
    instance = now.plan.by_id[call].instance
    written = now.marks.get(instance, {})
    free = tuple(path for path in aims if marks.is_free(written, place(path), value))
    for path in free:
        pad = scratchpad.put(pad, place(path), value)
        written = marks.marked(written, place(path), value)
    if len(free) < len(aims):
        reason = PATH_WRITTEN
    if aims and not free:
        # What it did stays done, and recorded; only its output is not taken.
        status = "skipped" if status == "done" else status
    if free:
        now = replace(now, marks={**now.marks, instance: written})
    outcome = Outcome(status, tuple(map(str, free)), reason, ended=at)
    return _ended(now, call, outcome), pad, free
