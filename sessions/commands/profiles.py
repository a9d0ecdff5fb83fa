"""What can be asked of a customer's profile: by the customer's side, or by staff on their behalf.

Who may: somebody who keeps profiles, or speaks as the customer, in a team that has a session with that customer. To
anybody who may not read in such a team, there is no such customer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from agentstate.engine.profile import commands as ask
from agentstate.engine.profile.events import Part
from agentstate.people.permissions import Permission, PermissionDenied
from sessions.commands.person import Person, author_of
from sessions.profiles import logs
from sessions.profiles.access import keeps, known, speaks
from sessions.profiles.logs import Kept

CUSTOMER = "customer"


def consent(user: Person, customer: UUID, purpose: str, agreed: bool, *, note: str = "", key: str = "") -> Kept:
    """The customer agrees to a purpose, or no longer. Raises UnknownPurpose, PurposeRequired, Invalid."""
    made = ask.Agree if agreed else ask.Withdraw
    return _write(user, customer, lambda by: made(purpose, by, note), key)


def prefer(user: Person, customer: UUID, preference: str, value: Any, *, key: str = "") -> Kept:
    """What the customer wants; None takes it back. Raises UnknownPreference, BadValue, NoConsent, NothingHeld."""
    if value is None:
        return _write(user, customer, lambda by: ask.Clear(preference, by), key)
    return _write(user, customer, lambda by: ask.Prefer(preference, value, by), key)


def rate(user: Person, customer: UUID, preference: str, value: Any, fits: bool, *, key: str = "") -> Kept:
    """Whether a value fits the customer. Raises UnknownPreference, BadValue, NoConsent, LearningRefused."""
    return _write(user, customer, lambda by: ask.Rate(preference, value, fits, by), key)


def correct(user: Person, customer: UUID, preference: str, value: Any, *, key: str = "") -> Kept:
    """What is right instead of what was learned. Raises UnknownPreference, BadValue, NoConsent, NothingHeld."""
    return _write(user, customer, lambda by: ask.Correct(preference, value, by), key)


def refuse(
    user: Person, customer: UUID, preference: str, *, value: Any = None, allowed: bool = False, key: str = ""
) -> Kept:
    """A preference, or one value of it, is not to be learned; or may be again. Raises UnknownPreference, BadValue,
    NothingHeld, TooManyRefusals.
    """
    made = ask.Allow if allowed else ask.Refuse
    return _write(user, customer, lambda by: made(preference, by, value), key)


def forget(user: Person, customer: UUID, part: Part, *, name: str = "", key: str = "") -> Kept:
    """Forget a part of the profile, or all of it. Raises NothingHeld."""
    return _write(user, customer, lambda by: ask.Forget(part, by, name), key)


def _write(user: Person, customer: UUID, made: Callable[[str], ask.ProfileCommand], key: str) -> Kept:
    """`made` by the account, or by the customer that it speaks as. Raises UnknownCustomer, PermissionDenied."""
    found = known(user, customer)
    author = author_of(user, key)
    if keeps(user, found.teams):
        by = author.actor
    elif speaks(user, found.teams):
        by = CUSTOMER
    else:
        needed = Permission.KEEP_PROFILE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    return logs.write(found.subject, found.declared, made(by), author)
