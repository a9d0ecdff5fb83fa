"""Making proposals, answering them, and carrying them out. Every step is an entry of the staff log, in the same
transaction; each team that has not answered has an open alert.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Set
from datetime import timedelta
from uuid import UUID

import msgspec
from django.db import transaction

from agentstate.engine.alerts import Onward
from agentstate.engine.decide.alerts import TooManyAlerts
from agentstate.errors import Invalid, NotFound, Refused
from agentstate.ids import new_id
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import Permission, roles_with
from audit import keys, ledger, staff
from audit.server_clock import now
from sessions.core import reach
from sessions.events import team_alerts
from sessions.models.proposals import Proposal, ProposalAnswer
from sessions.proposals.kinds import KINDS, Kind
from sessions.proposals.tally import Answer, Standing, standing

DAYS_TO_ANSWER = 7
REASON = "sessions/proposal"
MAX_REASON = 2_000  # characters
ALERT = "proposal"
State = Proposal.State
log = logging.getLogger(__name__)


class UnknownProposal(NotFound):
    """There is no such proposal, or it concerns none of your teams."""

    code = "unknown_proposal"


class ProposalOver(Refused):
    """This proposal has ended."""

    code = "proposal_over"


class SecondPerson(Refused):
    """A person other than the proposer must agree."""

    code = "second_person"
    status = 403
    remedy = "Ask a colleague who holds the permission."


class NotOverdue(Refused):
    """These teams still have time to answer for themselves."""

    code = "not_overdue"


def make(
    kind: Kind,
    *,
    tenant: UUID,
    by: str,
    own: Set[UUID],
    teams: Set[UUID],
    details: dict[str, object],
    reason: str = "",
    content: bytes = b"",
    kid: UUID | None = None,
    second_person: bool = False,
    delay: timedelta = timedelta(),
) -> Proposal:
    """Records a proposal. The proposer agrees for the teams in `own`, unless a second person must. `content` is sealed.
    Raises Invalid.
    """
    _must_fit(reason)
    key = kid or keys.subject_kid(tenant, by)
    at = now()
    with transaction.atomic():
        row = Proposal.objects.create(
            id=new_id(),
            tenant_id=tenant,
            kind=kind.name,
            permission=kind.permission.value,
            teams=sorted(teams),
            details=details,
            kid=key,
            reason=_sealed(key, reason),
            content=content,
            by=by,
            at=at,
            answer_by=at + timedelta(days=DAYS_TO_ANSWER),
            second_person=second_person,
            delay=int(delay.total_seconds()),
            state=State.OPEN,
        )
        _record(row, "proposal.made", by, list(teams))
        if own and not second_person:
            _answer(row, own, by, agrees=True, reason="", for_team=False)
        _ask(row, teams - own if not second_person else teams)
        _move(row)
    return row


def answer(
    proposal: UUID, teams: Set[UUID], by: str, *, agrees: bool, reason: str = "", for_team: bool = False
) -> Proposal:
    """Records an answer for these teams and carries the act out once all agree. Raises ProposalOver, SecondPerson,
    Invalid.
    """
    _must_fit(reason)
    if not agrees and not reason.strip():
        raise Invalid("say why", field="reason")
    with transaction.atomic():
        row = locked(proposal)
        kind = KINDS[row.kind]
        if agrees and by in ({row.by} if row.second_person or for_team else set()) | kind.excluded(row):
            raise SecondPerson()
        _answer(row, teams, by, agrees=agrees, reason=reason, for_team=for_team)
        for team in teams:
            team_alerts.close_of_team(team, ALERT, f"proposal:{row.pk}", "answered")
        if not agrees and not kind.each_team:
            kind.reject(row, by)
            _end(row, State.REJECTED, by)
        else:
            _move(row)
    return row


def withdraw(proposal: UUID, by: str) -> Proposal:
    """Ends a proposal by its proposer. Raises ProposalOver, PermissionDenied."""
    with transaction.atomic():
        row = locked(proposal)
        if row.by != by:
            raise PermissionDenied("Only the proposer withdraws a proposal.")
        _end(row, State.WITHDRAWN, by)
    return row


def outdate(proposal: UUID, why: str) -> None:
    """Ends a proposal whose act can no longer be carried out. Raises UnknownProposal, ProposalOver."""
    with transaction.atomic():
        _end(locked(proposal), State.OUTDATED, ledger.SYSTEM, why)


def locked(proposal: UUID) -> Proposal:
    """Returns a proposal that has not ended, locked for this transaction. Raises UnknownProposal, ProposalOver."""
    row = Proposal.objects.select_for_update().filter(pk=proposal).first()
    if row is None:
        raise UnknownProposal()
    if row.state not in (State.OPEN, State.AGREED):
        raise ProposalOver(f"It is {row.get_state_display().lower()}.")
    return row


def carry_out_due() -> int:
    """Carries out what every team agreed to and whose delay is over. Returns how many."""
    found = Proposal.objects.filter(state=State.AGREED, due_at__lte=now()).order_by("due_at", "pk")
    done = 0
    for each in found.values_list("pk", flat=True):
        try:
            with transaction.atomic():
                row = locked(each)
                _move(row)
                done += row.state == State.CARRIED_OUT
        except Refused:  # another process was faster
            continue
        except Exception:
            log.exception("proposal %s could not be carried out", each)
    return done


def standing_of(row: Proposal) -> Standing:
    """Returns which teams have agreed, rejected, and not answered."""
    found = ProposalAnswer.objects.filter(proposal=row).order_by("at", "pk").values_list("team_id", "agrees")
    return standing(row.teams, [Answer(team, agrees) for team, agrees in found])


def reason_of(kid: UUID, sealed: bytes) -> str:
    """Returns the text of a reason; empty once its data subject is erased."""
    try:
        return keys.unseal(kid, REASON, bytes(sealed)).decode() if sealed else ""
    except keys.Erased:
        return ""


def _move(row: Proposal) -> None:
    """Moves a proposal on: to agreed once no team is outstanding, to its end once its delay is over."""
    kind = KINDS[row.kind]
    concerned = kind.teams(row)
    if grown := concerned - set(row.teams):  # a team that it did not concern before
        row.teams, row.state, row.due_at = sorted({*row.teams, *grown}), State.OPEN, None
        row.answer_by = now() + timedelta(days=DAYS_TO_ANSWER)
        row.save(update_fields=["teams", "state", "due_at", "answer_by"])
        _record(row, "proposal.grown", ledger.SYSTEM, list(grown))
        _ask(row, grown)
    found = standing_of(row)
    if found.outstanding or (found.rejected and not kind.each_team):
        return
    if row.due_at is None:
        row.state, row.due_at = State.AGREED, now() + timedelta(seconds=row.delay)
        row.save(update_fields=["state", "due_at"])
        _record(row, "proposal.agreed", ledger.SYSTEM, row.teams)
    if row.due_at <= now():
        _carry_out(row, kind)


def _carry_out(row: Proposal, kind: Kind) -> None:
    try:
        with transaction.atomic():
            kind.carry_out(row)
    except Refused as refusal:
        _end(row, State.OUTDATED, ledger.SYSTEM, refusal.code)
    else:
        _end(row, State.CARRIED_OUT, ledger.SYSTEM)


def _end(row: Proposal, state: State, by: str, why: str = "") -> None:
    row.state, row.ended_at, row.ended_by, row.ended_why = state, now(), by, why
    row.save(update_fields=["state", "ended_at", "ended_by", "ended_why"])
    _record(row, f"proposal.{state.value}", by, row.teams, why=why)
    for team in row.teams:
        team_alerts.close_of_team(team, ALERT, f"proposal:{row.pk}", "settled")


def _answer(row: Proposal, teams: Iterable[UUID], by: str, *, agrees: bool, reason: str, for_team: bool) -> None:
    at = now()
    for team in sorted(teams):
        ProposalAnswer.objects.create(
            id=new_id(),
            proposal=row,
            team_id=team,
            agrees=agrees,
            by=by,
            at=at,
            reason=_sealed(row.kid, reason),
            for_team=for_team,
        )
    _record(row, "proposal.answered", by, list(teams), agrees=agrees, for_team=for_team)


def _ask(row: Proposal, teams: Set[UUID]) -> None:
    """Alerts the people who answer for these teams, and those who decide for late teams once a team is late."""
    to, late = _names_with(Permission(row.permission)), _names_with(Permission.DECIDE_OVERDUE)
    able = reach.answering(teams, Permission(row.permission))
    chain = (Onward(DAYS_TO_ANSWER * 86_400, late),)
    for team in sorted(teams):
        alert = team_alerts.TeamAlert(ALERT, f"proposal:{row.pk}", "warning", "proposal_made", late)
        if team in able:
            alert = msgspec.structs.replace(alert, to=to, chain=chain)
        try:
            team_alerts.raise_for_team(row.tenant_id, team, alert)
        except TooManyAlerts:  # its queue has the proposal all the same
            log.warning("team %s was not alerted of a proposal: it has too many open alerts", team)


def _names_with(permission: Permission) -> tuple[str, ...]:
    return tuple(f"role:{role}" for role in roles_with(permission))


def _must_fit(reason: str) -> None:
    if len(reason) > MAX_REASON:
        raise Invalid(f"got {len(reason)} characters, at most {MAX_REASON}", field="reason")


def _sealed(kid: UUID, reason: str) -> bytes:
    return keys.seal(kid, REASON, reason.strip().encode()) if reason.strip() else b""


def _record(row: Proposal, kind: str, by: str, teams: Collection[UUID], **facts: object) -> None:
    known = {"proposal": str(row.pk), "of": row.kind, "teams": [str(team) for team in sorted(teams)], **facts}
    staff.record(row.tenant_id, now(), kind, by, "", known)
