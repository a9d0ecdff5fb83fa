"""Alerts as lists show them. No line holds a word of a conversation, so reading them is no entry of the access log.

`mine` is what the badge counts, what the page opens with, and what the API gives with `mine=true`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from django.db.models import Exists, IntegerField, OuterRef, Q, QuerySet
from django.db.models.expressions import Case, Value, When

from agentstate.engine.alerts import SEVERITIES
from agentstate.engine.decide.alerts import UnknownAlert
from agentstate.engine.state.participants import QUEUE
from agentstate.people.models import Membership, Team
from agentstate.people.permissions import names_in, teams_with
from agentstate.people.roles import Permission, roles_with
from sessions.core.paging import behind
from sessions.core.session_lines import PAGE, Person
from sessions.http.answers import PageOnly
from sessions.http.bodies import About, Words
from sessions.models.alerts import Alert
from sessions.models.sessions import AgentSession
from sessions.proposals import workflow

OWNER = "owner"

ALERT_STATE = list(Alert.Standing.values)
ALERT_SEVERITY = list(SEVERITIES)


class AlertLine(msgspec.Struct, frozen=True):
    """One alert. `customer` is the id of the data subject's key, for those who may read the session."""

    id: UUID
    team: UUID
    team_name: PageOnly[str]
    session: Annotated[UUID | None, About("none: it is about the team itself")]
    agent: Annotated[str, About("of the session")]
    customer: Annotated[UUID | None, About("for those who may read the session")]
    rule: Annotated[str, About("id of the rule; empty: one of the house's own")]
    name: Annotated[str, About("of the rule")]
    version: int
    severity: Annotated[str, Words(ALERT_SEVERITY)]
    why: Annotated[str, About("one word")]
    about: Annotated[str, About("a request's or call's id, a tool, a key; empty: the session as a whole")]
    seq: Annotated[int, About("the entry that made it hit; -1: time alone did")]
    state: Annotated[str, Words(ALERT_STATE)]
    to: Annotated[list[str], About("owner, role:..., team:..., user:...")]
    held_by: Annotated[str, About("who has it, by actor")]
    raised_at: datetime
    escalates_at: Annotated[datetime | None, About("unless somebody acknowledges it before")]
    acknowledged_at: datetime | None
    closed_at: datetime | None
    closed_by: str
    cause: Annotated[str, About("what has ended it, in a word; `person`: somebody said why")]
    hits: Annotated[int, About("how often it was found while it was open")]
    step: Annotated[int, About("of its chain that it has come to")]
    may_act: Annotated[bool, About("whether you may acknowledge and close it")]

    @property
    def reference(self) -> str:
        """The short form of its session's id; empty for one about no session."""
        return self.session.hex[-6:].upper() if self.session else ""


_HEAVY = Case(
    *(When(severity=name, then=Value(weight)) for weight, name in enumerate(SEVERITIES)),
    default=Value(0),
    output_field=IntegerField(),
)


def visible_alerts(user: Person) -> QuerySet[Alert]:
    """Returns the alerts of the teams that `user` sees, and those of proposals that they may decide for late teams."""
    return Alert.objects.filter(Q(team__in=teams_with(user, Permission.SEE)) | _of_late_teams(user))


def _of_late_teams(user: Person) -> Q:
    roles = roles_with(Permission.DECIDE_OVERDUE)
    deciding = Membership.objects.filter(user=user.pk, user__is_active=True, role__in=roles)
    return Q(name=workflow.ALERT, tenant__in=deciding.values("team__tenant"))


def mine(user: Person) -> QuerySet[Alert]:
    """What wants this person's eye: alerts that they have, and those for them that nobody has."""
    actor = getattr(user, "actor", "")
    acting, configuring = teams_with(user, Permission.TAKE_OVER), teams_with(user, Permission.CONFIGURE)
    theirs = AgentSession.objects.filter(Q(taken_by=actor) | Q(assigned_to=actor), pk=OuterRef("session"))
    nobodys = AgentSession.objects.filter(taken_by__in=["", QUEUE], assigned_to="", pk=OuterRef("session"))
    owned = Q(Exists(theirs)) | Q(Exists(nobodys), team__in=acting)
    named = Q(to__contains=[OWNER]) & owned
    named |= _of_late_teams(user) & Q(to__overlap=[f"role:{role}" for role in roles_with(Permission.DECIDE_OVERDUE)])
    for team, names in names_in(user).items():
        named |= Q(team=team, to__overlap=sorted(names))
    able = Q(team__in=acting) | Q(team__in=configuring, session=None) | Q(name=workflow.ALERT)
    return visible_alerts(user).exclude(state="closed").filter(able).filter(Q(held_by=actor) | (Q(held_by="") & named))


def alerts(
    user: Person,
    *,
    state: str = "",
    mine_only: bool = False,
    session: UUID | None = None,
    rule: str = "",
    severity: str = "",
    team: UUID | None = None,
    after: UUID | None = None,
    limit: int = PAGE,
) -> list[AlertLine]:
    """Alerts, newest first, those behind the row `after`. Raises Invalid when there is no such row to go on from."""
    rows = mine(user) if mine_only else visible_alerts(user)
    for name, value in (("state", state), ("session", session), ("name", rule), ("severity", severity), ("team", team)):
        if value:
            rows = rows.filter(**{name: value})
    return lines(user, behind(rows, visible_alerts(user), after, ("-raised_at", "-pk"))[:limit])


def standing(user: Person, *, mine_only: bool, limit: int = PAGE) -> list[AlertLine]:
    """What is not closed: the heaviest first, of these the oldest."""
    rows = mine(user) if mine_only else visible_alerts(user).exclude(state="closed")
    return lines(user, rows.order_by(_HEAVY.desc(), "raised_at", "pk")[:limit])


def alert(user: Person, pk: UUID) -> AlertLine:
    """One of them. Raises UnknownAlert."""
    found = lines(user, visible_alerts(user).filter(pk=pk))
    if not found:
        raise UnknownAlert()
    return found[0]


def lines(user: Person, rows: QuerySet[Alert]) -> list[AlertLine]:
    """These rows as lines."""
    found = list(rows)
    teams = dict(Team.objects.filter(pk__in={row.team_id for row in found}).values_list("pk", "name"))
    about = AgentSession.objects.filter(pk__in={row.session for row in found if row.session})
    sessions = {pk: (agent, kid) for pk, agent, kid in about.values_list("pk", "agent", "kid")}
    reading, acting = set(teams_with(user, Permission.READ)), set(teams_with(user, Permission.TAKE_OVER))
    setting_up = set(teams_with(user, Permission.CONFIGURE))
    return [_line(row, teams, sessions, reading, acting, setting_up) for row in found]


def _line(
    row: Alert,
    teams: dict[UUID, str],
    sessions: dict[UUID, tuple[str, UUID]],
    reading: set[UUID],
    acting: set[UUID],
    setting_up: set[UUID],
) -> AlertLine:
    agent, kid = sessions.get(row.session, ("", None)) if row.session else ("", None)
    own = {name: getattr(row, name) for name in AlertLine.__struct_fields__ if hasattr(row, name) and name != "team"}
    return AlertLine(
        **own,
        team=row.team_id,
        team_name=teams[row.team_id],
        agent=agent,
        customer=kid if row.team_id in reading else None,
        may_act=row.state != "closed"
        and row.name != workflow.ALERT
        and (row.team_id in acting or (row.session is None and row.team_id in setting_up)),
    )
