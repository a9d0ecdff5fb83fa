"""The refusals of plans that callers tell apart."""

from __future__ import annotations

from agentstate.errors import Invalid, Refused


class NoPlan(Refused):
    """This session carries out no plan."""

    code = "no_plan"


class PlanChanged(Refused):
    """The plan has changed since you saw it."""

    code = "plan_changed"
    remedy = "Look at it again."


class PlanUnderWay(Refused):
    """The session has a plan that has not ended."""

    code = "plan_under_way"
    remedy = "Edit that plan, wait for its end, or say that yours replaces it."


class AlreadyBegun(Refused):
    """What has begun cannot be changed."""

    code = "already_begun"


class TooManyInstances(Invalid):
    """One session holds so many instances, not more."""

    code = "too_many_instances"
    remedy = "Open another session for the others."


class FollowsPlan(Refused):
    """The plan of this run is to be followed exactly."""

    code = "follow_plan"
