"""What there is to see about erasures, legal holds and retention: for pages and API alike."""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime
from typing import Annotated, TypeVar
from uuid import UUID

import msgspec

from agentstate.people.permissions import PermissionDenied, holds_any, teams_with
from agentstate.people.roles import Permission
from audit import erasure, holds, keyed, keys
from audit.erasure import BASES, State
from audit.models import ErasureRequest, LegalHold
from sessions.core import reach
from sessions.core.person import Person
from sessions.http.bodies import About, Words
from sessions.models.sessions import AgentSession
from sessions.privacy import erasure as erasing
from sessions.privacy import pruning, subject_proposals
from sessions.privacy.commands import PRIVACY, deals_with, erasure_request, retention_schedule
from sessions.privacy.stores import STORES

MOST = 500
ERASURE_BASIS = list(BASES)
ERASURE_STATE = [*(state.value for state in State), "running", "blocked"]


class Hold(msgspec.Struct, frozen=True):
    """A legal hold as it is shown. `session` is None where the whole subject is held."""

    id: UUID
    subject: UUID
    session: UUID | None
    reason: str
    until: datetime | None
    set_by: str
    set_at: datetime
    lifted_by: str
    lifted_at: datetime | None
    in_force: bool


class Erasure(msgspec.Struct, frozen=True):
    """An erasure request as it is shown. `state` is what people read: blocked and running are found out for it."""

    id: UUID
    subject: Annotated[UUID, About("id of the data subject's key")]
    state: Annotated[str, Words(ERASURE_STATE)]
    basis: Annotated[str, Words(ERASURE_BASIS)]
    reason: Annotated[str, About("empty once the subject is erased")]
    asked_by: str
    asked_at: datetime
    ruled_by: str
    ruled_at: datetime | None
    destroyed_at: datetime | None
    done_at: datetime | None
    erased: Annotated[dict[str, int], About("how much, by store")]

    @property
    def basis_words(self) -> str:
        """The legal basis in words."""
        return BASES.get(self.basis, self.basis)


Shown = TypeVar("Shown", Erasure, Hold)


class Detail(msgspec.Struct, frozen=True):
    """An erasure request with what would be erased (by store, before) or what was, its holds and its sessions."""

    erasure: Erasure
    stores: list[tuple[str, int]]  # empty without the permission in every team that serves the subject
    sessions: list[tuple[UUID, bool]]  # and whether it is the subject's own
    holds: list[Hold]
    may_approve: bool
    may_withdraw: bool
    proposal: UUID | None  # by which it waits for the other teams that serve the subject


def may_open(user: Person) -> bool:
    """Whether the pages about data subjects have anything for `user`."""
    return holds_any(user, *PRIVACY, Permission.RETENTION)


def must_open(user: Person) -> None:
    """Raises PermissionDenied."""
    if not may_open(user):
        needed = Permission.ERASE_REQUEST.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed)


def erasures(user: Person) -> list[Erasure]:
    """The erasure requests that `user` deals with: those that wait for approval first, then newest first."""
    must_open(user)
    rows = list(ErasureRequest.objects.order_by("-asked_at")[:MOST])
    closed = keys.closed(row.kid for row in rows)
    mine = [shown_to(user, line(row, closed)) for row in rows if deals_with(user, reach.of_subject(row.kid))]
    order = {"asked": 0, "blocked": 1, "running": 2}
    return sorted(mine, key=lambda each: order.get(each.state, 3))


def shown_to(user: Person, found: Shown) -> Shown:
    """Returns a line without its reason to people of other teams than its author's: it may quote their sessions."""
    author = found.asked_by if isinstance(found, Erasure) else found.set_by
    own = {team for permission in PRIVACY for team in teams_with(user, permission)}
    if author == getattr(user, "actor", "") or reach.of_actor(author) & own:
        return found
    return msgspec.structs.replace(found, reason="")


def line(row: ErasureRequest, closed: Container[UUID]) -> Erasure:
    """One request as it is shown. `closed`: the keys whose erasure has begun, its own among them if so."""
    return Erasure(
        row.pk,
        row.kid,
        _shown_state(row, closed),
        row.basis,
        erasure.reason_of(row, closed),
        row.asked_by,
        row.asked_at,
        row.ruled_by,
        row.ruled_at,
        row.destroyed_at,
        row.done_at,
        row.counts,
    )


def _shown_state(row: ErasureRequest, closed: Container[UUID]) -> str:
    if row.state != State.APPROVED:
        return str(row.state)
    if row.kid in closed or not holds.blocking(row.kid, keyed.logs_of(row.kid)):
        return "running"
    return "blocked"


def detail(user: Person, request: UUID) -> Detail:
    """One request with all that is needed to approve it. Raises UnknownErasure."""
    row = erasure_request(user, request)
    logs = keyed.logs_of(row.kid)
    blocking = holds.blocking(row.kid, logs)
    closed = keys.closed([row.kid, *(hold.kid for hold in blocking)])
    shown = shown_to(user, line(row, closed))
    waits = subject_proposals.erasure_waits(row.pk)
    before = row.destroyed_at is None and row.state in (State.ASKED, State.APPROVED)
    held = {team for permission in PRIVACY for team in teams_with(user, permission)}
    whole = reach.of_subject(row.kid) <= held
    counts = {} if not whole else erasing.preview(row.kid) if before else row.counts
    seen = teams_with(user, Permission.SEE)
    own = AgentSession.objects.filter(pk__in=logs, team__in=seen).order_by("opened_at").values_list("pk", "kid")
    actor = getattr(user, "actor", "")
    serving = reach.of_subject(row.kid)
    approving = set(teams_with(user, Permission.ERASE_APPROVE))
    may = bool(approving & serving if serving else approving)
    return Detail(
        shown,
        [(store.words, counts.get(store.name, 0)) for store in STORES] if whole else [],
        [(session, kid == row.kid) for session, kid in own],
        [shown_to(user, hold_line(hold, closed)) for hold in blocking],
        may_approve=row.state == State.ASKED and may and actor != row.asked_by and waits is None,
        may_withdraw=row.state == State.ASKED and actor == row.asked_by,
        proposal=waits.pk if waits is not None else None,
    )


def all_holds(user: Person) -> list[Hold]:
    """The holds that `user` deals with, newest first."""
    must_open(user)
    rows = list(LegalHold.objects.order_by("-set_at")[:MOST])
    closed = keys.closed(row.kid for row in rows)
    return [shown_to(user, hold_line(row, closed)) for row in rows if deals_with(user, reach.of_hold(row))]


def hold_line(row: LegalHold, closed: Container[UUID]) -> Hold:
    """One hold as it is shown. `closed`: the keys whose erasure has begun, its own among them if so."""
    return Hold(
        row.pk,
        row.kid,
        row.log,
        holds.reason_of(row, closed),
        row.until,
        row.set_by,
        row.set_at,
        row.lifted_by,
        row.lifted_at,
        holds.in_force().filter(pk=row.pk).exists(),
    )


def pruning_due(user: Person) -> list[pruning.Due]:
    """What the next run would prune, in the teams in which `user` sets retention. Raises PermissionDenied."""
    retention_schedule(user)
    teams = set(teams_with(user, Permission.RETENTION))
    tenant = getattr(user, "tenant_id", None)
    return [each for each in pruning.due(tenant) if each.team in teams] if tenant else []


def held(session: UUID) -> list[Hold]:
    """The holds on a session, or on its customer, that are in force."""
    kid = AgentSession.objects.filter(pk=session).values_list("kid", flat=True).first()
    found = holds.blocking(kid, [session]) if kid else []
    closed = keys.closed(row.kid for row in found)
    return [hold_line(row, closed) for row in found]
