"""Shapes of what auditors read, and of grants."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agentstate.people.grants import MAX_REASON, MOST_SESSIONS
from agentstate.people.roles import GRANTABLE
from audit.proofs.drawn import Standing
from sessions.core.access import Kind
from sessions.http.fields import ExactChoice, ExactText, ShortList, Strict, choices

ACCESS_KIND = choices(kind.value for kind in Kind)
GRANT_KIND = choices(kind.value for kind in GRANTABLE)
ENTRY_STANDING = choices(each.value for each in Standing)


class AccessEntry(serializers.Serializer[Any]):
    log = serializers.UUIDField(help_text="the reader's log of that day")
    seq = serializers.IntegerField()
    at = serializers.DateTimeField()
    reader = serializers.CharField(help_text="`user:<id>`")
    kind = serializers.ChoiceField(choices=ACCESS_KIND)
    about = serializers.ListField(child=serializers.UUIDField(), help_text="sessions, and customers by their id")
    hidden = serializers.IntegerField(help_text="how many more, which you may not see")
    what = serializers.ListField(child=serializers.CharField())
    door = serializers.CharField(help_text="method and address; empty outside of a request")
    facts = serializers.DictField(
        allow_null=True, help_text="`reads` with the entries from first to last of each; null once the reader is erased"
    )


class AccessPage(serializers.Serializer[Any]):
    entries = AccessEntry(many=True)
    next = serializers.CharField(allow_null=True, help_text="`after` of the next page")


class StaffEntry(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    at = serializers.CharField()
    kind = serializers.CharField()
    actor = serializers.CharField()
    subject = serializers.CharField()
    facts = serializers.DictField(allow_null=True, help_text="null once its subject is erased")


class StaffPage(serializers.Serializer[Any]):
    entries = StaffEntry(many=True)
    next = serializers.IntegerField(allow_null=True, help_text="`before` of the next page")


class SampledEntry(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    seq = serializers.IntegerField()
    kind = serializers.CharField(help_text="empty where the entry is missing or unreadable")
    at = serializers.CharField(help_text="empty likewise")
    leaf = serializers.CharField(help_text="SHA-256 of the leaf that is stored, in hexadecimal; empty when none is")
    standing = serializers.ChoiceField(
        choices=ENTRY_STANDING,
        help_text="whether the log's tree, under the signed head, has this leaf here",
    )
    held = serializers.CharField(help_text="the leaf that the tree has here; empty where it can no longer be told")


class SampledLog(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    size = serializers.IntegerField(help_text="entries, as the global log has it")


class DrawnSample(serializers.Serializer[Any]):
    seed = serializers.CharField()
    digest = serializers.CharField(help_text="SHA-256 over a line `<session> <size>` for each, by session")
    total = serializers.IntegerField(help_text="entries that were drawn from")
    signed = serializers.IntegerField(help_text="size of the newest signed head")
    root = serializers.CharField(  # type: ignore[assignment]  # a name that DRF has for something else
        help_text="its root; empty when nothing is signed yet"
    )
    waiting = serializers.IntegerField(help_text="sessions that no signed head covers yet")
    population = SampledLog(many=True)
    entries = SampledEntry(many=True)


class Downtime(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text="leaf of the global log")
    part = serializers.CharField(help_text="`sequencer` or `signer`")
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()


class DowntimePage(serializers.Serializer[Any]):
    downtimes = Downtime(many=True)
    next = serializers.IntegerField(allow_null=True, help_text="`before` of the next page")


class GiveGrant(Strict):
    """Whom to let in, to what, and until when."""

    user = serializers.UUIDField(help_text="somebody with the role auditor in the team")
    team = serializers.UUIDField()
    kinds = ShortList(child=ExactChoice(choices=GRANT_KIND), max_length=len(GRANTABLE))
    until = serializers.DateTimeField(help_text="with its time zone")
    starts = serializers.DateTimeField(required=False, help_text="without it, now")
    sessions = ShortList(
        child=serializers.UUIDField(), max_length=MOST_SESSIONS, required=False, help_text="only these; without it, all"
    )
    opened_from = serializers.DateTimeField(required=False, help_text="only sessions opened then or later")
    opened_to = serializers.DateTimeField(required=False, help_text="only sessions opened before")
    reason = ExactText(
        max_length=MAX_REASON, help_text="the auditor and the team's admins read it; write no customer's name"
    )


class Grant(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    user = serializers.UUIDField()
    team = serializers.UUIDField()
    kinds = serializers.ListField(child=serializers.CharField())
    sessions = serializers.ListField(child=serializers.UUIDField())
    opened_from = serializers.DateTimeField(allow_null=True)
    opened_to = serializers.DateTimeField(allow_null=True)
    starts = serializers.DateTimeField()
    until = serializers.DateTimeField()
    given_by = serializers.CharField()
    reason = serializers.CharField()
    revoked_at = serializers.DateTimeField(allow_null=True)


class GrantList(serializers.Serializer[Any]):
    grants = Grant(many=True)
