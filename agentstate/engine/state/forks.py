"""What a fork takes from its parent, and what happens when it takes the parent's place.

A fork has a log of its own. What it takes over is numbered below 0, counted back from the fork: entry -3 of a fork made
at 40 is entry 37 of the parent. It takes no permit, request, timer, marks of written places or conflict.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, added
from agentstate.engine.handlers import event_handler
from agentstate.engine.looping.held import Loop
from agentstate.engine.memory.held import Memory
from agentstate.engine.merge.kept import Changes
from agentstate.engine.state import participants
from agentstate.engine.state.rollback import ended_calls, noted, open_in, resting, settled_since, state_of, told
from agentstate.engine.state.session import Call, SessionState, remembering
from agentstate.engine.understanding.held import Talk
from agentstate.engine.versions.kept import Origin, Versions

# Of the fork itself.
FACTS = (
    "seq",
    "opened",
    "opened_at",
    "last_at",
    "status",
    "expired_at",
    "paused_at",
    "paused_with_parent",
    "taken_by",
    "desk",
    "alerts",
)


@event_handler(ev.SessionForked)
def session_forked(state: SessionState, event: ev.SessionForked, at: str) -> SessionState:
    """The fork begins: the parent's state as its own, nothing open, silent until it is promoted."""
    older = state_of(event.restored)
    were_open, calls = open_in(older.calls), ended_calls(older.calls)
    taken = resting(
        replace(older, **{name: getattr(state, name) for name in FACTS}, epoch=0, requests={}, changes=Changes()),
        older.last_at,
        at,
    )
    calls = {key: replace(call, request="", approved="", intent=call.intent - event.seq) for key, call in calls.items()}
    taken_at = replace(older, seq=state.seq)
    inherited = tuple(replace(item, seq=item.seq - event.seq) for item in older.items)
    return replace(
        taken,
        calls=calls,
        items=(*inherited, *told(taken_at, were_open, calls, at)),
        memory=_shifted(older.memory, -event.seq),
        talk=_talk_shifted(older.talk, -event.seq),
        owes=bool(were_open or older.owes or older.asking),
        ended_reason="",
        ended_at="",
        sealed="",
        loop=Loop(),
        versions=Versions(origin=Origin(event.parent, event.seq, event.digest, event.by)),
    )


def _shifted(memory: Memory, by: int) -> Memory:
    """The memory with every entry that it names numbered `by` further."""
    summaries = tuple(
        replace(
            each, seq=each.seq + by, first=each.first + by, last=each.last + by, kept=tuple(n + by for n in each.kept)
        )
        for each in memory.summaries
    )
    pins = tuple(replace(pin, seq=pin.seq + by) for pin in memory.pins)
    ratings = {str(int(seq) + by): rating for seq, rating in memory.ratings.items()}
    return replace(memory, summaries=summaries, pins=pins, ratings=ratings, wanted=None, asked_model="", estimated=0)


def _talk_shifted(talk: Talk, by: int) -> Talk:
    turns = tuple(replace(turn, first=turn.first + by, last=turn.last + by) for turn in talk.turns)
    return replace(talk, turns=turns, heard_seq=talk.heard_seq + by)


@event_handler(ev.MessageDrafted)
def message_drafted(state: SessionState, event: ev.MessageDrafted, at: str) -> SessionState:
    """The agent's own words, to itself: the customer hears nothing."""
    return replace(state, items=added(state.items, Item(state.seq, "agent", event.text, by=event.by)))


@event_handler(ev.ForkPromoted)
def fork_promoted(state: SessionState, event: ev.ForkPromoted, at: str) -> SessionState:
    """The fork may speak and act, and has heard what was said in the parent meanwhile. Where the parent's chart holds
    what the fork's would allow, the fork stands where the parent stood.
    """
    assert state.versions.origin is not None
    items, involved = state.items, state.involved
    for heard in event.heard:
        items = added(items, Item(state.seq, heard.role, heard.text, by=heard.by))
        involved = participants.heard(involved, heard.role, heard.by)
    unanswered = bool(event.heard) and event.heard[-1].role == "customer"
    return replace(
        remembering(state, event.remembered),
        items=(*items, *noted(state, event, at)),
        chart=event.chart or state.chart,
        calls=settled_since(state.calls, event, _own_calls(state)),
        messages=state.messages + len(event.heard),
        involved=involved,
        owes=state.owes or unanswered,
        versions=replace(state.versions, origin=replace(state.versions.origin, promoted=at)),
    )


def _own_calls(state: SessionState) -> dict[str, Call]:
    """The calls that began in the fork itself: what it inherited may have gone on in its parent."""
    return {key: call for key, call in state.calls.items() if call.intent >= 0}


@event_handler(ev.SessionSuperseded)
def session_superseded(state: SessionState, event: ev.SessionSuperseded, at: str) -> SessionState:
    """A fork goes on in this session's place."""
    return replace(state, versions=replace(state.versions, superseded_by=event.fork))
