"""Shapes of tools, and of MCP servers with what they offer."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from sessions.http.fields import ExactFlag, ExactText, Strict


class ToolSecret(serializers.Serializer[Any]):
    name = serializers.CharField()
    there = serializers.BooleanField(help_text="whether it can be read now; what it is, is told nowhere")


class Tool(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.IntegerField()
    source = serializers.CharField(help_text="`python`, `http`, `model`, `mcp:<server>`")  # type: ignore[assignment]  # a name that DRF has too
    effect = serializers.CharField(help_text="`pure`, `idempotent` or `once`")
    description = serializers.CharField()
    agents = serializers.ListField(child=serializers.CharField(), help_text="those that may call it")
    arguments = serializers.DictField(help_text="JSON Schema")
    result = serializers.DictField(allow_null=True, help_text="JSON Schema; null: none is declared")
    compensation = serializers.CharField(help_text="what can be done about its effect; empty: nothing is declared")
    reaches = serializers.CharField(help_text="where its calls go; empty: they stay in the process")
    seconds = serializers.FloatField(help_text="that one call may take")
    attempts = serializers.IntegerField(help_text="at most, where `retry_seconds` is 0")
    retry_seconds = serializers.FloatField(
        help_text="it is tried again for so long after its first try; 0: by attempts"
    )
    secrets = ToolSecret(many=True)
    limit = serializers.IntegerField(help_text="calls at once, over all workers; 0: any number")
    undone_by = serializers.CharField(help_text="the tool whose call undoes its effect; empty: none does")
    masked = serializers.ListField(child=serializers.CharField(), help_text="paths of its result recorded nowhere")
    scopes = serializers.ListField(child=serializers.CharField(), allow_null=True, help_text="what it sees of a state")
    activities = serializers.ListField(child=serializers.CharField())


class ToolList(serializers.Serializer[Any]):
    tools = Tool(many=True)


class ToolOffer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    tool = serializers.CharField()
    version = serializers.IntegerField()
    digest = serializers.CharField(help_text="SHA-256 of what the server says of it")
    answer = serializers.CharField(help_text="`waiting`, `accepted` or `refused`")
    current = serializers.BooleanField(help_text="whether the server said so when it was last asked")
    offered_at = serializers.DateTimeField()
    answered_by = serializers.CharField(help_text="`user:<id>`; empty: nobody")
    answered_at = serializers.DateTimeField(allow_null=True)
    effect = serializers.CharField(help_text="by our own description of the server")
    unusable = serializers.CharField(help_text="why it cannot be accepted; empty: it can")
    changed = serializers.ListField(child=serializers.CharField(), help_text="parts, since what was accepted before")
    offer = serializers.DictField(help_text="the server's own words and schemas")


class ToolServer(serializers.Serializer[Any]):
    name = serializers.CharField()
    reaches = serializers.CharField()
    seconds = serializers.FloatField()
    secrets = ToolSecret(many=True)
    looked_at = serializers.DateTimeField(allow_null=True)
    problem = serializers.CharField(help_text="of the last look; empty: none")
    offers = ToolOffer(many=True)


class ToolServerList(serializers.Serializer[Any]):
    servers = ToolServer(many=True)


class LookAtServer(Strict):
    """Nothing is asked: what the server says is the answer."""


class AnswerOffer(Strict):
    """Accept or refuse a version, as it was shown."""

    accept = ExactFlag()
    digest = ExactText(max_length=64, help_text="of what was shown")
