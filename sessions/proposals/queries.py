"""Proposals as lists and pages show them. A reader sees the answers of the teams in which they hold the permission; of
other teams only how many have not answered. A person who decides for late teams sees all answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Annotated, NamedTuple
from uuid import UUID

import msgspec
from django.db.models import Q, QuerySet
from msgspec import Meta

from agentstate.people.models import Team, User
from agentstate.people.permissions import holds_any, teams_with
from agentstate.people.roles import Permission
from sessions.core import reach
from sessions.core.session_lines import Person
from sessions.http.answers import PageOnly
from sessions.http.bodies import About, Words
from sessions.models.proposals import Proposal, ProposalAnswer
from sessions.proposals import workflow
from sessions.proposals.commands import overdue_teams, proposal_of
from sessions.proposals.kinds import KINDS, NAMES
from sessions.proposals.tally import Answer, standing

MOST = 200
STATES = {
    "open": "Waits for answers",
    "agreed": "Agreed, takes effect later",
    "carried_out": "Carried out",
    "rejected": "Rejected",
    "withdrawn": "Withdrawn",
    "outdated": "Outdated",
}
OPEN = (Proposal.State.OPEN, Proposal.State.AGREED)
PROPOSAL_STATE = list(Proposal.State.values)


class AnswerLine(msgspec.Struct, frozen=True):
    """What one team answered last. `by` is empty while it has not."""

    team: UUID
    team_name: str
    agrees: Annotated[bool | None, About("null: the team has not answered")]
    by: str
    at: datetime | None
    reason: str
    for_team: Annotated[bool, About("the privacy officer answered for the team")]


class ProposalLine(msgspec.Struct, frozen=True):
    """One proposal as a reader may see it. `changes` says by own team what it changes there. `sessions` of the reader's
    teams hold data of the subject that it is about; `customer`: whose profile it changes, for those who may read a
    session of theirs.
    """

    id: UUID
    kind: Annotated[str, Meta(extra_json_schema={"enum": NAMES})]
    title: str
    state: Annotated[str, Words(PROPOSAL_STATE)]
    reason: str
    by: str
    at: datetime
    answer_by: Annotated[datetime, About("from then on the privacy officer decides for late teams")]
    due_at: Annotated[datetime | None, About("when it takes effect, once all teams agree")]
    ended_at: datetime | None
    ended_by: str
    ended_why: Annotated[str, About("code of the refusal that made it outdated, or empty")]
    second_person: Annotated[bool, About("a person other than the proposer must agree")]
    changes: Annotated[tuple[str, ...], About("what it changes in your teams")]
    customer: Annotated[UUID | None, About("whose profile it changes, if you may read it")]
    erasure: Annotated[UUID | None, About("the erasure request that it is about")]
    sessions: Annotated[tuple[UUID, ...], About("of your teams, with data of the subject; empty in lists")]
    answers: Annotated[tuple[AnswerLine, ...], About("of your teams")]
    others_outstanding: Annotated[int, About("other teams that have not answered")]
    may_answer: bool
    may_decide_overdue: bool
    may_withdraw: bool
    waits: PageOnly[bool]  # for this person


def may_open(user: Person) -> bool:
    """Whether the page of proposals has anything for `user`."""
    return holds_any(user, Permission.DECIDE_OVERDUE, *(kind.permission for kind in KINDS.values()))


class _Reader:
    """A person who reads proposals. Each right is looked up once, however many proposals they read."""

    def __init__(self, user: Person) -> None:
        self.user = user
        self.actor: str = getattr(user, "actor", "")
        self._teams: dict[Permission, frozenset[UUID]] = {}

    def teams(self, permission: Permission) -> frozenset[UUID]:
        """Returns the teams in which the person holds the permission."""
        if permission not in self._teams:
            self._teams[permission] = frozenset(teams_with(self.user, permission))
        return self._teams[permission]

    @cached_property
    def decides_overdue(self) -> bool:
        """Whether the person answers for late teams of their organization."""
        return holds_any(self.user, Permission.DECIDE_OVERDUE)

    def visible(self) -> QuerySet[Proposal]:
        """Returns the proposals that the person made, answers, or decides when late."""
        if not isinstance(self.user, User):
            return Proposal.objects.none()
        found = Q(by=self.actor)
        for permission in {kind.permission for kind in KINDS.values()}:
            found |= Q(permission=permission.value, teams__overlap=list(self.teams(permission)))
        if self.decides_overdue:
            found |= Q(tenant=self.user.tenant_id)
        return Proposal.objects.filter(found, tenant=self.user.tenant_id)


def visible(user: Person) -> QuerySet[Proposal]:
    """Returns the proposals that the person made, answers, or decides when late."""
    return _Reader(user).visible()


def titles(user: Person, ids: Iterable[str]) -> dict[str, str]:
    """Returns the titles of those of these proposals that the person sees, by id."""
    found = _Reader(user).visible().filter(pk__in=ids).values_list("pk", "kind")
    return {str(pk): KINDS[kind].title for pk, kind in found}


def proposals(user: Person) -> list[ProposalLine]:
    """Returns the proposals that the person made, answers, or decides when late: those that wait for them first."""
    reader = _Reader(user)
    lines = _lines(reader, reader.visible().order_by("-at")[:MOST])
    return sorted(lines, key=lambda line: (not line.waits, line.state not in OPEN))


def waiting_count(user: Person) -> int:
    """Returns how many proposals wait for an answer by this person. One query where the organization has none open."""
    going = Proposal.objects.filter(state__in=OPEN)
    if not isinstance(user, User) or not going.filter(tenant=user.tenant_id).exists():
        return 0
    reader = _Reader(user)
    rows = list(going & reader.visible())
    answers = _answers_to(rows)
    return sum(_rights(reader, row, answers[row.pk]).waits for row in rows)


def proposal(user: Person, pk: UUID) -> ProposalLine:
    """Returns one of them. Raises UnknownProposal."""
    return line_of(user, proposal_of(user, pk))


def line_of(user: Person, row: Proposal) -> ProposalLine:
    """Returns a proposal as the person may see it, with its data subject's sessions and its change of a profile."""
    reader = _Reader(user)
    (line,) = _lines(reader, [row])
    assert isinstance(user, User)  # others see no proposal
    return _with_profile(user, row, msgspec.structs.replace(line, sessions=_sessions(reader, row)))


def _with_profile(user: User, row: Proposal, line: ProposalLine) -> ProposalLine:
    """Returns the line with what the proposal changes of a profile. Reading it is an entry of the access log."""
    change = KINDS[row.kind].profile_change(user, row)
    if change is None:
        return line
    return msgspec.structs.replace(line, changes=(*line.changes, change.description), customer=change.customer)


def _sessions(reader: _Reader, row: Proposal) -> tuple[UUID, ...]:
    if not KINDS[row.kind].of_subject:
        return ()
    own = reader.teams(Permission(row.permission)) & set(row.teams)
    found = reach.sessions_of(row.kid).filter(team__in=own).order_by("opened_at")
    return tuple(found.values_list("pk", flat=True)[:MOST])


class _Rights(NamedTuple):
    """What a person may do with a proposal: `own` are the teams for which they answer, `seen` those whose answers they
    read.
    """

    own: frozenset[UUID]
    seen: frozenset[UUID]
    outstanding: frozenset[UUID]
    may_answer: bool
    may_decide_overdue: bool

    @property
    def waits(self) -> bool:
        """Whether it waits for this person."""
        return self.may_decide_overdue or (self.may_answer and bool(self.own & self.outstanding))


def _rights(reader: _Reader, row: Proposal, answers: Sequence[ProposalAnswer]) -> _Rights:
    """`answers`: those to the proposal, oldest first."""
    own = reader.teams(Permission(row.permission)) & set(row.teams)
    late = getattr(reader.user, "tenant_id", None) == row.tenant_id and reader.decides_overdue
    going = row.state in OPEN
    outstanding = standing(row.teams, [Answer(each.team_id, each.agrees) for each in answers]).outstanding
    return _Rights(
        own,
        seen=frozenset(row.teams) if late else own,
        outstanding=outstanding,
        may_answer=going and bool(own) and _may_agree(reader.actor, row),
        may_decide_overdue=going and late and reader.actor != row.by and bool(overdue_teams(row, outstanding)),
    )


def _may_agree(actor: str, row: Proposal) -> bool:
    return actor not in KINDS[row.kind].excluded(row) and not (row.second_person and actor == row.by)


def _answers_to(rows: Iterable[Proposal]) -> dict[UUID, list[ProposalAnswer]]:
    """Returns the answers to each of these proposals, oldest first. One query."""
    found: dict[UUID, list[ProposalAnswer]] = {row.pk: [] for row in rows}
    for each in ProposalAnswer.objects.filter(proposal__in=found).order_by("at", "pk"):
        found[each.proposal_id].append(each)
    return found


def _lines(reader: _Reader, rows: Iterable[Proposal]) -> list[ProposalLine]:
    """Returns these proposals as the reader may see them."""
    rows = list(rows)
    answers = _answers_to(rows)
    teams = Team.objects.filter(pk__in={team for row in rows for team in row.teams}).order_by("name")
    names = dict(teams.values_list("pk", "name"))
    return [_line(reader, row, answers[row.pk], names) for row in rows]


def _line(reader: _Reader, row: Proposal, answers: Sequence[ProposalAnswer], names: Mapping[UUID, str]) -> ProposalLine:
    rights = _rights(reader, row, answers)
    seen = {team: name for team, name in names.items() if team in rights.seen}
    return ProposalLine(
        row.pk,
        row.kind,
        KINDS[row.kind].title,
        row.state,
        workflow.reason_of(row.kid, bytes(row.reason)),
        row.by,
        row.at,
        row.answer_by,
        row.due_at,
        row.ended_at,
        row.ended_by,
        row.ended_why,
        row.second_person,
        tuple(KINDS[row.kind].changes(row, seen)),
        None,
        UUID(row.details["request"]) if rights.own and KINDS[row.kind].is_erasure else None,
        (),
        tuple(_answers(row, answers, seen)),
        len(rights.outstanding - rights.seen),
        may_answer=rights.may_answer,
        may_decide_overdue=rights.may_decide_overdue,
        may_withdraw=row.state in OPEN and reader.actor == row.by,
        waits=rights.waits,
    )


def _answers(row: Proposal, answers: Sequence[ProposalAnswer], names: Mapping[UUID, str]) -> list[AnswerLine]:
    newest = {each.team_id: each for each in answers}
    lines = []
    for team, name in names.items():
        found = newest.get(team)
        if found is None:
            lines.append(AnswerLine(team, name, None, "", None, "", for_team=False))
            continue
        reason = workflow.reason_of(row.kid, bytes(found.reason))
        lines.append(AnswerLine(team, name, found.agrees, found.by, found.at, reason, found.for_team))
    return lines
