"""What auditors read: who read what, staff's log, samples, downtimes; and the grants that let them in."""

from __future__ import annotations

from datetime import date
from typing import Annotated
from uuid import UUID

from agentstate.clock import now
from agentstate.errors import Invalid
from agentstate.people import grants, reasons
from agentstate.people.models import AccessGrant, Team, User
from sessions.auditing import queries
from sessions.auditing import schemas as forms
from sessions.core.session_lines import PAGE
from sessions.http.answers import filled, following
from sessions.http.bodies import arguments
from sessions.http.operations import READING, delete, get, post
from sessions.http.parameters import LAST, MOST, Day, Id, Limit, OneOf, Text, Whole

Before = Annotated[int | None, Whole(0, LAST, "`next`")]
OnDay = Annotated[date | None, Day("UTC")]


@get()
def list_access_entries(
    user: User,
    *,
    reader: Annotated[str, Text("`user:<id>`")] = "",
    session: Annotated[UUID | None, Id()] = None,
    day: OnDay = None,
    kind: Annotated[str, OneOf(queries.ACCESS_KIND)] = "",
    by: Annotated[str, OneOf(queries.READERS, "a kind of readers")] = "",
    after: Annotated[str, Text("`next` of the page before")] = "",
    limit: Limit = PAGE,
) -> forms.AccessPage:
    """Entries of access logs about the sessions that you audit, newest first."""
    lines = queries.reads(user, reader=reader, session=session, day=day, kind=kind, by=by, after=after, limit=limit)
    return forms.AccessPage(lines, following(lines, limit, "cursor"))


@get()
def list_staff_entries(user: User, *, day: OnDay = None, before: Before = None, limit: Limit = PAGE) -> forms.StaffPage:
    """The staff log of a day (UTC; without one, today), newest first."""
    lines = queries.staff_entries(user, day or now().date(), before=before, limit=limit)
    return forms.StaffPage(lines, following(lines, limit, "seq"))


@get()
def draw_sample(
    user: User,
    *,
    seed: Annotated[str, Text(required=True)] = "",
    n: Annotated[int, Whole(1, queries.MOST_SAMPLED)] = 20,
    session: Annotated[UUID | None, Id(about="only this one")] = None,
) -> forms.DrawnSample:
    """Random entries of the sessions that you audit and read, out of the sizes under the newest signed head. The same
    seed over the same sizes draws the same entries; how, is in docs/audit-log.md.
    """
    found = queries.sample(user, seed=seed, wanted=n, sessions=(session,) if session else ())
    return filled(forms.DrawnSample, found, population=[forms.SampledLog(*each) for each in found.population])


@get()
def list_downtimes(user: User, *, before: Before = None, limit: Limit = PAGE) -> forms.DowntimePage:
    """When sequencer or signer did not run, newest first."""
    lines = queries.gaps(user, before=before, limit=limit)
    return forms.DowntimePage(lines, following(lines, limit, "index"))


@get()
def list_grants(user: User) -> forms.GrantList:
    """Your own grants, and those of the teams that you configure or audit, newest first; 500 at most."""
    return forms.GrantList([_grant(each) for each in reasons.with_keys(grants.given(user)[:MOST])])


@post()
def give_grant(user: User, body: forms.GiveGrant) -> forms.Grant:
    """Let somebody with the role auditor look at a team's sessions for a time. It ends by itself."""
    wanted = arguments(body)
    auditor = User.objects.filter(pk=wanted.pop("user")).first()
    team = Team.objects.filter(pk=wanted.pop("team")).first()
    if auditor is None or team is None:
        raise Invalid("there is no such person or team", field="user" if auditor is None else "team")
    return _grant(grants.give(auditor, team, by=user, **wanted))


@delete(codes=READING)
def revoke_grant(user: User, grant: Annotated[UUID, Id(grants.UnknownGrant)]) -> forms.Grant:
    """Take a grant back: it opens nothing from now on, and the auditor's live pages end."""
    return _grant(grants.revoke(grant, user))


def _grant(grant: AccessGrant) -> forms.Grant:
    return filled(forms.Grant, grant, user=grant.user_id, team=grant.team_id)
