"""Rows of notifications. They name sessions, requests and people, and hold no word of anybody's."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models


class NoticeRule(models.Model):
    """A rule of a team as it stands: the number of its newest version, and whether it is on."""

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=60)
    version = models.IntegerField()
    kinds = ArrayField(models.CharField(max_length=60))  # what it hears
    agent = models.CharField(max_length=60, blank=True)
    on = models.BooleanField(default=True)
    since = models.DateTimeField()  # changed or switched on then: what happened before is none of its business
    changed_by = models.CharField(max_length=60)
    changed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "name"], name="notice_rule_name")]
        indexes: ClassVar = [models.Index(fields=["team"], name="notice_rule_on", condition=models.Q(on=True))]


class NoticeRuleVersion(models.Model):
    """One version of a rule. Rows are only added."""

    pk = models.CompositePrimaryKey("rule", "version")
    rule = models.UUIDField()
    version = models.IntegerField()
    definition = models.JSONField()
    by = models.CharField(max_length=60)
    at = models.DateTimeField()


class NoticeEndpoint(models.Model):
    """Where a team's webhooks go. The secret is named, never held."""

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=60)
    url = models.CharField(max_length=500)
    secret = models.CharField(max_length=64)
    version = models.IntegerField()
    on = models.BooleanField(default=True)
    off_why = models.CharField(max_length=40, blank=True)
    failing_since = models.DateTimeField(null=True)  # of its first failure after the last that went well
    well_at = models.DateTimeField(null=True)
    changed_by = models.CharField(max_length=60)
    changed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "name"], name="notice_endpoint_name")]


class Notice(models.Model):
    """Something that happened, for one rule. `new` was not judged yet; `open` goes on to its next step at `next_at`
    unless somebody sees it or acts; `ended` says `why`. The id follows from rule and occurrence: it is taken in once.
    """

    class State(models.TextChoices):
        """Where it stands."""

        NEW = "new"
        OPEN = "open"
        ENDED = "ended"

    id = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    team = models.UUIDField()
    rule = models.UUIDField(null=True)  # null: a test of an endpoint
    version = models.IntegerField(default=0)
    kind = models.CharField(max_length=60)
    severity = models.CharField(max_length=8, blank=True)
    actor = models.CharField(max_length=60, blank=True)  # who did it: they need not be told
    about = models.UUIDField(null=True)  # the session
    about_seq = models.BigIntegerField(null=True)  # and the entry
    thing = models.CharField(max_length=10, blank=True)  # request, alert or export
    thing_id = models.UUIDField(null=True)
    key = models.CharField(max_length=64, blank=True)  # a keyed digest
    count = models.IntegerField(default=1)  # of what was the same
    state = models.CharField(max_length=6, choices=State.choices, default=State.NEW)
    why = models.CharField(max_length=40, blank=True)
    step = models.SmallIntegerField(default=0)  # the next
    at = models.DateTimeField()
    next_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    attempts = models.SmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["next_at"], name="notice_due", condition=models.Q(next_at__isnull=False)),
            models.Index(fields=["rule"], name="notice_waiting", condition=models.Q(state="new")),
            models.Index(fields=["rule", "-at"], name="notice_newest"),
            models.Index(fields=["rule", "key", "at"], name="notice_same", condition=~models.Q(key="")),
            models.Index(fields=["about"], name="notice_about", condition=models.Q(about__isnull=False)),
            models.Index(fields=["ended_at"], name="notice_old", condition=models.Q(ended_at__isnull=False)),
        ]


class NoticeDelivery(models.Model):
    """One notice to one person or endpoint by one way: due until it was sent. What has the same `bundle` waits for the
    same instant and leaves as one `message`, whose id is that of one of them and stays the same however often it is
    tried. In the app a delivery is what the person finds on their page.
    """

    class State(models.TextChoices):
        """Where it stands; passed: it was not wanted any more when its time came."""

        DUE = "due"
        SENT = "sent"
        FAILED = "failed"
        PASSED = "passed"

    id = models.UUIDField(primary_key=True)
    notice = models.UUIDField()
    team = models.UUIDField()
    way = models.CharField(max_length=8)  # in_app, email, webhook
    person = models.UUIDField(null=True)
    endpoint = models.UUIDField(null=True)
    others = ArrayField(models.CharField(max_length=70), default=list)  # the ways that are left if this one fails
    severity = models.CharField(max_length=8)
    silent = models.BooleanField(default=False)  # in quiet hours: no sound, no window
    state = models.CharField(max_length=6, choices=State.choices, default=State.DUE)
    why = models.CharField(max_length=40, blank=True)
    bundle = models.CharField(max_length=120, blank=True)
    message = models.UUIDField(null=True)
    count = models.IntegerField(default=1)  # of what is summed up in it, beyond what a person is shown in an hour
    at = models.DateTimeField()
    due_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True)
    attempts = models.SmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["due_at"], name="delivery_due", condition=models.Q(state="due")),
            models.Index(fields=["lease_until"], name="delivery_leased", condition=models.Q(lease_until__isnull=False)),
            models.Index(
                fields=["bundle"], name="delivery_bundle", condition=models.Q(state="due") & ~models.Q(bundle="")
            ),
            models.Index(fields=["message"], name="delivery_message", condition=models.Q(message__isnull=False)),
            models.Index(fields=["notice"], name="delivery_notice"),
            models.Index(fields=["endpoint", "-at"], name="delivery_endpoint", condition=models.Q(way="webhook")),
            models.Index(fields=["person", "way", "-at"], name="delivery_person"),
            models.Index(
                fields=["person"], name="delivery_unread", condition=models.Q(way="in_app", read_at__isnull=True)
            ),
        ]


class NoticeAttempt(models.Model):
    """One try to send a message: when, how long it took, and what the other side said."""

    id = models.BigAutoField(primary_key=True)
    message = models.UUIDField()
    at = models.DateTimeField()
    took = models.IntegerField()  # milliseconds
    status = models.SmallIntegerField(default=0)  # of HTTP or SMTP; 0: there was none
    why = models.CharField(max_length=40, blank=True)  # a word; empty: it went well
    answer = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["message", "at"], name="attempt_message")]


class NoticeWishes(models.Model):
    """What one person wants: where mail reaches them, what is switched off, when they are not to be disturbed."""

    user = models.OneToOneField("people.User", on_delete=models.CASCADE, primary_key=True, related_name="+")
    email = models.CharField(max_length=254, blank=True)
    off = ArrayField(models.CharField(max_length=8), default=list)  # ways
    quiet = models.JSONField(default=dict)  # sessions.automation.notifications.quiet_hours.Quiet; empty: never
    sound = models.BooleanField(default=False)
    desktop = models.BooleanField(default=False)


class TeamQuiet(models.Model):
    """The hours in which a whole team is not to be disturbed."""

    team = models.OneToOneField("people.Team", on_delete=models.CASCADE, primary_key=True, related_name="+")
    quiet = models.JSONField(default=dict)
    changed_by = models.CharField(max_length=60)
    changed_at = models.DateTimeField()
