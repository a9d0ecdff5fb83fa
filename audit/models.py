"""The ledger's rows. Only `audit.ledger` and `audit.keys` write them, in plain SQL; the models are for migrations and
for reading.

What the application's role may do to each table is in `agentstate.grants`; the triggers of migration 0002 refuse
everybody else.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Head(models.Model):
    """One log's head: how many entries it has, and the frontier of its RFC 6962 tree. The only row a writer locks."""

    log = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    size = models.BigIntegerField()
    frontier = models.BinaryField()  # see audit.tlog.tree
    dirty_since = models.DateTimeField(null=True)  # set while the head is not yet in the global log

    class Meta:
        constraints: ClassVar = [models.CheckConstraint(condition=models.Q(size__gte=0), name="audit_head_size")]


class Entry(models.Model):
    """One entry's envelope, as the exact bytes that are hashed. `seq` is the leaf index."""

    pk = models.CompositePrimaryKey("log", "seq")
    log = models.UUIDField()
    seq = models.BigIntegerField()
    envelope = models.BinaryField()


class Payload(models.Model):
    """One entry's ciphertext, apart from its envelope so that it can be deleted without touching the log."""

    pk = models.CompositePrimaryKey("log", "seq")
    log = models.UUIDField()
    seq = models.BigIntegerField()
    ciphertext = models.BinaryField()


class Receipt(models.Model):
    """The entries that a command with an idempotency key wrote: the same key gets the first answer."""

    pk = models.CompositePrimaryKey("log", "key")
    log = models.UUIDField()
    key = models.BinaryField()  # SHA-256 of the actor and the client's key
    command = models.UUIDField()
    first = models.BigIntegerField()
    size = models.BigIntegerField()  # of the log after the command
    digest = models.BinaryField()  # of the command itself: another command under the same key is refused


class SubjectKey(models.Model):
    """The key of one data subject, wrapped by the key-encryption key. Destroying it erases the subject."""

    kid = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    blind = models.BinaryField()  # keyed token of the subject's reference: finds the key without naming the subject
    wrapped = models.BinaryField(null=True)
    created = models.DateTimeField()
    destroyed_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "blind"], condition=models.Q(destroyed_at__isnull=True), name="audit_subject_once"
            )
        ]
