"""The refusals that callers tell apart. Anything else is refused as Invalid, NotFound or plainly Refused."""

from __future__ import annotations

from agentstate.errors import NotFound, Refused


class SessionOver(Refused):
    """The conversation is over."""

    code = "session_over"
    remedy = "Open a new session."


class SessionPaused(Refused):
    """The session is paused: nothing is begun in it."""

    code = "session_paused"
    remedy = "Resume it first."


class NotPaused(Refused):
    """The session is not paused."""

    code = "not_paused"


class SessionSealed(SessionOver):
    """The session is sealed: nothing follows in it any more."""

    code = "session_sealed"


class AlreadyDecided(Refused):
    """This request is no longer open."""

    code = "already_decided"


class DecisionNotAllowed(Refused):
    """You may not decide this request in this way."""

    code = "decision_not_allowed"
    status = 403


class UnknownRequest(NotFound):
    """There is no such request in this session."""

    code = "unknown_request"


class Outdated(Refused):
    """What this result answers is not open any more."""

    code = "outdated"


class ForkMaySayNothing(Refused):
    """A fork says nothing to anybody until it is promoted."""

    code = "fork_may_say_nothing"
