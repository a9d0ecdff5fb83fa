"""Shapes of notifications: notices, wishes, rules, endpoints, deliveries."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.automation.alerts.schemas import ALERT_SEVERITY
from sessions.automation.notifications.commands import MOST_READ
from sessions.automation.notifications.definition import EMAIL, IN_APP
from sessions.automation.notifications.preferences import MAX_ADDRESS
from sessions.http.fields import ExactChoice, ExactFlag, ExactText, ShortList, Strict, choices
from sessions.http.values import Anything, AnyValue, ExactNumber
from sessions.models.notifications import Notice as NoticeRow
from sessions.models.notifications import NoticeDelivery as DeliveryRow

WAY = choices((IN_APP, EMAIL))
NOTICE_STATE = choices(NoticeRow.State.values)
DELIVERY_STATE = choices(DeliveryRow.State.values)
_NAME = 60
_TEAM = "slug; needed if you configure several"


class Notice(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    title = serializers.CharField(help_text="without a word of a customer")
    severity = serializers.ChoiceField(choices=ALERT_SEVERITY)
    rule = serializers.CharField()
    team = serializers.CharField()
    reference = serializers.CharField(help_text="of the session, as people say it aloud")
    session = serializers.UUIDField(allow_null=True)
    path = serializers.CharField(help_text="where the console shows what it is about")
    at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)
    silent = serializers.BooleanField(help_text="it came in quiet hours")
    count = serializers.IntegerField(help_text="of what was the same")
    more = serializers.IntegerField(help_text="others within the hour that have no line of their own")


class NoticePage(serializers.Serializer[Any]):
    notices = Notice(many=True)
    next = serializers.UUIDField(allow_null=True)


class ReadNotices(Strict):
    """These, or without them all."""

    notices = ShortList(child=serializers.UUIDField(), max_length=MOST_READ, required=False)


class NoticesRead(serializers.Serializer[Any]):
    read = serializers.IntegerField(help_text="how many were not before")


class QuietHours(Strict):
    """From `start` to `end` by the clock on the wall, over midnight if the end is earlier."""

    start = ExactText(max_length=5)
    end = ExactText(max_length=5)
    zone = ExactText(max_length=_NAME, required=False, help_text="an IANA time zone; UTC")
    days = ShortList(
        child=ExactNumber(min_value=1, max_value=7), max_length=7, required=False, help_text="on which they begin"
    )


class QuietTold(serializers.Serializer[Any]):
    start = serializers.CharField()
    end = serializers.CharField()
    zone = serializers.CharField()
    days = serializers.ListField(child=serializers.IntegerField())


class KeepNoticeWishes(Strict):
    """All of them; what is left out is off or empty."""

    email = ExactText(max_length=MAX_ADDRESS, required=False, allow_blank=True)
    off = ShortList(child=ExactChoice(choices=WAY), max_length=2, required=False)
    quiet = QuietHours(required=False, allow_null=True)
    sound = ExactFlag(required=False)
    desktop = ExactFlag(required=False)


class NoticeWishes(serializers.Serializer[Any]):
    email = serializers.CharField()
    off = serializers.ListField(child=serializers.ChoiceField(choices=WAY))
    quiet = QuietTold(allow_null=True)
    sound = serializers.BooleanField()
    desktop = serializers.BooleanField()


class KeepNoticeRule(Strict):
    """A rule to make, or to change."""

    name = ExactText(max_length=_NAME, help_text="a lower-case word with digits and hyphens")
    definition = AnyValue(help_text="of what, to whom, by which ways: docs/notifications.md")
    seen = ExactNumber(
        min_value=0, max_value=2**31 - 1, required=False, help_text="the version that you saw; 0 or none: it is new"
    )
    team = ExactText(max_length=_NAME, required=False, help_text=_TEAM)


class NoticeRule(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    team = serializers.UUIDField()
    version = serializers.IntegerField()
    on = serializers.BooleanField()
    kinds = serializers.ListField(child=serializers.CharField())
    changed_by = serializers.CharField()
    changed_at = serializers.DateTimeField()
    told = serializers.IntegerField(help_text="within a day")
    merged = serializers.IntegerField(help_text="within a day: the same as another")
    waiting = serializers.IntegerField()
    definition = Anything(help_text="of the newest version, with all defaults")


class NoticeRuleList(serializers.Serializer[Any]):
    rules = NoticeRule(many=True)


class TakeShipped(Strict):
    team = ExactText(max_length=_NAME, required=False, help_text=_TEAM)


class ShippedTaken(serializers.Serializer[Any]):
    taken = serializers.ListField(child=serializers.CharField(), help_text="names of the rules that the team lacked")


class RuleNotice(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    version = serializers.IntegerField()
    at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=NOTICE_STATE)
    why = serializers.CharField(help_text="a word: told, seen, acted, merged, condition_false, nobody, ...")
    step = serializers.IntegerField(help_text="of its steps that were taken")
    count = serializers.IntegerField(help_text="of what was the same")
    session = serializers.UUIDField(allow_null=True)
    seq = serializers.IntegerField(allow_null=True)
    next_at = serializers.DateTimeField(allow_null=True, help_text="of the next step")
    sent = serializers.IntegerField()
    failed = serializers.IntegerField()
    due = serializers.IntegerField()
    seen = serializers.IntegerField()


class RuleNoticeList(serializers.Serializer[Any]):
    notices = RuleNotice(many=True)


class KeepTeamQuiet(Strict):
    """The hours of a team, or none."""

    quiet = QuietHours(required=False, allow_null=True)
    team = ExactText(max_length=_NAME, required=False, help_text=_TEAM)


class TeamQuiet(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    quiet = QuietTold(allow_null=True)


class TeamQuietList(serializers.Serializer[Any]):
    teams = TeamQuiet(many=True)


class KeepNoticeEndpoint(Strict):
    """An endpoint to make, or to change; it is on then."""

    name = ExactText(max_length=_NAME, help_text="a lower-case word with digits and hyphens")
    url = ExactText(max_length=500)
    secret = ExactText(max_length=64, help_text="the name of the secret that it is signed with")
    seen = ExactNumber(
        min_value=0, max_value=2**31 - 1, required=False, help_text="the version that you saw; 0 or none: it is new"
    )
    team = ExactText(max_length=_NAME, required=False, help_text=_TEAM)


class NoticeEndpoint(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    team = serializers.UUIDField()
    url = serializers.CharField()
    secret = serializers.CharField(help_text="its name")
    secret_is_there = serializers.BooleanField()
    version = serializers.IntegerField()
    on = serializers.BooleanField()
    off_why = serializers.CharField(help_text="by_hand, gone, failing; empty while it is on")
    failing_since = serializers.DateTimeField(allow_null=True)
    well_at = serializers.DateTimeField(allow_null=True)
    changed_by = serializers.CharField()
    changed_at = serializers.DateTimeField()
    sent = serializers.IntegerField(help_text="within a day")
    failed = serializers.IntegerField(help_text="within a day")
    due = serializers.IntegerField()


class NoticeEndpointList(serializers.Serializer[Any]):
    endpoints = NoticeEndpoint(many=True)


class DeliveryTry(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    took = serializers.IntegerField(help_text="milliseconds")
    status = serializers.IntegerField(help_text="of HTTP; 0: there was no answer")
    why = serializers.CharField(help_text="a word; empty: it went well")
    answer = serializers.CharField(help_text="its beginning")


class NoticeDelivery(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    message = serializers.UUIDField(allow_null=True, help_text="the `webhook-id`, the same for every try")
    kind = serializers.CharField()
    title = serializers.CharField()
    state = serializers.ChoiceField(choices=DELIVERY_STATE)
    why = serializers.CharField()
    at = serializers.DateTimeField()
    due_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField()
    tries = DeliveryTry(many=True)


class NoticeDeliveryList(serializers.Serializer[Any]):
    deliveries = NoticeDelivery(many=True)


class DeliveryMade(serializers.Serializer[Any]):
    delivery = serializers.UUIDField()


class ReplayDeliveries(Strict):
    """All that failed, or since an instant."""

    since = serializers.DateTimeField(required=False, help_text="with its time zone")


class DeliveriesReplayed(serializers.Serializer[Any]):
    deliveries = serializers.IntegerField()


class Nothing(Strict):
    """An empty object."""
