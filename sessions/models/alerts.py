"""Rows of alerts. They hold names, numbers and ids, never words of a conversation."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Alert(models.Model):
    """One alert as it stands. Of a session it is a projection (`core.alert_rows`), but for `hits` and `hit_at`; of
    the team itself (`session` empty) the staff log has its entries, and `sessions.events.team_alerts` writes it.
    """

    class Standing(models.TextChoices):
        """Open waits for somebody; acknowledged has somebody; closed is over."""

        OPEN = "open"
        ACKNOWLEDGED = "acknowledged"
        CLOSED = "closed"

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    session = models.UUIDField(null=True)
    rule = models.CharField(max_length=60, blank=True)  # id of the team's rule; empty: one of the house's own
    name = models.CharField(max_length=60)  # of the rule
    version = models.IntegerField()
    severity = models.CharField(max_length=8)
    why = models.CharField(max_length=60)  # one word of ours
    about = models.CharField(max_length=200, blank=True)  # id of a request or call, a tool's name, a key of the house
    seq = models.BigIntegerField(default=-1)  # the entry that made the rule hit
    state = models.CharField(max_length=12, choices=Standing.choices)
    to = ArrayField(models.CharField(max_length=80))  # whom it is for now
    step = models.SmallIntegerField(default=0)  # of its chain that it has come to
    chain = models.JSONField(default=list)
    raised_seq = models.BigIntegerField(default=-1)  # its entry in the session's log
    raised_at = models.DateTimeField()
    escalates_at = models.DateTimeField(null=True)
    held_by = models.CharField(max_length=60, blank=True)  # who has it
    acknowledged_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=60, blank=True)
    cause = models.CharField(max_length=60, blank=True)  # one word: what has ended it
    hits = models.IntegerField(db_default=1)  # how often it was found while it was open
    hit_at = models.DateTimeField(null=True)  # the last time; empty: when it was raised
    hit_seq = models.BigIntegerField(db_default=-1)  # and by which entry

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["team", "name", "about"],
                name="alert_of_team_once",
                condition=models.Q(session__isnull=True) & ~models.Q(state="closed"),
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["team", "raised_at"], name="alert_standing", condition=~models.Q(state="closed")),
            models.Index(
                fields=["escalates_at"], name="alert_escalates", condition=models.Q(escalates_at__isnull=False)
            ),
            models.Index(fields=["session", "rule", "-raised_at"], name="alert_of_session"),
            models.Index(fields=["team", "-raised_at"], name="alert_newest"),
        ]


class TeamRule(models.Model):
    """Something that a team has set up for its alerts and service levels, as it stands: an alert rule, a target, or a
    calendar by which targets are measured; the number of its newest version, and whether it is on.
    """

    class What(models.TextChoices):
        """Which of the three."""

        RULE = "rule"
        TARGET = "target"
        CALENDAR = "calendar"

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    what = models.CharField(max_length=8, choices=What.choices)
    name = models.CharField(max_length=60)
    version = models.IntegerField()
    on = models.BooleanField(default=True)
    since = models.DateTimeField()  # this version, switched on: what happened before is none of its business
    changed_by = models.CharField(max_length=60)
    changed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "what", "name"], name="team_rule_name")]


class TeamRuleVersion(models.Model):
    """One version of what a team has set up. Rows are only added."""

    pk = models.CompositePrimaryKey("rule", "version")
    rule = models.UUIDField()
    version = models.IntegerField()
    definition = models.JSONField()
    by = models.CharField(max_length=60)
    at = models.DateTimeField()


class AlertWatch(models.Model):
    """How far the rules have looked at a session, and when they look again. There is a row while there is something to
    look at: entries that were committed since, or an instant that is to come.
    """

    session = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    team = models.UUIDField()
    seen = models.BigIntegerField()  # entries that were looked at
    upto = models.BigIntegerField()  # entries that are known to be there
    due_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.SmallIntegerField(default=0)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["due_at"], name="alert_watch_due", condition=models.Q(due_at__isnull=False)),
        ]


class LevelClock(models.Model):
    """One measurement of a service level: a target, applied to one wait in one session. It follows from the entries,
    the target as it was, and its calendar (`sessions.automation.service_levels.clocks`).
    """

    class Outcome(models.TextChoices):
        """Running until it has ended; void: what it measured did not come to its end for reasons that are nobody's."""

        RUNNING = "running"
        MET = "met"
        MISSED = "missed"
        VOID = "void"

    id = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    team = models.UUIDField()
    session = models.UUIDField()
    agent = models.CharField(max_length=60)
    target = models.UUIDField()  # a TeamRule
    version = models.IntegerField()
    name = models.CharField(max_length=60)  # of the target
    what = models.CharField(max_length=16)
    about = models.CharField(max_length=60, blank=True)  # a request's id
    seq = models.BigIntegerField()  # the entry that began it
    upto = models.BigIntegerField()  # the entry that moved it last
    allowed = models.IntegerField()  # seconds
    started_at = models.DateTimeField()
    since = models.DateTimeField(null=True)  # it runs since then; empty: it stands, or has ended
    spent = models.BigIntegerField(default=0)  # microseconds of open time before that
    risk_at = models.DateTimeField(null=True)  # if it runs on
    missed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=8, choices=Outcome.choices, default=Outcome.RUNNING)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["session", "seq"], name="level_of_session"),
            models.Index(fields=["team", "started_at"], name="level_of_team"),
            models.Index(
                fields=["team", "missed_at"],
                name="level_running",
                condition=models.Q(ended_at__isnull=True, missed_at__isnull=False),
            ),
        ]
