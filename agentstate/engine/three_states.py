"""The three kinds of state of a session, each a view with a schema of its own: conversation, task and user.

Nothing of them is stored beside the session's state. They leave here validated: a reader that trusts the schemas is
told by path and rule when something else would be handed out.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from agentstate.engine import schemas
from agentstate.engine.memory.tokens import ESTIMATE, Counter
from agentstate.engine.schemas import Declared
from agentstate.engine.state.session import SessionState
from agentstate.engine.task import TaskState, task_of

MESSAGES = 60  # of the conversation, newest last
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}


def _an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_ROLES = {"enum": ["customer", "agent", "staff", "note"]}
_MESSAGE = _an_object(role=_ROLES, content=_TEXT, seq={"type": "integer"})
CONVERSATION: dict[str, Any] = _an_object(
    messages={"type": "array", "items": _MESSAGE, "maxItems": MESSAGES},
    turns=_COUNT,
    context_tokens=_COUNT,
)
_STATUSES = {"enum": ["idle", "in_progress", "waiting", "done", "failed", "cancelled"]}
TASK: dict[str, Any] = _an_object(
    task_id=_TEXT,
    goal=_TEXT,
    status=_STATUSES,
    steps_completed=_COUNT,
    steps_remaining=_COUNT,
    current_step=_TEXT,
    steps={"type": "array", "items": _an_object(call=_TEXT, tool=_TEXT, status=_TEXT)},
    data={"type": "object"},
)
USER: dict[str, Any] = _an_object(
    user_id=_TEXT,
    profile=_COUNT,
    preferences={"type": "object"},
    history={"type": "object"},
)
SCHEMAS = {"conversation": CONVERSATION, "task": TASK, "user": USER}


class Message(msgspec.Struct, frozen=True):
    """One message; `seq` is the entry that it came with."""

    role: str
    content: str
    seq: int


class ConversationState(msgspec.Struct, frozen=True):
    """The newest messages, how many there were from the beginning, and what those held raw amount to in tokens."""

    messages: tuple[Message, ...]
    turns: int
    context_tokens: int


class UserState(msgspec.Struct, frozen=True):
    """What the session knows of its customer across sessions, as of entry `profile` of the profile's log."""

    user_id: str
    profile: int
    preferences: dict[str, Any]
    history: dict[str, Any]


class ThreeStates(msgspec.Struct, frozen=True):
    """All of it."""

    conversation: ConversationState
    task: TaskState
    user: UserState


def three_states(
    session: str,
    state: SessionState,
    declared: Declared | None,
    *,
    counter: Counter = ESTIMATE,
    shown: SessionState | None = None,
) -> ThreeStates:
    """The three kinds of state of `session`, its words and data as `shown` has them; the task's data is judged by
    `declared` as it is. Raises BreaksSchema.
    """
    schemas.check_state(declared, state.pad)
    shown = shown or state
    found = ThreeStates(_conversation(shown, counter), task_of(session, state, shown.pad), _user(state))
    for name, schema in SCHEMAS.items():
        schemas.validate(schema, msgspec.to_builtins(getattr(found, name), builtin_types=(Decimal,)), name)
    return found


def _conversation(state: SessionState, counter: Counter) -> ConversationState:
    said = [item for item in state.items if item.role != "tool" and item.text]
    return ConversationState(
        messages=tuple(Message(item.role, item.text, item.seq) for item in said[-MESSAGES:]),
        turns=state.messages,
        context_tokens=sum(counter.count(item.text) for item in state.items if item.text),
    )


def _user(state: SessionState) -> UserState:
    view = state.user.view
    return UserState(
        user_id=state.opened.customer if state.opened is not None else "",
        profile=state.user.profile,
        preferences=view.get("preferences", {}),
        history=view.get("history", {}),
    )
