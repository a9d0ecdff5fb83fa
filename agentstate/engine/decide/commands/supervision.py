"""What people of the house do in a session, and what its customer asks of them."""

from __future__ import annotations

from agentstate.engine.decide.commands.base import Command
from agentstate.engine.events.supervision import Asked


class TakeOver(Command, frozen=True):
    """A person speaks instead of the agent. `holder` is who had it when they looked: taking it from a colleague names
    them.
    """

    by: str
    reason: str = ""
    holder: str = ""


class Speak(Command, frozen=True):
    """The person who took it over says something to the customer."""

    text: str
    by: str


class BargeIn(Command, frozen=True):
    """A person says one thing to the customer while the agent has the session, which goes on and knows of it."""

    text: str
    by: str


class Whisper(Command, frozen=True):
    """Guidance for the agent that the customer does not see. `now`: it is asked at once."""

    text: str
    by: str
    now: bool = False


class HandBack(Command, frozen=True):
    """The agent goes on. `speaks`: at once; otherwise when the customer has spoken."""

    summary: str
    by: str
    speaks: bool = True


class PassOn(Command, frozen=True):
    """What `holder` has taken over goes `to` somebody else, or, empty, waits for whoever takes it."""

    to: str
    holder: str
    reason: str
    by: str


class AskForPerson(Command, frozen=True):
    """The customer asks for a person."""

    source: Asked
    by: str
    why: str = ""


class NoPersonNeeded(Command, frozen=True):
    """The customer needs no person any more."""

    why: str
    by: str


class Assign(Command, frozen=True):
    """Somebody is to see to a request, or to the session (`request` empty); `to` empty: back to the queue. `holder` is
    who was to do it when its author looked.
    """

    request: str
    to: str
    by: str
    why: tuple[str, ...] = ()
    holder: str = ""
