"""What would have happened: a session under another policy or with other inputs, and a policy or rule on the record of
many sessions. Nothing is written, nothing run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from django.db.models import QuerySet

from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide import CommandContext
from agentstate.engine.instants import parse
from agentstate.engine.state.session import SessionState
from agentstate.engine.versions.difference import Difference, difference, sentences, view
from agentstate.engine.versions.replay import Assume, CallReplayed, Gate, Input, Replayed, replay
from agentstate.errors import Refused
from audit import keys, ledger
from sessions.agents.registry import context_for
from sessions.core import states
from sessions.core.access import Seen
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person
from sessions.core.visibility import shown_state
from sessions.descriptions import values
from sessions.models.sessions import AgentSession
from sessions.versions.queries import voice

MOST_ENTRIES = 20_000
Entry = tuple[int, ev.AnyEvent, str]
Found = TypeVar("Found")
Judge = Callable[[AgentSession, Iterator[Entry]], Iterable[Found]]
_encoder = msgspec.json.Encoder(decimal_format="number")


class TooLongToReplay(Refused):
    """This session is too long to be gone through again while somebody waits."""

    code = "too_long_to_replay"
    remedy = "Use `manage.py replay`."


class ReplayLine(msgspec.Struct, frozen=True):
    """What would have happened, with sentences for people."""

    found: Replayed
    policy: str
    difference: Difference
    sentences: list[str]

    @property
    def differing(self) -> list[CallReplayed]:
        """The calls of which something else would have become."""
        return [call for call in self.found.calls if call.differs]


def replayed(
    user: Person,
    session: UUID,
    *,
    policy: dict[str, Any] | None = None,
    inputs: Iterable[Input] = (),
    assume: Assume = "approve",
) -> ReplayLine:
    """The session gone through again under `policy` (its document; None: the one in force today). Raises BadPolicy,
    BadInput, TooLongToReplay, and as `state_of`.
    """
    team = must_read(user, session, "replay")
    loaded = states.load(session)
    if loaded.head.size > MOST_ENTRIES:
        raise TooLongToReplay(f"{loaded.head.size} entries, {MOST_ENTRIES} at most")
    agent = loaded.state.opened.agent if loaded.state.opened else ""
    other = None if policy is None else pol.load(_encoder.encode(policy))
    found = replay(history(session, loaded.head.size), context_under(agent, other), inputs, assume)
    was, would = (shown_state(user, session, team, state) for state in (found.recorded, found.state))
    changes = difference(_seen(was), _seen(would))
    told = [said_of(call) for call in found.calls if call.differs]
    named = (other or context_for(agent, parse(loaded.state.last_at)).policy).reference
    return ReplayLine(found, named, changes, [*told, *sentences(changes, voice(was, would))])


def _seen(state: SessionState) -> dict[str, Any]:
    """A view whose requests are named by their calls: asking again gives another id, which is no difference."""
    seen = view(state)
    named: dict[str, Any] = {}
    for key, request in state.requests.items():
        name = request.asked.call
        while name in named:
            name += " again"
        named[name] = seen["requests"][key]
    return {**seen, "requests": named}


def history(session: UUID, size: int) -> Iterator[Entry]:
    """Every entry as replays read it. Raises keys.Erased."""
    for envelope, payload in ledger.open_rows(ledger.read_rows(session, 0, size)):
        yield envelope.seq, ev.decode(payload), envelope.at


class Bounds(msgspec.Struct, frozen=True):
    """How much of the record one dry run goes through."""

    sessions: int
    entries: int
    seconds: float


class Covered(msgspec.Struct):
    """The sessions that a dry run went through, their entries, and how many sessions it left out, by why."""

    seen: list[Seen] = []
    entries: int = 0
    left_out: Counter[str] = msgspec.field(default_factory=Counter)


def dry_run(
    rows: QuerySet[AgentSession],
    bounds: Bounds,
    judge: Judge[Found],
    take: Callable[[AgentSession, list[Found]], None],
    unfit: Callable[[AgentSession], str] = lambda _: "",
) -> Covered:
    """Replays recorded sessions, in the order of `rows`: `judge` finds something in the entries of each, and `take`
    receives it. `unfit` says why a session cannot be judged.
    """
    covered, stop = Covered(), time.monotonic() + bounds.seconds
    for row in rows.defer("card")[: bounds.sessions].iterator():
        why = _beyond(row, covered, bounds, stop) or unfit(row)
        if not why:
            try:
                take(row, list(judge(row, islice(history(row.pk, row.seq), row.seq))))
            except keys.Erased:
                why = "its data was erased"
        if why:
            covered.left_out[why] += 1
        else:
            covered.entries += row.seq
            covered.seen.append(Seen(row.pk, row.team_id))
    if (beyond := rows.count() - bounds.sessions) > 0:
        covered.left_out[f"more than {bounds.sessions} sessions"] = beyond
    return covered


def _beyond(row: AgentSession, covered: Covered, bounds: Bounds, stop: float) -> str:
    if covered.entries + row.seq > bounds.entries:
        return f"more than {bounds.entries} entries"
    return f"more than {bounds.seconds:.0f} seconds" if time.monotonic() > stop else ""


def context_under(agent: str, policy: pol.Policy | None) -> Callable[[str], CommandContext]:
    """What `decide` is handed at a time, with `policy` in the place of the agent's own."""

    def context(at: str) -> CommandContext:
        found = context_for(agent, parse(at))
        return found if policy is None else msgspec.structs.replace(found, policy=policy)

    return context


def said_of(call: CallReplayed) -> str:
    """What would have become of a call, as a sentence."""
    told = f"{values.plain(call.tool)} at entry {call.seq}: {_gate(call.replayed)}, was {_gate(call.recorded)}"
    if call.unknown:
        return f"{told}; it would have run, and nobody knows what it would have returned"
    if call.ended != call.would_end:
        return f"{told}; it would have ended as {values.plain(call.would_end).lower()}, and ended as {call.ended}"
    return told


def _gate(gate: Gate) -> str:
    if gate.kind == "asked":
        people = "a person" if gate.quorum < 2 else f"{gate.quorum} people"
        return f"{people} asked (tier {gate.tier}, rule {gate.rule})"
    if gate.kind == "allowed":
        return f"let through (tier {gate.tier}, rule {gate.rule})"
    return f"refused ({gate.rule})" if gate.kind == "refused" else "not decided"
