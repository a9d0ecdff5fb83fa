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


class TakenOver(Refused):
    """A person has taken the session over: the agent says and begins nothing."""

    code = "session_taken_over"
    remedy = "It goes on once it is handed back."


class TakenByAnother(Refused):
    """Somebody else has taken this session over."""

    code = "taken_by_another"
    remedy = "Take it from them by naming them, or let them be."


class NotTakenOver(Refused):
    """Nobody has taken this session over."""

    code = "not_taken_over"
    remedy = "Take it over first."


class HasChanged(Refused):
    """It is another's by now."""

    code = "has_changed"
    remedy = "Look again."


class NotConsistent(Refused):
    """The state is not as its schema wants it: the agent would act on what is wrong."""

    code = "not_consistent"
    remedy = "Correct what is named, then hand the session back."


class NoPersonWanted(Refused):
    """The customer does not ask for a person, or has one."""

    code = "no_person_wanted"


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


class ClaimedByOther(Refused):
    """A colleague is on this request."""

    code = "claimed_by_other"
    remedy = "Take it from them, which is recorded, or leave it to them."


class NotYours(Refused):
    """You are not on this request, or not any more."""

    code = "not_yours"


class NotHeld(Refused):
    """Nothing is held here that could be undone."""

    code = "not_held"


class UnknownRequest(NotFound):
    """There is no such request in this session."""

    code = "unknown_request"


class Outdated(Refused):
    """What this result answers is not open any more."""

    code = "outdated"


class RunUnderWay(Refused):
    """The agent is at work and takes no message before it has finished."""

    code = "run_under_way"
    remedy = "Send it again when the agent has answered."


class TooManyWaiting(Refused):
    """So many messages wait for the agent to finish already."""

    code = "too_many_waiting"
    remedy = "Send it again when the agent has answered."


class ForkMaySayNothing(Refused):
    """A fork says nothing to anybody until it is promoted."""

    code = "fork_may_say_nothing"


class FamilyFull(Refused):
    """The session and its delegates may open no other session."""

    code = "family_full"
    remedy = "Do it in this session, or wait until a delegate has ended."
