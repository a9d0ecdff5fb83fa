"""Plans: checked before anything runs, gated as a whole, carried out call by call, edited, and brought to an end.

A plan is proposed by the model (call by call, or whole as a call of the tool `plan`), by a person or by a caller. Its
approval is that of the call `plan`: what is approved is what was shown. A call of a plan is gated when it is ready, on
its resolved arguments; the plan's approval covers it as far as it goes.

Read in this order: `checking`, `force`, `answers` and `wishes`, `calls`, `outputs`, `following`.
"""

from __future__ import annotations

from agentstate.engine.decide.plans.answers import Form, answered, belongs, beside, of_model
from agentstate.engine.decide.plans.calls import (
    LOST_RIGHT,
    STRICTER,
    Covering,
    covering,
    effect_of,
    lost,
    next_call,
    readied,
    shaken,
)
from agentstate.engine.decide.plans.checking import card_of, facts_for, private_reading
from agentstate.engine.decide.plans.delegates import delegates_in
from agentstate.engine.decide.plans.following import followed_up
from agentstate.engine.decide.plans.force import DEVIATES, approved, deviating, follows, plan_tool
from agentstate.engine.decide.plans.outputs import judged, must_fit, output
from agentstate.engine.decide.plans.refusals import AlreadyBegun, FollowsPlan, NoPlan, PlanChanged, TooManyInstances
from agentstate.engine.decide.plans.wishes import delegated, edited, proposed, subject_erased, task_taken

__all__ = [
    "DEVIATES",
    "LOST_RIGHT",
    "STRICTER",
    "AlreadyBegun",
    "Covering",
    "FollowsPlan",
    "Form",
    "NoPlan",
    "PlanChanged",
    "TooManyInstances",
    "answered",
    "approved",
    "belongs",
    "beside",
    "card_of",
    "covering",
    "delegated",
    "delegates_in",
    "deviating",
    "edited",
    "effect_of",
    "facts_for",
    "followed_up",
    "follows",
    "judged",
    "lost",
    "must_fit",
    "next_call",
    "of_model",
    "output",
    "plan_tool",
    "private_reading",
    "proposed",
    "readied",
    "shaken",
    "subject_erased",
    "task_taken",
]
