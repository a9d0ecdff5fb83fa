"""Data subjects: sealing, erasure, legal holds, retention, and the report of everything held about somebody."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from agentstate.people.models import User
from audit import keys
from audit.erasure import State, UnknownErasure
from audit.holds import UnknownHold
from audit.retention import Class, Rule, Schedule
from sessions.http.answers import answer, filled
from sessions.http.bodies import arguments
from sessions.http.operations import WRITING, command, delete, get, post, put
from sessions.http.parameters import Id
from sessions.privacy import commands, queries, subject_report
from sessions.privacy import schemas as forms
from sessions.proposals import queries as proposals

ErasureId = Annotated[UUID, Id(UnknownErasure)]
OF_SUBJECT = (*WRITING, 410)  # the subject may be erased

seal_session = command(
    "seal_session",
    commands.seal,
    forms.SealSession,
    "Nothing follows in a sealed session but the record that its words were erased or pruned.",
    status=200,
    codes=OF_SUBJECT,
)


@get()
def list_erasures(user: User) -> forms.ErasureList:
    """The erasure requests of data subjects whom your teams serve."""
    return forms.ErasureList(queries.erasures(user))


@post(codes=OF_SUBJECT, shape=queries.Erasure)
def ask_erasure(user: User, request: Request, body: forms.AskErasure) -> Response:
    """Ask that a data subject be erased. Somebody else must approve it."""
    asked = commands.ask_erasure(user, **arguments(body))
    return answer(queries.line(asked, frozenset()), 201, {"Location": f"{request.path}/{asked.pk}"})


@get()
def read_erasure(user: User, erasure: ErasureId) -> forms.ErasureDetail:
    """A request, what an approval would erase, and what blocks it."""
    found = queries.detail(user, erasure)
    return filled(
        forms.ErasureDetail, found, stores=dict(found.stores), sessions=[session for session, _ in found.sessions]
    )


@post(200)
def rule_erasure(user: User, erasure: ErasureId, body: forms.RuleErasure) -> queries.Erasure:
    """Approve or refuse what somebody else asked for, or withdraw your own request."""
    ruled = commands.rule_erasure(user, erasure, State(body.state))
    return queries.line(ruled, keys.closed([ruled.kid]))


@get()
def list_holds(user: User) -> forms.HoldList:
    """The legal holds on data subjects whom your teams serve."""
    return forms.HoldList(queries.all_holds(user))


@post(codes=OF_SUBJECT)
def set_hold(user: User, body: forms.SetHold) -> queries.Hold:
    """Keep a data subject, or one session, from erasure and pruning."""
    wanted = arguments(body)
    whole = not wanted.pop("only_session", False)
    return queries.hold_line(commands.set_hold(user, **wanted, whole=whole), frozenset())


@delete()
def lift_hold(user: User, hold: Annotated[UUID, Id(UnknownHold)]) -> queries.Hold:
    """End a legal hold: what it kept back goes on."""
    lifted = commands.lift_hold(user, hold)
    return queries.hold_line(lifted, keys.closed([lifted.kid]))


@get()
def read_retention(user: User) -> forms.Retention:
    """The retention classes, and the rules by which a session of your teams belongs to one."""
    return _schedule(commands.retention_schedule(user))


@put(shape=forms.Retention, also={202: proposals.ProposalLine})
def set_retention(user: User, body: forms.Retention) -> Response:
    """Set the classes and rules of your teams anew. What shortens a term, or concerns a team in which you do not hold
    `retention`, is answered with 202 and the proposal that it became.
    """
    classes = tuple(Class(each.name, each.days) for each in body.classes)
    rules = tuple(Rule(**{name: str(value) for name, value in arguments(each).items()}) for each in body.rules)
    proposal = commands.set_retention(user, Schedule(classes, rules))
    if proposal is not None:
        return answer(proposals.line_of(user, proposal), 202)
    return answer(_schedule(commands.retention_schedule(user)))


def _schedule(schedule: Schedule) -> forms.Retention:
    classes = [forms.RetentionClass(name=each.name, days=each.days) for each in schedule.classes]
    named = [
        {name: value for name in Rule.__struct_fields__ if (value := getattr(rule, name))} for rule in schedule.rules
    ]
    return forms.Retention(classes=classes, rules=[forms.RetentionRule(**each) for each in named])


@get()
def list_pruning(user: User) -> forms.PruningList:
    """The closed sessions whose words the next daily run deletes, and those that a legal hold keeps."""
    return filled(forms.PruningList, sessions=queries.pruning_due(user))


@post(200, OF_SUBJECT)
def report_subject(user: User, body: forms.OfSubject) -> forms.SubjectReport:
    """What your teams hold about one data subject, in clear. `outstanding` says that other teams hold parts. The report
    is on record.
    """
    return filled(forms.SubjectReport, subject_report.made(user, **arguments(body)))


@post(codes=OF_SUBJECT)
def propose_report(user: User, body: forms.ProposeReport) -> proposals.ProposalLine:
    """Ask the other teams that serve a data subject for their part of your reports. The part of a team that agrees is
    in your reports for 30 days.
    """
    return proposals.line_of(user, commands.propose_report(user, **arguments(body)))
