"""What an agent remembers of a session: each item with how much it matters and why, summaries, pins. Needs `read`."""

from __future__ import annotations

from typing import Annotated, get_args
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine import model_request
from agentstate.engine.conversation import ItemRole
from agentstate.engine.decide.memory import scene_of
from agentstate.engine.memory.pins import Pin
from agentstate.engine.memory.scene import Scene
from agentstate.engine.memory.summaries import Summary
from sessions.agents import definition
from sessions.agents.registry import context_for, find
from sessions.core import states, visibility
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person
from sessions.http.bodies import About, Words

ITEM_ROLE = list(get_args(ItemRole))


class Reason(msgspec.Struct, frozen=True):
    """A rule that gave points, or took them."""

    rule: str
    points: int


class Remembered(msgspec.Struct, frozen=True):
    """One item that is held in its own words. `points` is what is left of `full` after decay."""

    seq: int
    role: Annotated[str, Words(ITEM_ROLE)]
    text: str
    tools: Annotated[tuple[str, ...], About("that it calls, or whose result it is")]
    at: Annotated[str, About("empty for entries from before instants were kept with messages")]
    turn: Annotated[int, About("messages of the customer up to then")]
    points: Annotated[int, About("how much it matters now")]
    full: Annotated[int, About("how much it mattered when it came")]
    why: tuple[Reason, ...]
    rating: int
    pinned: bool
    tokens: int


class Memory(msgspec.Struct, frozen=True):
    """All that is remembered, and how much room it takes. `factor` is the correction by the provider's counts, in
    thousandths, for the model that was asked last.
    """

    turn: Annotated[int, About("messages of the customer so far")]
    budget: Annotated[int, About("tokens of a model request")]
    counter: str
    factor: Annotated[int, About("thousandths: what the provider counts of the counter's tokens")]
    tokens: Annotated[int, About("of a request made now, by the counter")]
    items: tuple[Remembered, ...]
    summaries: tuple[Summary, ...]
    pins: tuple[Pin, ...]


def memory_of(user: Person, session: UUID) -> Memory:
    """What is remembered now. Raises UnknownSession, PermissionDenied."""
    team = must_read(user, session, "memory")
    state = states.load(session).state
    assert state.opened is not None
    visibility.of_reader(user, session, team).must_see_all(state.items, state.memory.summaries)
    shown = visibility.shown_state(user, session, team, state)
    agent = find(state.opened.agent)
    scene = scene_of(state, context_for(agent.name, now()), state.memory.asked_model)
    request = definition.build(agent, state.memory.asked_model, state)
    held = scene.tokens(state.items, state.memory.summaries)
    return Memory(
        turn=state.memory.turn,
        budget=agent.memory.budget,
        counter=scene.counter.name,
        factor=scene.factor,
        tokens=model_request.frame(request, scene.counter).total + held,
        items=tuple(_remembered(scene, place, item.text) for place, item in enumerate(shown.items)),
        summaries=shown.memory.summaries,
        pins=shown.memory.pins,
    )


def _remembered(scene: Scene, place: int, text: str) -> Remembered:
    item = scene.items[place]
    matters = scene.importance(item)
    return Remembered(
        seq=item.seq,
        role=item.role,
        text=text,
        tools=tuple(call.tool for call in item.calls) or ((item.by,) if item.role == "tool" else ()),
        at=item.at,
        turn=item.turn,
        points=matters.points,
        full=matters.full,
        why=tuple(Reason(rule, points) for rule, points in matters.why),
        rating=scene.memory.rating(item.seq),
        pinned=matters.pinned,
        tokens=scene.tokens((item,), ()),
    )
