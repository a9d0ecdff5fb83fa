"""Guidance between colleagues and the agent is not for the customer's side: who speaks as them reads the rest."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from agentstate.engine.conversation import Item
from agentstate.engine.state.supervision import BACK, GUIDANCE
from agentstate.people.permissions import PermissionDenied, can
from agentstate.people.roles import Permission
from sessions.queries.session_lines import Person

WITHHELD = "Guidance between colleagues."
KINDS = {"guidance.given": ("text",), "session.handed_back": ("summary", "opening")}


def withheld_from(user: Person, team: UUID) -> bool:
    """Whether this person is on the customer's side: speaks as them, and may not whisper."""
    return can(user, Permission.SPEAK_AS_CUSTOMER, team) and not can(user, Permission.WHISPER, team)


def must_not_tell(user: Person, team: UUID, items: Iterable[Item]) -> None:
    """Raises PermissionDenied where what the model is shown holds guidance and `user` is on the customer's side."""
    told = any(item.role == "note" and item.text.startswith((GUIDANCE, BACK)) for item in items)
    if told and withheld_from(user, team):
        needed = Permission.WHISPER.value
        raise PermissionDenied(f"It holds guidance between colleagues: this needs {needed}.", permission=needed)
