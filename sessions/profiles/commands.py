"""Commands on a customer's profile: by the customer's side, or by staff on their behalf.

A change needs `keep_profile` or `speak_as_customer` in every team that has a session with the customer. A person who
holds it in some of these teams makes a proposal to the others. A withdrawn consent counts at once: it protects the
customer. People who may not read in any of these teams get `unknown_customer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from agentstate.clock import now
from agentstate.engine.instants import stamp
from agentstate.engine.profile import ProfileState, decide
from agentstate.engine.profile import commands as ask
from agentstate.engine.profile.events import Part
from agentstate.engine.profile.refusals import NothingHeld
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission
from audit.ledger import SameKeyOtherCommand
from sessions.core.committed import Author
from sessions.core.person import Person, author_of
from sessions.models.proposals import Proposal
from sessions.profiles import logs, proposal
from sessions.profiles.access import Known, kept_in, known, spoken_in
from sessions.profiles.logs import Kept
from sessions.profiles.partial import seen_from
from sessions.proposals import workflow

CUSTOMER = "customer"


def consent(
    user: Person, customer: UUID, purpose: str, agreed: bool, *, note: str = "", key: str = ""
) -> Kept | Proposal:
    """The customer agrees to a purpose, or no longer. Raises UnknownPurpose, PurposeRequired, Invalid."""
    made = ask.Agree if agreed else ask.Withdraw
    return _write(user, customer, lambda by: made(purpose, by, note), key)


def prefer(user: Person, customer: UUID, preference: str, value: Any, *, key: str = "") -> Kept | Proposal:
    """What the customer wants; None takes it back. Raises UnknownPreference, BadValue, NoConsent, NothingHeld."""
    if value is None:
        return _write(user, customer, lambda by: ask.Clear(preference, by), key)
    return _write(user, customer, lambda by: ask.Prefer(preference, value, by), key)


def rate(user: Person, customer: UUID, preference: str, value: Any, fits: bool, *, key: str = "") -> Kept | Proposal:
    """Whether a value fits the customer. Raises UnknownPreference, BadValue, NoConsent, LearningRefused."""
    return _write(user, customer, lambda by: ask.Rate(preference, value, fits, by), key)


def correct(user: Person, customer: UUID, preference: str, value: Any, *, key: str = "") -> Kept | Proposal:
    """What is right instead of what was learned. Raises UnknownPreference, BadValue, NoConsent, NothingHeld."""
    return _write(user, customer, lambda by: ask.Correct(preference, value, by), key)


def refuse(
    user: Person, customer: UUID, preference: str, *, value: Any = None, allowed: bool = False, key: str = ""
) -> Kept | Proposal:
    """A preference, or one value of it, is not to be learned; or may be again. Raises UnknownPreference, BadValue,
    NothingHeld, TooManyRefusals.
    """
    made = ask.Allow if allowed else ask.Refuse
    return _write(user, customer, lambda by: made(preference, by, value), key)


def forget(user: Person, customer: UUID, part: Part, *, name: str = "", key: str = "") -> Kept | Proposal:
    """Forget a part of the profile, or all of it. Raises NothingHeld."""
    return _write(user, customer, lambda by: ask.Forget(part, by, name), key)


def _write(user: Person, customer: UUID, made: Callable[[str], ask.PersonsCommand], key: str) -> Kept | Proposal:
    """Writes what `made` gives for the account, or for the customer that it speaks as; or proposes it to the other
    teams. Raises UnknownCustomer, PermissionDenied.
    """
    found = known(user, customer)
    author = author_of(user, key)
    keeping = kept_in(user, found.teams)
    own = keeping | spoken_in(user, found.teams)
    if not own:
        needed = Permission.KEEP_PROFILE.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)
    command = made(author.actor if keeping else CUSTOMER)
    if own == found.teams or isinstance(command, ask.Withdraw):
        return logs.write(found.subject, found.declared, command, author)
    state = logs.read(found.subject)
    if earlier := logs.answered_before(found.subject, state, command, author):
        return earlier
    _must_be_possible(found, state, command)
    return _proposed(found, own, command, author)


def _must_be_possible(found: Known, state: ProfileState, command: ask.PersonsCommand) -> None:
    """Raises what `decide` refuses on the part of the profile that the person sees; the rest is not told by this."""
    try:
        decide(command, seen_from(state, found.sessions), found.declared, stamp(now()))
    except NothingHeld:
        if found.whole:
            raise


def _proposed(found: Known, own: frozenset[UUID], command: ask.PersonsCommand, author: Author) -> Proposal:
    """Returns the proposal of this change: the one that waits already, if this person has made it."""
    change = proposal.Change(command, author.key)
    for row in proposal.going(found.subject.kid).filter(by=author.actor):
        before = proposal.change_of(row)
        if before is not None and before.command == command:
            return row
        if before is not None and author.key and before.key == author.key:
            raise SameKeyOtherCommand()
    return workflow.make(
        proposal.KIND,
        tenant=found.subject.tenant,
        by=author.actor,
        own=own,
        teams=found.teams,
        details={},
        content=proposal.sealed(found.subject.kid, change),
        kid=found.subject.kid,
    )
