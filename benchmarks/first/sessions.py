"""Sessions for the benchmarks, opened as a caller's API request opens them."""

from __future__ import annotations

from uuid import UUID

from benchmarks.ground import Ground
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import AgentSession


def opened(here: Ground, agent: str, customer: str) -> UUID:
    """A new session of that agent."""
    return conversation_commands.start(here.caller, customer=customer, agent=agent, channel="phone").session


def end_all(here: Ground) -> None:
    """End what is still open, so that a worker finds nothing of it to do."""
    for session in AgentSession.objects.filter(ended_at=None).values_list("id", flat=True):
        conversation_commands.end(here.caller, session, "measured")
