"""Rows of the library: the files of each name as they came into force."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class LibraryVersion(models.Model):
    """The files of one name as they came into force. Rows are only added; a name's newest is in force."""

    kind = models.CharField(max_length=20)  # a subfolder of the library
    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)  # of paths and bytes of all files
    files = models.BinaryField()  # JSON: text by path
    origin = models.CharField(max_length=400)  # `shipped`, or the folder
    proposal = models.ForeignKey(  # that brought it into force; null at a name's first start
        "agent_sessions.Proposal", on_delete=models.PROTECT, null=True, related_name="+"
    )
    at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["kind", "name", "-id"], name="library_newest")]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "name"], name="library_first_once", condition=models.Q(proposal=None)
            )
        ]
