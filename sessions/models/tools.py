"""Rows about tools: what MCP servers offered, and what of it somebody accepted. Configuration, nothing personal."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class OfferedTool(models.Model):
    """One version of a tool of an MCP server, as the server described it. `current`: it said so when last looked at."""

    class Answer(models.TextChoices):
        """What somebody said to it."""

        WAITING = "waiting"
        ACCEPTED = "accepted"
        REFUSED = "refused"

    id = models.UUIDField(primary_key=True)
    server = models.CharField(max_length=20)
    tool = models.CharField(max_length=128)
    version = models.IntegerField()
    digest = models.CharField(max_length=64)  # SHA-256 of `offer`, in hex
    offer = models.JSONField()  # sessions.tools.mcp.requests.Offer
    current = models.BooleanField()
    offered_at = models.DateTimeField()
    answer = models.CharField(max_length=8, choices=Answer.choices, default=Answer.WAITING)
    answered_by = models.CharField(max_length=60, blank=True)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["server", "tool", "version"], name="offered_tool_version"),
            models.UniqueConstraint(fields=["server", "tool", "digest"], name="offered_tool_digest"),
        ]


class ServerLook(models.Model):
    """When an MCP server was last asked what it offers, and what was wrong then."""

    server = models.CharField(max_length=20, primary_key=True)
    at = models.DateTimeField()
    problem = models.CharField(max_length=200, blank=True)  # code and words of the refusal
