"""Rows of proposals. They hold ids, names of settings and counts; all else is sealed under a data subject's key."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Proposal(models.Model):
    """One act that waits for the teams that it concerns. `sessions.proposals` writes it; a row is never deleted."""

    class State(models.TextChoices):
        """How far it is."""

        OPEN = "open"  # a team has not answered
        AGREED = "agreed"  # every team agrees; it takes effect at `due_at`
        CARRIED_OUT = "carried_out"
        REJECTED = "rejected"
        WITHDRAWN = "withdrawn"
        OUTDATED = "outdated"  # what it was about has changed since: `ended_why` is the refusal's code

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=40)
    permission = models.CharField(max_length=30)  # what a person needs in a team to answer for it
    teams = ArrayField(models.UUIDField())  # that it concerns
    details = models.JSONField()  # of its kind: ids, settings, counts
    kid = models.UUIDField()  # key under which text is sealed: the data subject's, else the proposer's
    reason = models.BinaryField()
    content = models.BinaryField(default=b"")  # what is personal of what it changes, sealed
    by = models.CharField(max_length=60)
    at = models.DateTimeField()
    answer_by = models.DateTimeField()  # from then on the privacy officer answers for a team that has not
    second_person = models.BooleanField()  # a person other than the proposer agrees in every team
    delay = models.IntegerField()  # seconds from the last agreement until it takes effect
    state = models.CharField(max_length=12, choices=State.choices)
    due_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=60, blank=True)
    ended_why = models.CharField(max_length=60, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["due_at"], name="proposal_due", condition=models.Q(state__in=("open", "agreed"))),
            models.Index(fields=["kid"], name="proposal_subject"),
            models.Index(fields=["tenant", "-at"], name="proposal_newest"),
        ]


class ProposalAnswer(models.Model):
    """What a person answered for a team. Rows are only added; a team's newest counts."""

    id = models.UUIDField(primary_key=True)
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="answers")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    agrees = models.BooleanField()
    by = models.CharField(max_length=60)
    at = models.DateTimeField()
    reason = models.BinaryField()  # sealed under the proposal's key
    for_team = models.BooleanField()  # the privacy officer answered for the team
