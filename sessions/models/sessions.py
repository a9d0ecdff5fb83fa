"""Projections of sessions: rows that can be dropped and rebuilt from the ledger (`manage.py rebuild`).

Columns hold nothing of a payload. What is personal is in `card`, sealed under the key of the session's data subject.
Only `sessions.core.projections` writes projection columns; the lease columns of a session belong to
`sessions.runtime.leases`.
"""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Now

from agentstate.engine.lifecycle import RequestStatus, SessionStatus
from audit.keys import teams

URGENT = models.Q(ended_at__isnull=True) & (  # sessions in which nothing may go on until a person acts
    models.Q(open_requests__gt=0) | models.Q(status=SessionStatus.FAILED.value) | models.Q(wanted_at__isnull=False)
)


class AgentSession(models.Model):
    """One session as lists show it and workers find it."""

    id = models.UUIDField(primary_key=True)  # also the id of its log
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    kid = models.UUIDField()  # key of the data subject
    agent = models.CharField(max_length=60)
    channel = models.CharField(max_length=20)
    alias_token = models.BinaryField(null=True)  # keyed token of the alias, which is in the card; null: none
    status = models.CharField(max_length=20, choices=[(status.value, status.value) for status in SessionStatus])
    waiting_for = models.CharField(max_length=10, blank=True)
    seq = models.BigIntegerField()  # entries folded into this row
    epoch = models.BigIntegerField(default=0)
    tier = models.SmallIntegerField(default=0)  # the highest of its open requests
    open_requests = models.SmallIntegerField(default=0)
    opened_at = models.DateTimeField()
    last_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    fork_of = models.UUIDField(null=True)  # the session that this one is a fork of, while it is not promoted
    parent = models.UUIDField(null=True)  # the session whose task this one does
    delivered = models.BooleanField(db_default=False)  # its output was handed to the parent; the runtime's own
    taken_by = models.CharField(max_length=60, blank=True, db_default="")  # who speaks instead of the agent
    taken_at = models.DateTimeField(null=True)
    wanted_at = models.DateTimeField(null=True)  # since when the customer asks for a person
    assigned_to = models.CharField(max_length=60, blank=True, db_default="")  # who is to see to it
    card = models.BinaryField()

    # The wake-up that cannot be lost: the sweeper finds what is due and not leased.
    ready_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    fence = models.BigIntegerField(default=0)
    holder = models.IntegerField(null=True)  # the process that has the lease, by the number of its presence

    # Why the runtime leaves it alone, for now or until somebody acts (sessions.runtime.parked).
    stalled = models.CharField(max_length=120, blank=True, db_default="")
    stalled_at = models.DateTimeField(null=True)
    stalls = models.SmallIntegerField(db_default=0)  # times in a row that it could not be advanced
    stuck = models.SmallIntegerField(db_default=0)  # calls that wait for somebody to intervene

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["team", "ready_at"], name="session_turn", condition=models.Q(ready_at__isnull=False)),
            models.Index(fields=["holder"], name="session_holder", condition=models.Q(holder__isnull=False)),
            models.Index(fields=["stalled", "stalled_at"], name="session_stalled", condition=~models.Q(stalled="")),
            models.Index(fields=["team"], name="session_stuck", condition=models.Q(stuck__gt=0)),
            models.Index(fields=["team", "opened_at"], name="session_team_opened"),
            models.Index(fields=["team"], name="session_live", condition=models.Q(ended_at__isnull=True)),
            models.Index(fields=["team", "-tier", "opened_at"], name="session_urgent", condition=URGENT),
            models.Index(fields=["kid"], name="session_customer"),
            models.Index(
                fields=["team", "wanted_at"], name="session_wanted", condition=models.Q(wanted_at__isnull=False)
            ),
            models.Index(fields=["taken_by"], name="session_taken", condition=~models.Q(taken_by="")),
            models.Index(fields=["assigned_to"], name="session_assigned", condition=~models.Q(assigned_to="")),
            models.Index(
                fields=["parent"], name="session_undelivered", condition=models.Q(parent__isnull=False, delivered=False)
            ),
            models.Index(fields=["fork_of"], name="session_forks", condition=models.Q(fork_of__isnull=False)),
        ]


class Slot(models.Model):
    """One of the places that a limit allows: whoever has it runs a call, or advances a session, until it is given back
    or its lease is over. No counter: a limit is how many numbers there are (`sessions.runtime.limits`).
    """

    pk = models.CompositePrimaryKey("scope", "number")
    scope = models.CharField(max_length=120)  # what is limited: `tool:transfer`, `agent:bank`, `team:cards`
    number = models.IntegerField()
    session = models.UUIDField()
    call = models.CharField(max_length=200, blank=True)
    until = models.DateTimeField()
    holder = models.IntegerField()


class ApprovalRequest(models.Model):
    """One request as the queue shows it."""

    id = models.UUIDField(primary_key=True)
    session = models.ForeignKey(AgentSession, on_delete=models.CASCADE, related_name="requests", db_constraint=False)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=12, choices=[(status.value, status.value) for status in RequestStatus])
    tier = models.SmallIntegerField()
    quorum = models.SmallIntegerField()
    approvals = models.SmallIntegerField(default=0)
    approvers_missing = models.SmallIntegerField(db_default=0)  # people too few when it was made: deputies may approve
    tool = models.CharField(max_length=100)
    rule = models.CharField(max_length=100)
    policy = models.CharField(max_length=100)
    asked_seq = models.BigIntegerField()
    asked_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=60, blank=True)
    execution = models.CharField(max_length=12, blank=True, db_default="")  # what came of the call once approved
    assigned_to = models.CharField(max_length=60, blank=True, db_default="")  # who is to see to it
    kid = models.UUIDField(null=True)  # key of its data subject; null: the session's
    held_until = models.DateTimeField(null=True)  # it executes then unless somebody objects
    escalates_at = models.DateTimeField(null=True)  # it goes to the next of its chain then
    reviewers = models.JSONField(default=list)  # groups of "role:...", "team:...", "user:...": one of each decides
    excluded = ArrayField(models.CharField(max_length=60), default=list)  # actors who may not approve it
    escalated = models.SmallIntegerField(db_default=0)  # steps of its chain that it has gone
    claimed_by = models.CharField(max_length=60, blank=True, db_default="")  # who said last that they are on it
    claimed_until = models.DateTimeField(null=True)  # of their lease; a heartbeat moves it, which is no entry
    card = models.BinaryField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["team", "expires_at"], name="request_pending", condition=models.Q(state="pending")),
            models.Index(fields=["expires_at"], name="request_due", condition=models.Q(state="pending")),
            models.Index(fields=["team", "-ended_at"], name="request_ended"),
            models.Index(fields=["session"], name="request_session"),
        ]


class Stop(models.Model):
    """A person's word that nothing new may happen in one team: at all, by one agent, or with one tool. It counts
    from the instant at which it is committed, since the statement that commits an intent reads this table. A stop
    that reaches several teams is a row for each, and each team lifts its own. No projection:
    `sessions.stops.commands` writes it; a row is never deleted.
    """

    class Scope(models.TextChoices):
        """What is stopped."""

        EVERYTHING = "everything"
        AGENT = "agent"
        TOOL = "tool"
        TEAM = "team"

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    scope = models.CharField(max_length=10, choices=Scope.choices)
    value = models.CharField(max_length=100, blank=True)  # name of the agent or tool, id of the team
    sealed_reason = models.BinaryField()  # under the team's key
    by = models.CharField(max_length=60)
    at = models.DateTimeField(db_default=Now())
    lifted_by = models.CharField(max_length=60, blank=True, db_default="")
    lifted_at = models.DateTimeField(null=True)
    sealed_lifted_why = models.BinaryField(null=True)  # under the team's key

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["team", "scope", "value"], name="stop_once", condition=models.Q(lifted_at__isnull=True)
            )
        ]

    @property
    def reason(self) -> str:
        """Why it was set; empty once the team's key is destroyed."""
        return teams.opened(bytes(self.sealed_reason))

    @property
    def lifted_why(self) -> str:
        """Why it was lifted; empty while it is in force, and once the team's key is destroyed."""
        return teams.opened(bytes(self.sealed_lifted_why or b""))


class Skill(models.Model):
    """Something that a person can do, in the words of the house: a language, a product, a kind of complaint."""

    id = models.UUIDField(primary_key=True)
    user = models.ForeignKey("people.User", on_delete=models.CASCADE, related_name="+")
    skill = models.CharField(max_length=60)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "skill"], name="skill_once")]


class SkillWanted(models.Model):
    """Which skill a team's work wants: of a request by its tool, of a session by the agent or the channel."""

    class By(models.TextChoices):
        """What of the work says so."""

        TOOL = "tool"
        AGENT = "agent"
        CHANNEL = "channel"

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey("people.Team", on_delete=models.CASCADE, related_name="+")
    by = models.CharField(max_length=10, choices=By.choices)
    value = models.CharField(max_length=100)
    skill = models.CharField(max_length=60)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["team", "by", "value", "skill"], name="skill_wanted_once")
        ]


class Snapshot(models.Model):
    """A folded state, sealed: a cache that saves reading the whole log. A wrong or missing one costs time, never
    truth.
    """

    session = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField()
    form = models.CharField(max_length=16, db_default="")  # of the state that is in it; one of another is passed over
    parts = models.IntegerField(db_default=0)  # instances and other data subjects, each a SnapshotPart
    sealed = models.BinaryField()


class SnapshotPart(models.Model):
    """One instance of a folded state, as of the entry that changed it last, or what else the state holds of one data
    subject other than the session's. Written with its Snapshot, or not at all.
    """

    id = models.BigAutoField(primary_key=True)
    session = models.UUIDField()
    number = models.IntegerField()
    kid = models.UUIDField(null=True)  # key of its data subject; null: the session's
    sealed = models.BinaryField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["session", "number"], name="snapshot_part_number")]


class RecordedState(models.Model):
    """A folded state that stands for the entries before it, whose payloads are deleted. No cache: the session's entry
    `snapshot.recorded` holds the digest of `sealed`. `sessions.privacy.pruning` writes it.
    """

    pk = models.CompositePrimaryKey("session", "upto")
    session = models.UUIDField()
    upto = models.BigIntegerField()  # so many entries
    entry = models.BigIntegerField()  # the seq of the entry that says so
    form = models.CharField(max_length=16)  # of the state when it was recorded
    sealed = models.BinaryField()


class Outbox(models.Model):
    """One commit that must be announced. The sweeper announces what the committing process could not, then deletes."""

    id = models.BigAutoField(primary_key=True)
    session = models.UUIDField()
    team = models.UUIDField()
    seq = models.BigIntegerField()
    first = models.BigIntegerField(db_default=-1)  # entries `first` to `seq` - 1; -1: from before this was kept
    at = models.DateTimeField()


class CustomerProfile(models.Model):
    """What is known of one customer across sessions, as of entry `seq` of the profile's log; the state is sealed."""

    log = models.UUIDField(primary_key=True)  # the id of its log
    kid = models.UUIDField(unique=True)  # key of the data subject
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    seq = models.BigIntegerField()
    opened_at = models.DateTimeField()
    last_at = models.DateTimeField()
    sealed = models.BinaryField()


class Taught(models.Model):
    """How far a session has taught its customer's profile. A hint: the profile knows it too, by sessions of late."""

    session = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField()


class AgentDefinition(models.Model):
    """Instructions and tools of an agent as requests were made with them, under the digest of their bytes. Rows are
    only added: old steps are rebuilt with the definition that they name. Configuration, nothing personal.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    body = models.BinaryField()


class SavedPlan(models.Model):
    """One version of a plan that a team keeps. No projection: the document, sealed, is in the row; none is changed."""

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=80)
    version = models.IntegerField()
    by = models.CharField(max_length=60)
    at = models.DateTimeField()
    kid = models.UUIDField()  # key of the team's own subject
    sealed = models.BinaryField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["team", "name", "version"], name="saved_plan_version"),
        ]


class AccessLine(models.Model):
    """One entry of a reader's access log, so that auditors find it: ids only, nothing of what was read."""

    pk = models.CompositePrimaryKey("log", "seq")
    log = models.UUIDField()
    seq = models.BigIntegerField()
    tenant = models.UUIDField()
    reader = models.CharField(max_length=60)  # an actor's id
    at = models.DateTimeField()
    kind = models.CharField(max_length=30)
    about = ArrayField(models.UUIDField())  # sessions, and customers by the id of their key
    teams = ArrayField(models.UUIDField())  # whose they are

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["tenant", "-at"], name="access_newest"),
            models.Index(fields=["reader", "-at"], name="access_reader"),
            GinIndex(fields=["about"], name="access_about"),
        ]


class OpenView(models.Model):
    """A page that somebody follows: its opening is an entry of the access log, and its end will be another.

    `held` once a socket follows it; whoever holds it touches `seen_at`. The sweeper closes what shows no sign of life.
    """

    id = models.UUIDField(primary_key=True)
    tenant = models.UUIDField()
    reader = models.CharField(max_length=60)
    page = models.CharField(max_length=20)
    topic = models.CharField(max_length=60)  # as sockets name it
    held = models.BooleanField(db_default=False)
    opened_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["reader", "topic"], name="view_reader"),
            models.Index(fields=["seen_at"], name="view_seen"),
        ]


class Viewed(models.Model):
    """A session that an open view has shown, from which entry to which (-1: as a line of a list)."""

    pk = models.CompositePrimaryKey("view", "session")
    view = models.UUIDField()
    session = models.UUIDField()
    team = models.UUIDField()
    first = models.BigIntegerField()
    last = models.BigIntegerField()


class StandingGrant(models.Model):
    """A grant for what follows that holds beyond the session in which it was given: for its customer, or for its agent
    in its team. No projection: `core.standing_approvals` writes it with the entries that give, use and take it back.
    """

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    scope = models.CharField(max_length=8)  # customer or agent
    agent = models.CharField(max_length=60)
    kid = models.UUIDField()  # of the customer of whose request it came; `sealed` is under it
    tool = models.CharField(max_length=200)
    given_in = models.UUIDField()  # the session
    by = models.CharField(max_length=60)
    at = models.DateTimeField()
    until = models.DateTimeField()
    uses = models.IntegerField()
    used = models.IntegerField(default=0)
    revoked_by = models.CharField(max_length=60, blank=True)
    revoked_at = models.DateTimeField(null=True)
    rolled_back = models.BooleanField(db_default=False)  # with the part in which it was given
    sealed = models.BinaryField()  # what was granted; empty once its customer was erased

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["team", "kid", "-at"], name="standing_customer"),
            models.Index(fields=["team", "agent", "-at"], name="standing_agent", condition=models.Q(scope="agent")),
        ]


class Disclosure(models.Model):
    """Something of a session that somebody was let see. A link is known by the hash of its token only; nothing of what
    it shows is kept here. No projection: `sessions.disclosures.commands` writes it.
    """

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    team = models.ForeignKey("people.Team", on_delete=models.PROTECT, related_name="+")
    session = models.UUIDField()
    what = models.CharField(max_length=10)  # sessions.disclosures.content.What
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    pointer = models.CharField(max_length=200, blank=True)  # of a field: names only, no value
    reason = models.BinaryField()  # sealed under the key of the session's data subject
    kid = models.UUIDField()
    token = models.BinaryField(null=True, unique=True)  # SHA-256 of the link's token; null: a file was made
    made_by = models.CharField(max_length=60)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=60, blank=True)
    revoked_at = models.DateTimeField(null=True)
    opened = models.IntegerField(default=0)  # how often
    opened_at = models.DateTimeField(null=True)  # last

    class Meta:
        indexes: ClassVar = [models.Index(fields=["session", "-made_at"], name="disclosure_newest")]


class Export(models.Model):
    """An export of many sessions: who asked for which, and how far it is. Its parts are the sessions, chosen when it
    was asked for. No projection: `sessions.exports` writes it.
    """

    class State(models.TextChoices):
        """Waiting and building are under way; the others are ends."""

        WAITING = "waiting"
        BUILDING = "building"
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"
        EXPIRED = "expired"

    id = models.UUIDField(primary_key=True)
    tenant = models.ForeignKey("people.Tenant", on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey("people.User", on_delete=models.PROTECT, null=True, related_name="+")  # null: the system
    filter = models.JSONField()  # sessions.exports.selection.Filter; a customer stands in it by the id of their key
    masked = models.BooleanField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    problem = models.CharField(max_length=60, blank=True)  # code of the refusal that ended it
    total = models.IntegerField()
    built = models.IntegerField(default=0)
    size = models.BigIntegerField(default=0)  # bytes of all bundles
    asked_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    mapped = models.BigIntegerField(null=True)  # the head map's leaf in the global log
    checkpoint = models.BinaryField(null=True)  # the one global head that all bundles prove their session under
    lease_until = models.DateTimeField(null=True)
    fence = models.BigIntegerField(default=0)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["user", "-asked_at"], name="export_newest"),
            models.Index(
                fields=["asked_at"], name="export_due", condition=models.Q(state__in=["waiting", "building", "done"])
            ),
        ]


class ExportPart(models.Model):
    """One session of an export: where its head stands, and its bundle once it is built."""

    class State(models.TextChoices):
        """Erased: the bundle was deleted, since its data subject was erased."""

        WAITING = "waiting"
        BUILT = "built"
        ERASED = "erased"

    pk = models.CompositePrimaryKey("export", "position")
    export = models.UUIDField()
    position = models.IntegerField()
    session = models.UUIDField()
    team = models.UUIDField()
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    entries = models.BigIntegerField()  # at least so many; once its place is known, exactly
    index = models.BigIntegerField(null=True)  # of the session's head in the global log
    siblings = models.BinaryField(null=True)  # of its row in the head map, 32 bytes each
    size = models.BigIntegerField(default=0)  # bytes of the bundle
    crc = models.BigIntegerField(default=0)
    sha256 = models.BinaryField(null=True)
    kids = ArrayField(models.UUIDField(), default=list)  # keys of all data subjects that the bundle shows something of
    wrapped = models.BinaryField(null=True)  # the key of the blocks, sealed under each of these keys in turn
    row = models.BinaryField(null=True)  # the line of sessions.csv, under the same key

    class Meta:
        indexes: ClassVar = [GinIndex(fields=["kids"], name="export_part_subjects")]


class ExportBlock(models.Model):
    """A piece of a bundle, deflated and encrypted."""

    pk = models.CompositePrimaryKey("export", "position", "number")
    export = models.UUIDField()
    position = models.IntegerField()
    number = models.IntegerField()
    data = models.BinaryField()
