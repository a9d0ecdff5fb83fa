"""What people of the house do in a session: they take it over, guide its agent, hand it back; its customer asks for
one of them.
"""

from __future__ import annotations

from typing import Literal

from agentstate.engine.events.base import Event

Asked = Literal["phrase", "tool", "api"]
DroppedFor = Literal["taken_over", "stopped", "spoken_over"]


class SessionTakenOver(Event, frozen=True, tag="session.taken_over"):
    """A person speaks to the customer from here on, and the agent is silent. `from_whom` had it before: another person,
    or empty, the agent.
    """

    by: str
    reason: str = ""
    from_whom: str = ""
    v: int = 1


class SessionPassedOn(Event, frozen=True, tag="session.passed_on"):
    """A session that was taken over goes from one person to another, by a third perhaps; `to` empty: it waits for
    whoever takes it next, and the agent stays silent.
    """

    to: str
    from_whom: str
    reason: str
    by: str
    v: int = 1


class SessionHandedBack(Event, frozen=True, tag="session.handed_back"):
    """The agent has the session again. `opening` is what it is told of how to go on; `speaks`: it does so at once,
    otherwise it waits for the customer.
    """

    by: str
    summary: str
    opening: str
    speaks: bool = True
    v: int = 1


class GuidanceGiven(Event, frozen=True, tag="guidance.given"):
    """A whisper: the agent's model sees it from its next request on, the customer never does. `now`: the agent is asked
    at once.
    """

    text: str
    by: str
    now: bool = False
    v: int = 1


class ModelDropped(Event, frozen=True, tag="model.dropped"):
    """An answer that came when nobody wanted it any more: it was not said, and its calls were not taken up. Its words
    are kept as their digest.
    """

    step: str
    because: DroppedFor
    model: str = ""
    digest: str = ""  # SHA-256 over what it would have said
    proposed: int = 0  # calls
    input_tokens: int = 0
    output_tokens: int = 0
    v: int = 1


class HumanRequested(Event, frozen=True, tag="session.human_requested"):
    """The customer asks for a person. `source`: their own words (`why` holds the phrase that was heard), a tool that
    the agent called, or a caller of the API.
    """

    source: Asked
    by: str
    why: str = ""
    v: int = 1


class HumanWithdrawn(Event, frozen=True, tag="session.human_withdrawn"):
    """The customer needs no person any more."""

    by: str
    why: str
    v: int = 1


class WorkAssigned(Event, frozen=True, tag="work.assigned"):
    """Somebody is to see to a request, or to the session as a whole (`request` empty). `to` empty: back to the queue.
    `why` are the rules' reasons, or a person's.
    """

    request: str
    to: str
    by: str
    why: tuple[str, ...] = ()
    from_whom: str = ""
    v: int = 1
