"""What an agent remembers: items, summaries, pins and ratings; and what a model was given at a step."""

from __future__ import annotations

from typing import Annotated

from agentstate.engine.memory.pins import NotPinned
from agentstate.people.models import User
from sessions.core.committed import Committed
from sessions.http.operations import READING, command, delete, get
from sessions.http.parameters import LAST, Seq, SessionId, Text
from sessions.memory import commands, queries, steps
from sessions.memory import schemas as forms


@get()
def read_memory(user: User, session: SessionId) -> queries.Memory:
    """Every message that is held in its own words, with how much it matters and why; and the summaries."""
    return queries.memory_of(user, session)


pin_message = command("pin_message", commands.pin, forms.PinItem, "Keep a message in its own words.")
rate_message = command("rate_message", commands.rate, forms.RateItem, "Say how much use a message is.")


@delete()
def unpin_message(user: User, session: SessionId, seq: Annotated[int, Seq(NotPinned)]) -> Committed:
    """Let a message be summarised again."""
    return commands.unpin(user, session, seq)


@get(codes=(*READING, 409, 410))
def read_step_request(
    user: User, session: SessionId, step: Annotated[str, Text("its id, or the seq of its entry", LAST)]
) -> steps.StepRequest:
    """The request of a step, made again from the ledger and compared with the digest recorded then."""
    return steps.step_request(user, session, step)
