"""Rows of triggers. Definitions are configuration; what a firing waits with is sealed, and gone once it has ended."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Trigger(models.Model):
    """A trigger of a team as it stands: the number of its newest version, and whether it is on. `off_why` says why it
    is not, in one word.
    """

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=60)
    version = models.IntegerField()
    source = models.CharField(max_length=8)  # sessions.automation.triggers.definition.Source
    watch = models.CharField(max_length=60, blank=True)  # of which it takes row changes
    on = models.BooleanField(default=True)
    off_why = models.CharField(max_length=40, blank=True)
    since = models.DateTimeField()  # switched on then: what happened before is none of its business
    next_at = models.DateTimeField(null=True)  # of a schedule
    changed_by = models.CharField(max_length=60)
    changed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "name"], name="trigger_name")]
        indexes: ClassVar = [
            models.Index(fields=["source", "team"], name="trigger_on", condition=models.Q(on=True)),
            models.Index(fields=["next_at"], name="trigger_next", condition=models.Q(on=True, next_at__isnull=False)),
        ]


class TriggerVersion(models.Model):
    """One version of a trigger. Rows are only added."""

    pk = models.CompositePrimaryKey("trigger", "version")
    trigger = models.UUIDField()
    version = models.IntegerField()
    definition = models.JSONField()
    by = models.CharField(max_length=60)
    at = models.DateTimeField()


class TriggerFiring(models.Model):
    """Something that happened, for one trigger: due until it was judged, then how it ended and why. The id follows from
    the trigger and the occurrence, so that the same occurrence is taken in once, and acted on under one key for ever.
    """

    class State(models.TextChoices):
        """Due waits; fired acted; passed had no reason to; refused could not; failed was tried too often."""

        DUE = "due"
        FIRED = "fired"
        PASSED = "passed"
        REFUSED = "refused"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True)
    trigger = models.UUIDField()
    version = models.IntegerField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.DUE)
    why = models.CharField(max_length=60, blank=True)  # one word
    about = models.UUIDField(null=True)  # the session in which it happened
    about_seq = models.BigIntegerField(null=True)  # and the entry
    session = models.UUIDField(null=True)  # in which it acted
    at = models.DateTimeField()  # when it was taken in
    due_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    attempts = models.SmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    kid = models.UUIDField(null=True)  # key of the customer whom it names, else of the team: `sealed` is under it
    sealed = models.BinaryField(default=b"")  # what happened, until it has ended

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["due_at"], name="firing_due", condition=models.Q(state="due")),
            models.Index(fields=["trigger", "-at"], name="firing_newest"),
            models.Index(fields=["trigger", "ended_at"], name="firing_fired", condition=models.Q(state="fired")),
        ]


class Watch(models.Model):
    """A table of another application whose changes are fetched. The database is named, never written here."""

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=40, unique=True)
    database = models.CharField(max_length=40)  # name of the setting that says where it is
    table = models.CharField(max_length=130)
    keys = ArrayField(models.CharField(max_length=63))
    installed_at = models.DateTimeField()
    polled_at = models.DateTimeField(null=True)
    trouble = models.CharField(max_length=60, blank=True)  # why it cannot be fetched from, in one word
    lag = models.IntegerField(default=0)  # rows that were left there by the last look


class Beat(models.Model):
    """The clock that was elected last, by number."""

    id = models.SmallIntegerField(primary_key=True)
    fence = models.BigIntegerField(default=0)
    alive_at = models.DateTimeField(null=True)
    who = models.CharField(max_length=120, blank=True)
