"""Rows of alerts. They hold names, numbers and ids, never words of a conversation."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Alert(models.Model):
    """One alert as it stands. Of a session it is a projection (`sessions.alerts.rows`), but for `hits` and `hit_at`; of
    the team itself (`session` empty) the staff log has its entries, and `sessions.alerts.raising` writes it.
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
