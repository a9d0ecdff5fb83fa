"""The sessions above a delegate: what binds it, and the one that keeps the record of the whole family.

Sums and refusals of a family are counted in the session above all others, in the transaction of the delegate's own
entries and under a lock on that session, so that two delegates side by side cannot both spend the same allowance.
Locks are taken from above, as `children` takes them.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.engine.decide import families
from agentstate.engine.decide.context import Family
from agentstate.engine.state.session import SessionState
from audit import keys
from sessions.core import states
from sessions.core.states import Loaded


class RootNeeded(Exception):
    """The commit counts in the session above all others, which was not locked."""


def above(parent: str) -> list[Loaded]:
    """Returns the sessions from `parent` upwards, the nearest first. One that was erased binds none any more."""
    found: list[Loaded] = []
    while parent:
        try:
            found.append(states.load(UUID(parent)))
        except keys.Erased:
            break
        parent = found[-1].state.plans.parent
    return found


def family_of(state: SessionState, parent: str) -> Family | None:
    """What binds a session whose task came from `parent` (empty: from none), as it is now."""
    if not parent:
        return None
    found = above(parent)
    own = _of_the_same_subject(state, found)
    return families.family_of(tuple(each.state for each in found[:own]), tuple(each.state for each in found[own:]))


def root_of(state: SessionState) -> UUID | None:
    """The session in which a delegate counts; None: it has no parent of the same data subject."""
    found = above(state.plans.parent)
    own = _of_the_same_subject(state, found)
    return found[own - 1].place.id if own else None


def top_of(parent: str) -> UUID | None:
    """The session above all others, whose budget the delegates share; `parent` is where to begin."""
    found = above(parent)
    return found[-1].place.id if found else None


def _of_the_same_subject(state: SessionState, found: list[Loaded]) -> int:
    """How many of the sessions above are of the customer of the delegate: nothing of one reaches another's entries."""
    customer = state.opened.customer if state.opened else ""
    names = [each.state.opened.customer if each.state.opened else "" for each in found]
    return next((at for at, name in enumerate(names) if name != customer), len(names))
