"""The ledger's rows. Only `audit.ledger`, `audit.keys` and the sequencer write them, in plain SQL; the models are for
migrations and for reading.

What the application's role may do to each table is in `agentstate.grants`; the triggers of the migrations refuse
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
    sealed = models.BooleanField(db_default=False)  # only a tombstone may follow, and seals again

    class Meta:
        constraints: ClassVar = [models.CheckConstraint(condition=models.Q(size__gte=0), name="audit_head_size")]
        indexes: ClassVar = [
            models.Index(
                fields=["tenant", "dirty_since"],
                condition=models.Q(dirty_since__isnull=False),
                name="audit_head_dirty",
            )
        ]


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
    kek_ref = models.CharField(max_length=200)  # the key-encryption key that wrapped it
    wrapped = models.BinaryField(null=True)
    created = models.DateTimeField()
    closing_at = models.DateTimeField(null=True)  # its erasure has begun: nothing new begins under it
    destroyed_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "blind"], condition=models.Q(destroyed_at__isnull=True), name="audit_subject_once"
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["kek_ref", "kid"], name="audit_subject_kek", condition=models.Q(wrapped__isnull=False))
        ]


class KeyedLog(models.Model):
    """A log with an entry under this key; see audit.keyed."""

    pk = models.CompositePrimaryKey("kid", "log")
    kid = models.UUIDField()
    log = models.UUIDField()


class BlindKey(models.Model):
    """The key of one tenant's blind indexes, wrapped as a subject's is, and never changed: tokens rest on it."""

    tenant = models.UUIDField(primary_key=True)
    kek_ref = models.CharField(max_length=200)
    wrapped = models.BinaryField()
    created = models.DateTimeField()


class GlobalLeaf(models.Model):
    """One leaf of a tenant's global log: a log's head, a head map, a log key, a downtime. Public, nothing personal."""

    pk = models.CompositePrimaryKey("tenant", "index")
    tenant = models.UUIDField()
    index = models.BigIntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "audit_glog"


class GlobalState(models.Model):
    """How far a tenant's global log is. Whoever moves it compares the size (a sequencer its fence too) as it writes."""

    tenant = models.UUIDField(primary_key=True)
    size = models.BigIntegerField(default=0)
    frontier = models.BinaryField(default=b"")
    fence = models.BigIntegerField(default=0)  # how often a sequencer was elected
    mapped = models.BigIntegerField(default=-1)  # index of the newest head map
    mapped_at = models.DateTimeField(null=True)
    alive_at = models.DateTimeField(null=True)  # when a sequencer last said that it runs
    trouble = models.TextField(db_default="")  # why nothing can be signed (an error's code); empty: it can
    trouble_detail = models.TextField(db_default="")
    trouble_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "audit_gstate"


class Tile(models.Model):
    """256 hashes of the global log's tree. Only full ones are stored, once; `root` is the hash one level above."""

    pk = models.CompositePrimaryKey("tenant", "level", "index")
    tenant = models.UUIDField()
    level = models.SmallIntegerField()
    index = models.BigIntegerField()
    data = models.BinaryField()
    root = models.BinaryField()


class SignedHead(models.Model):
    """A head of the global log as the signer signed it. An idle log's is signed anew every ten minutes."""

    pk = models.CompositePrimaryKey("tenant", "size", "signed_at")
    tenant = models.UUIDField()
    size = models.BigIntegerField()
    signed_at = models.DateTimeField()
    note = models.BinaryField()


class Cosignature(models.Model):
    """A witness's signature line under a signed head."""

    pk = models.CompositePrimaryKey("tenant", "size", "name", "at")
    tenant = models.UUIDField()
    size = models.BigIntegerField()
    name = models.TextField()
    at = models.DateTimeField()
    line = models.TextField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["tenant", "name", "-at"], name="audit_cosignature_newest")]


class Timestamp(models.Model):
    """A time-stamp authority's answer (RFC 3161) over the note of a signed head, or over a text that names older stamps
    (audit/restamping.py): then `size` is below 0. `until`: its authority's certificate ends then.
    """

    pk = models.CompositePrimaryKey("tenant", "size", "at")
    tenant = models.UUIDField()
    size = models.BigIntegerField()
    at = models.DateTimeField()
    note = models.BinaryField()
    token = models.BinaryField()
    until = models.DateTimeField(null=True)


class Place(models.Model):
    """Where a log's newest head stands in the global log. `at`: when that head was read (PostgreSQL's clock).
    `frontier`: of its tree at that head, from which the next round shows that the log grew.
    """

    log = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    index = models.BigIntegerField()
    size = models.BigIntegerField()
    at = models.DateTimeField()
    frontier = models.BinaryField(default=b"", db_default=models.Value(b""))


class Gap(models.Model):
    """A time in which sequencer or signer did not run; the leaf at `index` says the same."""

    pk = models.CompositePrimaryKey("tenant", "index")
    tenant = models.UUIDField()
    index = models.BigIntegerField()
    part = models.TextField()
    since = models.DateTimeField()
    until = models.DateTimeField()


class Alteration(models.Model):
    """A place that the scrubber found altered (audit.scrub.altered), until a later look finds it right again."""

    id = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    log = models.UUIDField()
    what = models.CharField(max_length=30)
    seq = models.BigIntegerField(default=-1)  # -1: it is about no single entry
    detail = models.TextField(blank=True)
    found_at = models.DateTimeField()
    seen_at = models.DateTimeField()  # by the newest look
    right_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "log", "what", "seq"],
                name="audit_alteration_once",
                condition=models.Q(right_at__isnull=True),
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["log"], name="audit_alteration_log", condition=models.Q(right_at__isnull=True))
        ]


class Scrub(models.Model):
    """How far the scrubber is (audit.scrub.schedule): its comparison of heads, its pass over entries, its rest."""

    tenant = models.UUIDField(primary_key=True)
    heads_begun = models.DateTimeField(null=True)  # null: no comparison is under way
    heads_at = models.DateTimeField(null=True)  # the last whole comparison ended
    head = models.BigIntegerField(default=0)  # size of the signed head whose leaves are compared
    leaf = models.BigIntegerField(default=0)  # the next leaf
    leaf_frontier = models.BinaryField(default=b"")
    pass_begun = models.DateTimeField(null=True)  # null: no pass is under way
    pass_at = models.DateTimeField(null=True)  # the last full pass ended
    pass_entries = models.BigIntegerField(default=0)  # that it read
    entries = models.BigIntegerField(default=0)  # that this one has read so far
    log = models.UUIDField(null=True)  # the last log that this pass has begun
    log_begun = models.DateTimeField(null=True)  # null: it is read to its end
    seq = models.BigIntegerField(default=0)  # the next entry of it
    frontier = models.BinaryField(default=b"")
    rest_until = models.DateTimeField(null=True)


class LogTile(models.Model):
    """256 hashes of one log's own tree, kept since a proof needed them, and their root, the hash one level above. A
    cache, of audit.proofs.sessiontree.
    """

    pk = models.CompositePrimaryKey("log", "level", "index")
    log = models.UUIDField()
    level = models.SmallIntegerField()
    index = models.BigIntegerField()
    data = models.BinaryField()
    root = models.BinaryField()


class MapBucket(models.Model):
    """Leaves of the head map whose keys begin alike. A cache: `manage.py headmap --rebuild` makes it anew."""

    pk = models.CompositePrimaryKey("tenant", "bucket")
    tenant = models.UUIDField()
    bucket = models.IntegerField()  # the first 16 bits of the keys
    data = models.BinaryField()


class MapTile(models.Model):
    """256 places of the head map one level up: those below one first byte, or (tile -1) the 256 of these. A cache."""

    pk = models.CompositePrimaryKey("tenant", "tile")
    tenant = models.UUIDField()
    tile = models.SmallIntegerField()
    data = models.BinaryField()


class ErasureRequest(models.Model):
    """Somebody's wish that a data subject be erased, and how far that has come. `audit.erasure` writes it."""

    id = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    kid = models.UUIDField()
    state = models.CharField(max_length=10)  # audit.erasure.State
    basis = models.CharField(max_length=40)  # audit.erasure.BASES
    reason = models.BinaryField()  # sealed under the key of the subject, and gone with it
    asked_by = models.CharField(max_length=60)
    asked_at = models.DateTimeField()
    ruled_by = models.CharField(max_length=60, blank=True)  # who approved, refused or withdrew it
    ruled_at = models.DateTimeField(null=True)
    destroyed_at = models.DateTimeField(null=True)  # the point from which there is no way back
    done_at = models.DateTimeField(null=True)
    counts = models.JSONField(default=dict)  # by store: how much was erased there

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kid"], condition=models.Q(state__in=("asked", "approved")), name="audit_erasure_open_once"
            )
        ]
        indexes: ClassVar = [models.Index(fields=["tenant", "-asked_at"], name="audit_erasure_newest")]


class LegalHold(models.Model):
    """What must be kept, whoever asks for its erasure: of a whole subject, or of one log. `audit.holds` writes it."""

    id = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    kid = models.UUIDField()  # of the subject; of a held log, its own subject's
    log = models.UUIDField(null=True)  # null: all of the subject
    reason = models.BinaryField()  # sealed under that key
    until = models.DateTimeField(null=True)  # null: until it is lifted
    set_by = models.CharField(max_length=60)
    set_at = models.DateTimeField()
    lifted_by = models.CharField(max_length=60, blank=True)
    lifted_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["kid"], name="audit_hold_living", condition=models.Q(lifted_at__isnull=True))
        ]


class RetentionClass(models.Model):
    """For how long the payloads of a closed log are kept."""

    id = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    name = models.CharField(max_length=60)
    days = models.IntegerField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["tenant", "name"], name="audit_retention_name")]


class RetentionRule(models.Model):
    """Which class a log belongs to: the first rule in order that fits. An empty field fits everything."""

    id = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    place = models.IntegerField()  # in the order of the rules
    team = models.UUIDField(null=True)
    agent = models.CharField(max_length=60, blank=True)
    channel = models.CharField(max_length=20, blank=True)
    retention = models.ForeignKey(RetentionClass, on_delete=models.CASCADE, related_name="rules")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["tenant", "place"], name="audit_retention_order")]
