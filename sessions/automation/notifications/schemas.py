"""Shapes of notifications: notices, wishes, rules, endpoints, deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.alerts import SEVERITIES
from sessions.automation.notifications import preferences, queries, quiet_hours
from sessions.automation.notifications.commands import MOST_READ
from sessions.automation.notifications.definition import EMAIL, IN_APP
from sessions.automation.notifications.preferences import MAX_ADDRESS
from sessions.http.bodies import About, Body, Chars, Instant, Items, Range, Words
from sessions.http.openapi import published

WAY = (IN_APP, EMAIL)
_NAME = 60
_TEAM = "slug; needed if you configure several"


class Notice(Struct, frozen=True):
    id: UUID
    kind: str
    title: Annotated[str, About("without a word of a customer")]
    severity: Annotated[str, Words(SEVERITIES)]
    rule: str
    team: str
    reference: Annotated[str, About("of the session, as people say it aloud")]
    session: UUID | None
    path: Annotated[str, About("where the console shows what it is about")]
    at: datetime
    read_at: datetime | None
    silent: Annotated[bool, About("it came in quiet hours")]
    count: Annotated[int, About("of what was the same")]
    more: Annotated[int, About("others within the hour that have no line of their own")]


class NoticePage(Struct, frozen=True):
    notices: Sequence[Notice]
    next: UUID | None


class ReadNotices(Body, kw_only=True):
    """These, or without them all."""

    notices: Annotated[list[UUID], Items(MOST_READ)] | UnsetType = UNSET


class NoticesRead(Struct, frozen=True):
    read: Annotated[int, About("how many were not before")]


class QuietHours(Body, kw_only=True):
    """From `start` to `end` by the clock on the wall, over midnight if the end is earlier."""

    start: Annotated[str, Chars(5)]
    end: Annotated[str, Chars(5)]
    zone: Annotated[str, Chars(_NAME, "an IANA time zone; UTC")] | UnsetType = UNSET
    days: Annotated[list[Annotated[int, Range(1, 7)]], Items(7, "on which they begin")] | UnsetType = UNSET


class KeepNoticeWishes(Body, kw_only=True):
    """All of them; what is left out is off or empty."""

    email: Annotated[str, Chars(MAX_ADDRESS, blank=True)] | UnsetType = UNSET
    off: Annotated[list[Annotated[str, Words(WAY)]], Items(2)] | UnsetType = UNSET
    quiet: QuietHours | UnsetType | None = UNSET
    sound: bool | UnsetType = UNSET
    desktop: bool | UnsetType = UNSET


class KeepNoticeRule(Body, kw_only=True):
    """A rule to make, or to change."""

    name: Annotated[str, Chars(_NAME, "a lower-case word with digits and hyphens")]
    definition: Annotated[Any, About("of what, to whom, by which ways: docs/notifications.md")]
    seen: Annotated[int, Range(0, 2**31 - 1, "the version that you saw; 0 or none: it is new")] | UnsetType = UNSET
    team: Annotated[str, Chars(_NAME, _TEAM)] | UnsetType = UNSET


class NoticeRuleList(Struct, frozen=True):
    rules: Sequence[queries.RuleLine]


class TakeShipped(Body, kw_only=True):
    team: Annotated[str, Chars(_NAME, _TEAM)] | UnsetType = UNSET


class ShippedTaken(Struct, frozen=True):
    taken: Annotated[Sequence[str], About("names of the rules that the team lacked")]


class RuleNoticeList(Struct, frozen=True):
    notices: Sequence[queries.HistoryLine]


class KeepTeamQuiet(Body, kw_only=True):
    """The hours of a team, or none."""

    quiet: QuietHours | UnsetType | None = UNSET
    team: Annotated[str, Chars(_NAME, _TEAM)] | UnsetType = UNSET


class TeamQuietList(Struct, frozen=True):
    teams: Sequence[queries.TeamQuietLine]


class KeepNoticeEndpoint(Body, kw_only=True):
    """An endpoint to make, or to change; it is on then."""

    name: Annotated[str, Chars(_NAME, "a lower-case word with digits and hyphens")]
    url: Annotated[str, Chars(500)]
    secret: Annotated[str, Chars(64, "the name of the secret that it is signed with")]
    seen: Annotated[int, Range(0, 2**31 - 1, "the version that you saw; 0 or none: it is new")] | UnsetType = UNSET
    team: Annotated[str, Chars(_NAME, _TEAM)] | UnsetType = UNSET


class NoticeEndpointList(Struct, frozen=True):
    endpoints: Sequence[queries.EndpointLine]


class NoticeDeliveryList(Struct, frozen=True):
    deliveries: Sequence[queries.DeliveryLine]


class DeliveryMade(Struct, frozen=True):
    delivery: UUID


class ReplayDeliveries(Body, kw_only=True):
    """All that failed, or since an instant."""

    since: Annotated[datetime, Instant("with its time zone")] | UnsetType = UNSET


class DeliveriesReplayed(Struct, frozen=True):
    deliveries: int


class Nothing(Body):
    """An empty object."""


published(
    QuietTold=quiet_hours.Quiet,
    NoticeWishes=preferences.Wishes,
    NoticeRule=queries.RuleLine,
    RuleNotice=queries.HistoryLine,
    TeamQuiet=queries.TeamQuietLine,
    NoticeEndpoint=queries.EndpointLine,
    DeliveryTry=queries.AttemptLine,
    NoticeDelivery=queries.DeliveryLine,
)
