"""Notifications: one's own notices and wishes; rules, endpoints and deliveries for those who configure a team."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, UnsetType

from agentstate.people.models import User
from sessions.automation.notifications import commands, queries
from sessions.automation.notifications import schemas as forms
from sessions.automation.notifications.commands import UnknownDelivery
from sessions.automation.notifications.endpoints import STORE as ENDPOINTS
from sessions.automation.notifications.endpoints import NoSuchEndpoint
from sessions.automation.notifications.preferences import Wishes
from sessions.automation.notifications.repository import STORE, UnknownRule
from sessions.automation.rules import commands as rules
from sessions.automation.triggers.schemas import SwitchTrigger
from sessions.core.session_lines import PAGE
from sessions.http.answers import filled, following
from sessions.http.bodies import arguments
from sessions.http.operations import get, post, put
from sessions.http.parameters import After, Flag, Id, Limit

RuleId = Annotated[UUID, Id(UnknownRule)]
EndpointId = Annotated[UUID, Id(NoSuchEndpoint)]


@get()
def list_notices(
    user: User,
    *,
    unread: Annotated[bool, Flag("only those that you have not read")] = False,
    after: After = None,
    limit: Limit = PAGE,
) -> forms.NoticePage:
    """Your own notices, newest first."""
    lines = queries.notices(user, only_unread=unread, after=after, limit=limit)
    return filled(forms.NoticePage, notices=lines, next=following(lines, limit))


@post(200)
def read_notices(user: User, body: forms.ReadNotices) -> forms.NoticesRead:
    """Mark these of your own notices as read, or without a list all."""
    chosen = None if body.notices is UNSET else body.notices
    return forms.NoticesRead(commands.mark_read(commands.known(user), chosen))


@get()
def read_notice_wishes(user: User) -> Wishes:
    """How notices reach one, and when."""
    return queries.wishes_of(user)


@put()
def keep_notice_wishes(user: User, body: forms.KeepNoticeWishes) -> Wishes:
    """Set all of them. What a rule marks as required reaches you whatever you switch off."""
    wanted = {"email": "", "off": [], **arguments(body)}
    wanted.pop("quiet", None)
    return commands.keep_wishes(user, **wanted, quiet_hours=_hours(body.quiet))


def _hours(quiet: forms.QuietHours | UnsetType | None) -> dict[str, Any] | None:
    return arguments(quiet) if isinstance(quiet, forms.QuietHours) else None


@get()
def list_notice_rules(user: User) -> forms.NoticeRuleList:
    """The rules of the teams that you configure."""
    return forms.NoticeRuleList(queries.rules(user))


@post()
def keep_notice_rule(user: User, body: forms.KeepNoticeRule) -> queries.RuleLine:
    """Make a rule, or with `seen` the next version of one. It needs `configure`."""
    return queries.rule(user, rules.keep(STORE, user, **arguments(body)).pk)


@post(200)
def take_shipped_notice_rules(user: User, body: forms.TakeShipped) -> forms.ShippedTaken:
    """Give the team those that it lacks. It needs `configure`."""
    return forms.ShippedTaken(commands.take_shipped(user, **arguments(body)))


@get()
def read_notice_rule(user: User, rule: RuleId) -> queries.RuleLine:
    """One rule."""
    return queries.rule(user, rule)


@post(200)
def switch_notice_rule(user: User, rule: RuleId, body: SwitchTrigger) -> queries.RuleLine:
    """On or off. What happens while it is off is none of its business afterwards."""
    return queries.rule(user, rules.switch(STORE, user, rule, body.on).pk)


@get()
def list_rule_notices(user: User, rule: RuleId) -> forms.RuleNoticeList:
    """The newest things that a rule heard, what became of each, and how many it reached."""
    return forms.RuleNoticeList(queries.history(user, rule))


@get()
def list_team_quiet(user: User) -> forms.TeamQuietList:
    """The quiet hours of teams."""
    return forms.TeamQuietList(queries.quiet_of_teams(user))


@put()
def keep_team_quiet(user: User, body: forms.KeepTeamQuiet) -> forms.TeamQuietList:
    """Set the quiet hours of a team, or none. It needs `configure`."""
    wanted = arguments(body)
    wanted.pop("quiet", None)
    commands.keep_team_quiet(user, _hours(body.quiet), **wanted)
    return forms.TeamQuietList(queries.quiet_of_teams(user))


@get()
def list_notice_endpoints(user: User) -> forms.NoticeEndpointList:
    """Where the webhooks of the teams go that you configure."""
    return forms.NoticeEndpointList(queries.endpoints(user))


@post()
def keep_notice_endpoint(user: User, body: forms.KeepNoticeEndpoint) -> queries.EndpointLine:
    """Make an endpoint, or with `seen` change one; it is on then. It needs `configure`."""
    wanted = arguments(body)
    where = {name: wanted.pop(name) for name in ("url", "secret")}
    return queries.endpoint(user, rules.keep(ENDPOINTS, user, definition=where, **wanted).pk)


@get()
def read_notice_endpoint(user: User, endpoint: EndpointId) -> queries.EndpointLine:
    """One endpoint."""
    return queries.endpoint(user, endpoint)


@post(200)
def switch_notice_endpoint(user: User, endpoint: EndpointId, body: SwitchTrigger) -> queries.EndpointLine:
    """Switch an endpoint."""
    return queries.endpoint(user, rules.switch(ENDPOINTS, user, endpoint, body.on).pk)


@post(202)
def test_notice_endpoint(user: User, endpoint: EndpointId, body: forms.Nothing) -> forms.DeliveryMade:
    """A message that says nothing but that it is a test; also while the endpoint is off."""
    return forms.DeliveryMade(commands.test_endpoint(user, endpoint).pk)


@get()
def list_notice_deliveries(user: User, endpoint: EndpointId) -> forms.NoticeDeliveryList:
    """The newest deliveries, each with its tries."""
    return forms.NoticeDeliveryList(queries.deliveries(user, endpoint))


@post(202)
def replay_notice_endpoint(user: User, endpoint: EndpointId, body: forms.ReplayDeliveries) -> forms.DeliveriesReplayed:
    """All that failed, or what did since an instant; each as the same message."""
    since = None if body.since is UNSET else body.since
    return forms.DeliveriesReplayed(commands.send_failed_again(user, endpoint, since))


@post(202)
def replay_notice_delivery(
    user: User, delivery: Annotated[UUID, Id(UnknownDelivery)], body: forms.Nothing
) -> forms.DeliveryMade:
    """Whatever became of it; as the same message, under the same `webhook-id`."""
    return forms.DeliveryMade(commands.send_again(user, delivery).pk)
