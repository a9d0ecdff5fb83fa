"""Approval requests: the queue, and everything that the page of one shows.

`decidable` is what waits for a person; the badge, the list and the API are all this query.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, get_args
from uuid import UUID

import msgspec
from django.db.models import BooleanField, Case, Q, QuerySet, Value, When
from django.db.models.functions import Now

from agentstate.engine.decide import UnknownRequest
from agentstate.engine.lifecycle import RequestStatus
from agentstate.engine.policy import Terms
from agentstate.engine.state.session import Execution, Request, SessionState
from agentstate.people.permissions import teams_with
from agentstate.people.roles import Permission
from audit import keys, ledger
from sessions.approvals.customer_turns import customer_turns, differences_of
from sessions.approvals.differences import as_data, withheld
from sessions.core import access, projections, recorded, states
from sessions.core.access import Seen
from sessions.core.account_numbers import shortened, shortened_in
from sessions.core.entitled import Entitled
from sessions.core.paging import behind
from sessions.core.session_lines import ERASED_NAME, PAGE, Person
from sessions.descriptions import approvals as descriptions_approvals
from sessions.http.answers import PageOnly
from sessions.http.bodies import About, Words
from sessions.models.sessions import ApprovalRequest

REQUEST_STATE = [each.value for each in RequestStatus]
EXECUTION = list(get_args(Execution))


class RequestLine(msgspec.Struct, frozen=True):
    """One request as the queue and the API show it."""

    id: UUID
    session: UUID
    team: PageOnly[UUID]
    state: Annotated[str, Words(REQUEST_STATE)]
    tier: Annotated[int, About("risk tier, 0 to 3, as policy computed it")]
    quorum: Annotated[int, About("people who must approve")]
    approvals: Annotated[int, About("people who have approved")]
    tool: str
    rule: Annotated[str, About("the rule that asks for a person")]
    policy: str
    asked_seq: PageOnly[int]  # the entry that asked
    asked_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    decided_by: Annotated[str, About("user:<id>, or empty")]
    execution: Annotated[
        str,
        Words(
            EXECUTION,
            ("what came of the call once it was approved: `withdrawn` and `refused` are approved and not done"),
        ),
    ]
    may_decide: Annotated[bool, About("whether you may decide it now")]
    may_object: PageOnly[bool]  # while it is held
    may_withdraw: PageOnly[bool]  # while it is approved and has not begun
    name: PageOnly[str] = ""
    preview: Annotated[str, About("what would happen, in plain words")] = ""
    arguments: Annotated[dict[str, Any], About("of the call, as they would run")] = {}
    why: str = ""
    reason: str = ""
    claimed_by: Annotated[str, About("user:<id> of who is on it, or empty")] = ""
    claimed_until: Annotated[datetime | None, About("when that ends unless it is kept")] = None
    held_until: Annotated[datetime | None, About("it is done then by itself unless somebody rejects or undoes it")] = (
        None
    )
    escalates_at: Annotated[datetime | None, About("it goes to the next of its chain then")] = None
    reviewers: Annotated[
        list[list[str]],
        About("one of each group must decide: role:..., team:..., user:...; none: whoever has the permission"),
    ] = []
    terms: Annotated[Terms, About("what is asked of those who decide")] = Terms()
    assigned_to: Annotated[str, About("who is to see to it: user:<id>, team:<slug>, or empty")] = ""
    may_reject: Annotated[bool, About("while you may not approve it: whether you may reject it")] = False
    why_not: Annotated[str, About("while it waits and you may not decide it: why not, in a sentence")] = ""
    who_may: Annotated[list[str], About("while it waits for others: by name, who may decide it")] = []
    because: Annotated[str, About("why the request ended without a decision, or why what was approved is not done")] = (
        ""
    )
    digest: Annotated[str, About("of all that the request shows now: what a decision names as `seen`")] = ""
    proposed_by: Annotated[list[str], About("who proposed the call or an argument: user:<id>, or agent:<name>")] = []
    left_out: PageOnly[dict[str, str]] = {}  # the actors who may not approve it, each with what they did
    approvers_missing: Annotated[
        int, About("people too few could approve it when it was made: above 0 the team's deputies may approve it too")
    ] = 0
    too_few: Annotated[
        str,
        About(
            "the same as a sentence, while it waits with the deputies for whom it is; empty: enough "
            "people could approve it"
        ),
    ] = ""
    may_name_deputy: PageOnly[bool] = False  # it lacks a deputy, and this person may name one


def visible_requests(user: Person) -> QuerySet[ApprovalRequest]:
    """The requests of the sessions that `user` may read."""
    return ApprovalRequest.objects.filter(access.within(user, Permission.READ, "session__")).select_related("session")


def waiting(rows: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
    """Those of `rows` that wait for a decision now: not held, and in time by the database's clock."""
    return rows.filter(state="pending", held_until=None, expires_at__gt=Now())


def decidable(user: Person) -> QuerySet[ApprovalRequest]:
    """The requests that this person may decide now: the badge, the list and the API are all this query."""
    return waiting(_open_to(user)).order_by("-tier", "expires_at")


def _open_to(user: Person) -> QuerySet[ApprovalRequest]:
    """The pending requests that are for this person, held ones included."""
    return visible_requests(user).filter(Entitled(user).theirs())


def next_decidable(user: Person, but: UUID) -> UUID | None:
    """Returns the id of the most urgent request, other than `but`, that this person may decide now; None: no other.
    Who may decide a request may read it, so that is not asked again.
    """
    rows = waiting(ApprovalRequest.objects.filter(Entitled(user).theirs())).exclude(pk=but)
    return rows.order_by("-tier", "expires_at", "pk").values_list("pk", flat=True).first()


def requests(
    user: Person, *, state: str = "pending", mine: bool = False, after: UUID | None = None, limit: int = PAGE
) -> list[RequestLine]:
    """Requests in one state ("" for all), those behind the row `after`: the open ones worst first, others newest first.

    Raises Invalid when there is no such row to go on from.
    """
    visible = visible_requests(user)
    rows = decidable(user) if mine else visible
    if state:
        rows = rows.filter(state=state)
    if state == "pending":
        rows = rows.filter(Q(expires_at__gt=Now()) | Q(held_until__gt=Now()))
    order = ("-tier", "expires_at", "pk") if mine or state == "pending" else ("-asked_at", "-pk")
    found = behind(rows, visible, after, order)[:limit]
    return _request_lines(user, found, "requests", state=state, after=str(after or ""))


def decided(user: Person, limit: int = PAGE) -> list[RequestLine]:
    """Requests that have ended in any way but expiry, newest first."""
    rows = visible_requests(user).exclude(state__in=["pending", "expired"])
    return _request_lines(user, rows.order_by("-ended_at")[:limit], "requests", state="decided")


def as_listed(lines: list[RequestLine]) -> list[RequestLine]:
    """The lines as a list shows them: account numbers by their last digits. The request itself has them whole."""
    return [
        msgspec.structs.replace(
            line,
            preview=shortened(line.preview),
            arguments=shortened_in(line.arguments),
            why=shortened(line.why),
            reason=shortened(line.reason),
            because=shortened(line.because),
        )
        for line in lines
    ]


def request_line(user: Person, request: UUID) -> RequestLine:
    """One request. Raises UnknownRequest to those who may not read its session."""
    lines = _request_lines(user, visible_requests(user).filter(pk=request), "request", request=str(request))
    if not lines:
        raise UnknownRequest()
    return lines[0]


def _request_lines(user: Person, rows: QuerySet[ApprovalRequest], what: str, **facts: object) -> list[RequestLine]:
    found = list(rows.annotate(claimed_now=_CLAIMED, open_now=_OPEN))
    access.note(user, what, [Seen(row.session_id, row.team_id) for row in found], **facts)
    keys.warm({row.kid or row.session.kid for row in found})
    waiting, entitled = {row.pk for row in found if row.open_now}, Entitled(user)
    open_ones = ApprovalRequest.objects.filter(entitled.theirs(), pk__in=waiting)  # visible: they were just read
    mine = set(open_ones.values_list("pk", flat=True)) if waiting else set()
    deciding = set(teams_with(user, Permission.DECIDE))
    lines = [_request_line(row, row.pk in mine, row.team_id in deciding) for row in found]
    return [
        _while_it_waits(line, row, entitled, row.pk in mine) if row.pk in waiting else line
        for line, row in zip(lines, found, strict=True)
    ]


def _while_it_waits(line: RequestLine, row: ApprovalRequest, entitled: Entitled, is_theirs: bool) -> RequestLine:
    if not is_theirs:
        line = _for_others(line, row, entitled)
    return _with_deputies(line, row, entitled) if line.too_few else line


def _with_deputies(line: RequestLine, row: ApprovalRequest, entitled: Entitled) -> RequestLine:
    """The line of a request that waits and that too few people could approve, with the deputies for whom it is."""
    names = entitled.deputies(row, line.left_out)
    return msgspec.structs.replace(
        line,
        too_few=f"{line.too_few} {descriptions_approvals.sent_to_deputies(names)}",
        may_name_deputy=not names and entitled.may_name_deputies(row),
    )


def _for_others(line: RequestLine, row: ApprovalRequest, entitled: Entitled) -> RequestLine:
    """The line of a request that waits for others, with why, and for whom."""
    may_reject = entitled.may_reject(row) and row.held_until is None
    return msgspec.structs.replace(
        line, may_reject=may_reject, why_not=entitled.why_not(row, line.left_out), who_may=entitled.who_may(row)
    )


_IN_TIME = Q(expires_at__gt=Now()) | Q(held_until__gt=Now())
_OPEN = Case(When(_IN_TIME, state="pending", then=Value(True)), default=Value(False), output_field=BooleanField())
_CLAIMED = Case(When(claimed_until__gt=Now(), then=Value(True)), default=Value(False), output_field=BooleanField())


def _request_line(row: Any, may_decide: bool, may_object: bool) -> RequestLine:
    plain = RequestLine(
        id=row.pk,
        session=row.session_id,
        team=row.team_id,
        state=row.state,
        tier=row.tier,
        quorum=row.quorum,
        approvals=row.approvals,
        approvers_missing=row.approvers_missing,
        too_few=descriptions_approvals.too_few(row.quorum, row.approvers_missing),
        tool=row.tool,
        rule=row.rule,
        policy=row.policy,
        asked_seq=row.asked_seq,
        asked_at=row.asked_at,
        expires_at=row.expires_at,
        ended_at=row.ended_at,
        decided_by=row.decided_by,
        execution=row.execution,
        may_decide=may_decide,
        may_object=may_object and row.held_until is not None,
        may_withdraw=may_object and row.execution == "waiting",
        held_until=row.held_until,
        escalates_at=row.escalates_at,
        reviewers=row.reviewers,
        assigned_to=row.assigned_to,
        claimed_by=row.claimed_by if row.claimed_now else "",
        claimed_until=row.claimed_until if row.claimed_now else None,
    )
    try:
        card = projections.open_request_card(row.kid or row.session.kid, row.pk, bytes(row.card))
    except keys.Erased:
        return msgspec.structs.replace(plain, name=ERASED_NAME, may_decide=False)
    return msgspec.structs.replace(
        plain,
        name=card.name,
        preview=card.preview,
        arguments=card.arguments,
        why=card.why,
        reason=card.reason,
        terms=card.terms,
        because=card.because,
        digest=card.digest,
        proposed_by=list(card.proposed_by),
        left_out=card.left_out,
    )


def assignable(user: Person, request: UUID) -> list[tuple[str, str]]:
    """To whom this person may give a request that waits (`Entitled.assignable`); nobody where they decide nothing."""
    row = visible_requests(user).filter(pk=request, state="pending").first()
    if row is None or row.team_id not in teams_with(user, Permission.DECIDE):
        return []
    return Entitled(user).assignable(row)


def request_of(user: Person, request: UUID) -> tuple[RequestLine, Request, SessionState]:
    """A request with everything its page shows. Raises UnknownRequest."""
    line = request_line(user, request)
    state = states.load(line.session).state
    held = state.requests.get(str(request))
    return line, held if held is not None else _from_ledger(line), state


def differences_of_request(user: Person, request: UUID) -> list[dict[str, Any]]:
    """How a request differs from what the customer said, as a decision records it: while it waits without the values
    that reviewers type themselves. Raises UnknownRequest.
    """
    try:
        line, held, state = request_of(user, request)
    except keys.Erased:
        return []
    found = differences_of(held, customer_turns(line.session, state.seq))
    access.note(user, "entries", [Seen(line.session, line.team, 0, state.seq)])
    return as_data(withheld(found, held.terms.retype) if line.state == "pending" else found)


def _from_ledger(line: RequestLine) -> Request:
    """A request that the bounded state has let go of: folded again from its session's entries."""
    own = states.load(line.session).place.kid
    state = recorded.newest(line.session, own, 2**53) or SessionState()
    last = state.requests.get(str(line.id))
    for envelope, payload in ledger.open_living(ledger.read_rows(line.session, state.seq), own):
        state = states.after_entry(state, envelope, payload)
        last = state.requests.get(str(line.id), last)
    if last is None:
        raise keys.Erased(f"request {line.id}")
    return last
