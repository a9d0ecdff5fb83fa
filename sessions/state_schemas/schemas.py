"""Shapes of the schemas of states, of the three kinds of state, and of migrations."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.http.fields import ExactFlag, Key, Strict
from sessions.http.values import ExactNumber


class Place(serializers.Serializer[Any]):
    path = serializers.CharField()
    title = serializers.CharField()
    type = serializers.CharField()
    writers = serializers.ListField(child=serializers.CharField(), help_text="e.g. tool:authorize, staff:supervisor")
    private = serializers.BooleanField(help_text="kept out of every model request")
    merge = serializers.CharField(help_text="how concurrent changes of it merge; empty: a clash is refused")
    required = serializers.BooleanField()  # type: ignore[assignment]  # of the place, not of this field


class SchemaVersion(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    digest = serializers.CharField()
    steps = serializers.ListField(child=serializers.DictField(), help_text="of the migration that leads to it")
    reversible = serializers.BooleanField()
    why = serializers.CharField()


class AgentSchema(serializers.Serializer[Any]):
    agent = serializers.CharField()
    name = serializers.CharField()
    version = serializers.IntegerField()
    digest = serializers.CharField()
    schema = serializers.DictField(help_text="JSON Schema 2020-12, with x-writers, x-private, x-merge and x-money")
    places = Place(many=True)
    versions = SchemaVersion(many=True, help_text="newest first")


class Missing(serializers.Serializer[Any]):
    path = serializers.CharField()
    rule = serializers.CharField()


class StateKinds(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="the state after so many entries")
    schema = serializers.CharField(help_text="e.g. bank@1; empty: nothing was declared when it was opened")
    held = serializers.BooleanField(help_text="no newer version is taken by itself")
    conversation = serializers.DictField(help_text="messages, turns, context_tokens")
    task = serializers.DictField(help_text="goal, status, steps_completed, steps_remaining, current_step, data")
    user = serializers.DictField(help_text="preferences and history, as far as the session was given them")
    missing = Missing(many=True, help_text="what is still to be filled in")
    pending = serializers.IntegerField(help_text="the version that comes with the next step; 0: none")
    blocked = serializers.CharField(help_text="why it does not come: path and rule")
    prunable = serializers.ListField(child=serializers.CharField(), help_text="paths that nothing reads any more")


class MigrateState(Strict):
    """The version to carry the state to."""

    to = ExactNumber(min_value=1)
    hold = ExactFlag(required=False, help_text="stay at that version when newer ones come")
    idempotency_key = Key()


class PruneState(Strict):
    """Nothing to say: what nothing reads is found by rule."""

    idempotency_key = Key()


class TryMigration(Strict):
    """Which states to try it on."""

    agent = serializers.CharField(max_length=200)
    to = ExactNumber(min_value=1, required=False, help_text="without it, the newest version")


class Stuck(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    version = serializers.IntegerField()
    path = serializers.CharField()
    rule = serializers.CharField()


class MigrationReport(serializers.Serializer[Any]):
    schema = serializers.CharField()
    to = serializers.IntegerField()
    states = serializers.IntegerField(help_text="open sessions that were looked at")
    there = serializers.IntegerField(help_text="of that version already")
    carried = serializers.IntegerField(help_text="that would be carried")
    lossy = serializers.IntegerField(help_text="of those, how many could not be brought back the same")
    held = serializers.IntegerField()
    stuck = serializers.IntegerField(help_text="that would stay where they are")
    blocked = Stuck(many=True, help_text="the first of them, each with path and rule")
