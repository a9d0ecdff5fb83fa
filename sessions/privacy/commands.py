"""What can be asked about a data subject: to be erased, to be kept, and for how long words are kept at all.

Whoever serves the subject may ask: the permission counts in a team that has a session with them or about them, and for
a subject of whom no session knows, in any team. To anybody else there is no such subject.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from agentstate.engine.decide import Seal
from agentstate.engine.instants import parse
from agentstate.errors import Invalid, NotFound, Refused
from agentstate.people.models import User
from agentstate.people.permissions import PermissionDenied, teams_required, teams_with
from agentstate.people.roles import Permission
from audit import erasure, holds, retention
from audit.erasure import State, UnknownErasure, UnknownSubject
from audit.models import ErasureRequest, LegalHold
from sessions.core import reach, states
from sessions.core.commit import person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, bounded, must_may, team_of
from sessions.models.proposals import Proposal
from sessions.models.sessions import AgentSession
from sessions.privacy import proposal as proposed
from sessions.privacy import subject_proposals
from sessions.proposals import workflow


class NothingOutstanding(Refused):
    """A report on this data subject is complete."""

    code = "nothing_outstanding"


def seal(user: Person, session: UUID, *, key: str = "") -> Committed:
    """Let nothing follow in a session that has ended. Raises NotEnded, SessionSealed."""
    must_may(user, session, Permission.SEAL)
    author = author_of(user, key)
    return person_command(session, Seal(author.actor), author)


def subject(user: Person, permission: Permission, *, customer: str = "", session: UUID | None = None) -> UUID:
    """The key of a data subject, named by reference or by a session of theirs. Raises Invalid, UnknownSubject,
    UnknownSession, PermissionDenied.
    """
    if bool(customer) == (session is not None):
        raise Invalid("name the customer, or a session of theirs", field="customer")
    if session is not None:
        team_of(user, session)
        kid = AgentSession.objects.values_list("kid", flat=True).get(pk=session)
    else:
        bounded("customer", customer)
        kid = erasure.find(_staff(user).tenant_id, customer)
    must_serve(user, permission, kid)
    return kid


def must_serve(user: Person, permission: Permission, kid: UUID, unknown: type[NotFound] = UnknownSubject) -> None:
    """Raises `unknown` to those who see no team that serves the subject; PermissionDenied."""
    serving = reach.of_subject(kid)
    if serving and not serving & set(teams_with(user, Permission.SEE)):
        raise unknown()
    held = set(teams_with(user, permission))
    if not (held & serving if serving else held):
        raise PermissionDenied(f"This needs the permission {permission.value}.", permission=permission.value)


def ask_erasure(
    user: Person, *, basis: str, reason: str, customer: str = "", session: UUID | None = None
) -> ErasureRequest:
    """Ask that a subject be erased. Raises UnknownSubject, AskedAlready, Invalid, keys.Erased."""
    kid = subject(user, Permission.ERASE_REQUEST, customer=customer, session=session)
    if basis not in erasure.BASES:
        raise Invalid(f"want one of {', '.join(erasure.BASES)}", field="basis")
    _reasoned(reason)
    by = _staff(user)
    return erasure.ask(by.tenant_id, kid, basis, reason, by.actor)


def rule_erasure(user: Person, request: UUID, wanted: State) -> ErasureRequest:
    """Approves or refuses a colleague's request, or withdraws the person's own. An approval waits for the other teams
    that serve the subject, as a proposal. Raises UnknownErasure, FourEyes, NotOpen, PermissionDenied.
    """
    asked = erasure_request(user, request)
    by = _staff(user)
    if wanted is State.WITHDRAWN and by.actor == asked.asked_by:
        must_serve(user, Permission.ERASE_REQUEST, asked.kid, UnknownErasure)
    else:
        must_serve(user, Permission.ERASE_APPROVE, asked.kid, UnknownErasure)
    serving = reach.of_subject(asked.kid)
    own = reach.held_in(user, Permission.ERASE_APPROVE, serving)
    if wanted is not State.APPROVED or own == serving:
        return erasure.rule(request, wanted, by.actor)
    erasure.must_be_open(asked, by.actor)
    if subject_proposals.erasure_waits(asked.pk) is not None:
        raise erasure.NotOpen("It waits for other teams.")
    facts: dict[str, object] = {"request": str(asked.pk)}
    workflow.make(
        subject_proposals.ERASURE,
        tenant=by.tenant_id,
        by=by.actor,
        own=own,
        teams=serving,
        details=facts,
        kid=asked.kid,
    )
    return asked


PRIVACY = (Permission.ERASE_REQUEST, Permission.ERASE_APPROVE, Permission.HOLD, Permission.SUBJECT_REPORT)


def erasure_request(user: Person, request: UUID) -> ErasureRequest:
    """A request, to those who deal with its subject. Raises UnknownErasure."""
    asked = ErasureRequest.objects.filter(pk=request).first()
    if asked is None or not deals_with(user, reach.of_subject(asked.kid)):
        raise UnknownErasure()
    return asked


def deals_with(user: Person, serving: frozenset[UUID]) -> bool:
    """Whether the person deals with data subjects in one of these teams; in any team where no team serves them."""
    held = {team for permission in PRIVACY for team in teams_with(user, permission)}
    return bool(held & serving if serving else held)


def set_hold(
    user: Person,
    *,
    reason: str,
    customer: str = "",
    session: UUID | None = None,
    whole: bool = True,
    until: datetime | None = None,
) -> LegalHold:
    """Keep a subject, or (not `whole`) only the session that was named, from erasure and pruning. Raises
    UnknownSubject, TooLate, Invalid, keys.Erased.
    """
    kid = subject(user, Permission.HOLD, customer=customer, session=session)
    if not whole and session is None:
        raise Invalid("which session is to be held?", field="session")
    _reasoned(reason)
    if session is not None and not whole:
        must_may(user, session, Permission.HOLD)
        states.load(session)  # what was pruned or erased cannot be kept
    by = _staff(user)
    return holds.put(by.tenant_id, kid, None if whole else session, reason, until, by.actor)


def lift_hold(user: Person, hold: UUID) -> LegalHold:
    """Ends a hold, once the other teams that serve the subject agree to a proposal. Raises UnknownHold, AlreadyLifted,
    PermissionDenied.
    """
    found = LegalHold.objects.filter(pk=hold).first()
    serving = reach.of_hold(found) if found is not None else frozenset()
    if found is None or not deals_with(user, serving):
        raise holds.UnknownHold()
    if not (reach.held_in(user, Permission.HOLD, serving) if serving else teams_with(user, Permission.HOLD)):
        _denied(Permission.HOLD)
    by = _staff(user)
    own = reach.held_in(user, Permission.HOLD, serving)
    if own == serving:
        return holds.lift(hold, by.actor)
    if found.lifted_at is not None:
        raise holds.AlreadyLifted()
    facts: dict[str, object] = {"hold": str(hold)}
    workflow.make(
        subject_proposals.LIFT, tenant=by.tenant_id, by=by.actor, own=own, teams=serving, details=facts, kid=found.kid
    )
    return found


def propose_report(user: Person, reason: str, *, customer: str = "", session: UUID | None = None) -> Proposal:
    """Asks the other teams that serve a subject for their part of the person's reports. Raises UnknownSubject,
    UnknownSession, NothingOutstanding, PermissionDenied, Invalid.
    """
    kid = subject(user, Permission.SUBJECT_REPORT, customer=customer, session=session)
    by = _staff(user)
    serving = reach.of_subject(kid)
    own = reach.held_in(user, Permission.SUBJECT_REPORT, serving) | subject_proposals.released(kid, by.actor)
    if serving <= own:
        raise NothingOutstanding()
    _reasoned(reason)
    facts: dict[str, object] = {}
    return workflow.make(
        subject_proposals.REPORT,
        tenant=by.tenant_id,
        by=by.actor,
        own=frozenset(),
        teams=serving - own,
        details=facts,
        reason=reason,
        kid=kid,
    )


def set_retention(user: Person, wanted: retention.Schedule) -> Proposal | None:
    """Sets classes and rules anew, as far as the person's teams see them (`retention_schedule`).

    What shortens a term, or concerns a team in which the person does not hold `retention`, becomes a proposal, which is
    returned. Raises PermissionDenied, Invalid.
    """
    own = frozenset(_retention_teams(user))
    by = _staff(user)
    retention.check(wanted)
    before = retention.schedule(by.tenant_id)
    after = before.with_part(wanted, own)
    retention.check(after)
    concerned = reach.of_retention(by.tenant_id, before, after)
    if concerned and not concerned & own:
        _denied(Permission.RETENTION)
    shorter = {team: terms for team in concerned if (terms := retention.shortened(before, after, team))}
    if any(days < retention.MIN_SHORTENED_DAYS for terms in shorter.values() for days in terms):
        raise Invalid(f"a term cannot be shortened below {retention.MIN_SHORTENED_DAYS} days", field="classes")
    if concerned <= own and not shorter:
        retention.put(by.tenant_id, after, by.actor, concerned)
        return None
    return workflow.make(
        proposed.KIND,
        tenant=by.tenant_id,
        by=by.actor,
        own=own & concerned,
        teams=concerned,
        details=proposed.details(before, after, shorter),
        second_person=bool(shorter),
        delay=proposed.DELAY if shorter else timedelta(),
    )


def retention_schedule(user: Person) -> retention.Schedule:
    """Returns what is in force for the teams in which the person holds `retention`. Raises PermissionDenied."""
    teams = _retention_teams(user)
    return retention.schedule(_staff(user).tenant_id).seen_by(teams)


def _retention_teams(user: Person) -> set[UUID]:
    return set(teams_required(user, Permission.RETENTION))


def _denied(permission: Permission) -> None:
    raise PermissionDenied(f"This needs the permission {permission.value}.", permission=permission.value)


def _staff(user: Person) -> User:
    if not isinstance(user, User):
        raise PermissionDenied("Sign in first.")
    return user


def _reasoned(reason: str) -> None:
    if not reason.strip():
        raise Invalid("must not be empty", field="reason")
    if len(reason) > erasure.MAX_REASON:
        raise Invalid(f"got {len(reason)} characters, at most {erasure.MAX_REASON}", field="reason")


def schedule_of(data: object) -> retention.Schedule:
    """A schedule as JSON has it. Raises Invalid."""
    try:
        return msgspec.convert(data, retention.Schedule)
    except msgspec.ValidationError as error:
        raise Invalid(str(error)[:300], field="rules") from None


def instant_of(text: str, field: str) -> datetime | None:
    """An instant as a form sends it; None for an empty one. Raises Invalid."""
    if not text:
        return None
    try:
        return parse(text)
    except ValueError:
        raise Invalid(f"got {text[:40]!r}, want an instant such as 2027-01-31T00:00:00Z", field=field) from None
