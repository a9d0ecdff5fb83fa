"""What a model was given at a step: its request made again from the ledger, and compared with the digest recorded then.

The state is folded up to the entry of the step, and the agent's definition is the one that the step names. Needs
`read`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine import model_request
from agentstate.engine.memory.asking import summary_request
from agentstate.engine.memory.context import FORMS
from agentstate.engine.memory.held import Wanted
from agentstate.engine.memory.recollect import named
from agentstate.engine.memory.shown import ModelRequest, request_bytes, request_digest
from agentstate.engine.memory.summaries import Summary
from agentstate.engine.state.rounds import private_places
from agentstate.engine.state.session import SessionState
from agentstate.errors import NotFound, Refused
from audit import ledger
from sessions.agents import versions
from sessions.agents.chat_request import chat_messages, chat_tools
from sessions.core import states, visibility
from sessions.core.entry_lines import must_read
from sessions.core.session_lines import Person
from sessions.http.answers import PageOnly
from sessions.http.bodies import About, Words

ASKED = ("model.requested", "summary.requested")
NEAR = 4_000  # entries around a step that are looked through for the step before and after it


class UnknownStep(NotFound):
    """There is no such step in this session."""

    code = "unknown_step"


class NotRebuilt(Refused):
    """This step is from before requests recorded what they were made of."""

    code = "not_rebuilt"


class StepRequest(msgspec.Struct, frozen=True):
    """A request made again. `request` are its exact bytes as text; `body` is what a chat model is sent of it; `matches`
    says whether their digest is the recorded one. `earlier` and `later` are the entries of the steps beside it, or -1.
    """

    seq: int
    step: str
    kind: Annotated[str, Words(ASKED)]
    at: Annotated[str, About(format="date-time")]
    model: str
    digest: Annotated[str, About("as it was recorded when the model was asked")]
    matches: Annotated[bool, About("whether `request` has this digest")]
    form: str
    definition: Annotated[str, About("SHA-256 of the agent's instructions and tools then")]
    counter: str
    budget: int
    factor: int
    tokens: Annotated[dict[str, int], About("by part, before the factor")]
    items: Annotated[tuple[int, ...], About("entries shown in their own words")]
    summaries: tuple[Summary, ...]
    request: Annotated[str, About("the exact bytes, as text; SHA-256 of its UTF-8 is the digest")]
    body: Annotated[dict[str, Any], About("what a chat model is sent of it: messages and tools")]
    shown: PageOnly[ModelRequest]
    earlier: Annotated[int, About("seq of the step before, or -1")]
    later: Annotated[int, About("seq of the step after, or -1")]


def step_request(user: Person, session: UUID, step: str = "") -> StepRequest:
    """The request of a step, by its id or the seq of its entry; without one, of the last.

    Raises UnknownStep, NotRebuilt, UnknownDefinition, audit.keys.Erased, and as `state_of`.
    """
    team = must_read(user, session, "step")
    size = ledger.read_head(session).size
    seq, at, event = _found(session, size, step)
    state = states.as_of(session, seq)
    visibility.of_reader(user, session, team).must_see_all(state.items, state.memory.summaries)
    near = [number for number, _ in _asked(session, max(0, seq - NEAR), min(size, seq + NEAR))]
    earlier = max((number for number in near if number < seq), default=-1)
    later = min((number for number in near if number > seq), default=-1)
    if isinstance(event, ev.SummaryRequested):
        return _of_summary(seq, at, event, state, (earlier, later))
    return _of_model(seq, at, event, state, (earlier, later))


def _asked(session: UUID, start: int, stop: int) -> Iterator[tuple[int, ledger.Row]]:
    for row in ledger.read_rows(session, start, stop):
        if ledger.parse_envelope(row.envelope).kind in ASKED:
            yield row.seq, row


def _found(session: UUID, size: int, step: str) -> tuple[int, str, ev.ModelRequested | ev.SummaryRequested]:
    """The entry of the step. One named by its seq is read alone; by its id the log is looked through."""
    if step.isascii() and step.isdigit() and len(step) < 16:
        rows = list(_asked(session, int(step), int(step) + 1))
    elif step:
        rows = list(_asked(session, 0, size))
    else:
        rows = list(_asked(session, max(0, size - NEAR), size))[-1:]
    for seq, row in rows:
        envelope, payload = ledger.open_row(row)
        event = ev.decode(payload)
        assert isinstance(event, ev.ModelRequested | ev.SummaryRequested)
        if step in ("", str(seq), event.step):
            return seq, envelope.at, event
    raise UnknownStep(step[:64])


def _of_model(seq: int, at: str, event: ev.ModelRequested, state: SessionState, beside: tuple[int, int]) -> StepRequest:
    made = event.shown
    if made is None or made.form not in FORMS:
        raise NotRebuilt(f"entry {seq}")
    request = model_request.build(versions.stored(made.definition), event.model, state)
    parts = {name: getattr(made, name) for name in ("instructions", "tools", "state", "messages", "summaries")}
    return StepRequest(
        seq=seq,
        step=event.step,
        kind=ev.kind_of(event),
        at=at,
        model=event.model,
        digest=event.digest,
        matches=request_digest(request) == event.digest,
        form=made.form,
        definition=made.definition,
        counter=made.counter,
        budget=made.budget,
        factor=made.factor,
        tokens={**parts, "total": made.tokens},
        items=made.entries,
        summaries=state.memory.summaries,
        request=request_bytes(request).decode(),
        body={"messages": chat_messages(request, made.form), "tools": chat_tools(request.tools)},
        shown=request,
        earlier=beside[0],
        later=beside[1],
    )


def _of_summary(
    seq: int, at: str, event: ev.SummaryRequested, state: SessionState, beside: tuple[int, int]
) -> StepRequest:
    if event.form not in FORMS:
        raise NotRebuilt(f"entry {seq}")
    wanted = Wanted(**{name: getattr(event, name) for name in Wanted.__struct_fields__})
    covered = tuple(i for i in state.items if wanted.first <= i.seq <= wanted.last and i.seq not in wanted.kept)
    replaced = named(state.memory, wanted.replaces)
    private = private_places(state.plans, versions.stored(event.definition).private)
    request = summary_request(event.model, covered, replaced, private, event.limit)
    return StepRequest(
        seq=seq,
        step=event.step,
        kind=ev.kind_of(event),
        at=at,
        model=event.model,
        digest=event.digest,
        matches=request_digest(request) == event.digest,
        form=event.form,
        definition=event.definition,
        counter="",
        budget=0,
        factor=1_000,
        tokens={},
        items=tuple(item.seq for item in covered),
        summaries=replaced,
        request=request_bytes(request).decode(),
        body={"messages": chat_messages(request, event.form), "tools": []},
        shown=request,
        earlier=beside[0],
        later=beside[1],
    )
