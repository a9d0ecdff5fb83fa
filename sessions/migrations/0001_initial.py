"""The tables of sessions, their projections and rules."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# How hot rows are stored: room for updates in place, and a queue table that is vacuumed while it is small.
STORAGE = [
    "ALTER TABLE agent_sessions_agentsession SET (fillfactor = 70)",
    "ALTER TABLE agent_sessions_outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)",
    # The catalog keeps no statistics of the token by which an alias is found.
    "ALTER TABLE agent_sessions_agentsession ALTER COLUMN alias_token SET STATISTICS 0",
]


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("people", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentDefinition",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("body", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Beat",
            fields=[
                ("id", models.SmallIntegerField(primary_key=True, serialize=False)),
                ("fence", models.BigIntegerField(default=0)),
                ("alive_at", models.DateTimeField(null=True)),
                ("who", models.CharField(blank=True, max_length=120)),
            ],
        ),
        migrations.CreateModel(
            name="ExportBlock",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "export", "position", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("export", models.UUIDField()),
                ("position", models.IntegerField()),
                ("number", models.IntegerField()),
                ("data", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="NoticeRuleVersion",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "rule", "version", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("rule", models.UUIDField()),
                ("version", models.IntegerField()),
                ("definition", models.JSONField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="NoticeWishes",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("email", models.CharField(blank=True, max_length=254)),
                (
                    "off",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=8), default=list, size=None
                    ),
                ),
                ("quiet", models.JSONField(default=dict)),
                ("sound", models.BooleanField(default=False)),
                ("desktop", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="Outbox",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("session", models.UUIDField()),
                ("team", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("first", models.BigIntegerField(db_default=-1)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="RecordedState",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session", "upto", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("session", models.UUIDField()),
                ("upto", models.BigIntegerField()),
                ("entry", models.BigIntegerField()),
                ("form", models.CharField(max_length=16)),
                ("sealed", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="ServerLook",
            fields=[
                ("server", models.CharField(max_length=20, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("problem", models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name="Slot",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "scope", "number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("scope", models.CharField(max_length=120)),
                ("number", models.IntegerField()),
                ("session", models.UUIDField()),
                ("call", models.CharField(blank=True, max_length=200)),
                ("until", models.DateTimeField()),
                ("holder", models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Snapshot",
            fields=[
                ("session", models.UUIDField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField()),
                ("form", models.CharField(db_default="", max_length=16)),
                ("parts", models.IntegerField(db_default=0)),
                ("sealed", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Taught",
            fields=[
                ("session", models.UUIDField(primary_key=True, serialize=False)),
                ("seq", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="TeamQuiet",
            fields=[
                (
                    "team",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="people.team",
                    ),
                ),
                ("quiet", models.JSONField(default=dict)),
                ("changed_by", models.CharField(max_length=60)),
                ("changed_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="TeamRuleVersion",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "rule", "version", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("rule", models.UUIDField()),
                ("version", models.IntegerField()),
                ("definition", models.JSONField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="TriggerVersion",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "trigger", "version", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("trigger", models.UUIDField()),
                ("version", models.IntegerField()),
                ("definition", models.JSONField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Viewed",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "view", "session", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("view", models.UUIDField()),
                ("session", models.UUIDField()),
                ("team", models.UUIDField()),
                ("first", models.BigIntegerField()),
                ("last", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="AccessLine",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "log", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("log", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("tenant", models.UUIDField()),
                ("reader", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("kind", models.CharField(max_length=30)),
                ("about", django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                ("teams", django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["tenant", "-at"], name="access_newest"),
                    models.Index(fields=["reader", "-at"], name="access_reader"),
                    django.contrib.postgres.indexes.GinIndex(fields=["about"], name="access_about"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentSession",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("kid", models.UUIDField()),
                ("agent", models.CharField(max_length=60)),
                ("channel", models.CharField(max_length=20)),
                ("alias_token", models.BinaryField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("idle", "idle"),
                            ("expired", "expired"),
                            ("planning", "planning"),
                            ("executing", "executing"),
                            ("waiting_feedback", "waiting_feedback"),
                            ("paused", "paused"),
                            ("done", "done"),
                            ("failed", "failed"),
                            ("cancelled", "cancelled"),
                        ],
                        max_length=20,
                    ),
                ),
                ("waiting_for", models.CharField(blank=True, max_length=10)),
                ("seq", models.BigIntegerField()),
                ("epoch", models.BigIntegerField(default=0)),
                ("tier", models.SmallIntegerField(default=0)),
                ("open_requests", models.SmallIntegerField(default=0)),
                ("opened_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("fork_of", models.UUIDField(null=True)),
                ("parent", models.UUIDField(null=True)),
                ("delivered", models.BooleanField(db_default=False)),
                ("taken_by", models.CharField(blank=True, db_default="", max_length=60)),
                ("taken_at", models.DateTimeField(null=True)),
                ("wanted_at", models.DateTimeField(null=True)),
                ("assigned_to", models.CharField(blank=True, db_default="", max_length=60)),
                ("card", models.BinaryField()),
                ("ready_at", models.DateTimeField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("fence", models.BigIntegerField(default=0)),
                ("holder", models.IntegerField(null=True)),
                ("stalled", models.CharField(blank=True, db_default="", max_length=120)),
                ("stalled_at", models.DateTimeField(null=True)),
                ("stalls", models.SmallIntegerField(db_default=0)),
                ("stuck", models.SmallIntegerField(db_default=0)),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Alert",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("session", models.UUIDField(null=True)),
                ("rule", models.CharField(blank=True, max_length=60)),
                ("name", models.CharField(max_length=60)),
                ("version", models.IntegerField()),
                ("severity", models.CharField(max_length=8)),
                ("why", models.CharField(max_length=60)),
                ("about", models.CharField(blank=True, max_length=200)),
                ("seq", models.BigIntegerField(default=-1)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("acknowledged", "Acknowledged"), ("closed", "Closed")],
                        max_length=12,
                    ),
                ),
                (
                    "to",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=80), size=None),
                ),
                ("step", models.SmallIntegerField(default=0)),
                ("chain", models.JSONField(default=list)),
                ("raised_seq", models.BigIntegerField(default=-1)),
                ("raised_at", models.DateTimeField()),
                ("escalates_at", models.DateTimeField(null=True)),
                ("held_by", models.CharField(blank=True, max_length=60)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("closed_at", models.DateTimeField(null=True)),
                ("closed_by", models.CharField(blank=True, max_length=60)),
                ("cause", models.CharField(blank=True, max_length=60)),
                ("hits", models.IntegerField(db_default=1)),
                ("hit_at", models.DateTimeField(null=True)),
                ("hit_seq", models.BigIntegerField(db_default=-1)),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AlertWatch",
            fields=[
                ("session", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("team", models.UUIDField()),
                ("seen", models.BigIntegerField()),
                ("upto", models.BigIntegerField()),
                ("due_at", models.DateTimeField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("attempts", models.SmallIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="alert_watch_due"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ApprovalRequest",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "pending"),
                            ("approved", "approved"),
                            ("edited", "edited"),
                            ("rejected", "rejected"),
                            ("responded", "responded"),
                            ("ignored", "ignored"),
                            ("expired", "expired"),
                            ("withdrawn", "withdrawn"),
                            ("superseded", "superseded"),
                            ("failed", "failed"),
                            ("unopposed", "unopposed"),
                        ],
                        max_length=12,
                    ),
                ),
                ("tier", models.SmallIntegerField()),
                ("quorum", models.SmallIntegerField()),
                ("approvals", models.SmallIntegerField(default=0)),
                ("approvers_missing", models.SmallIntegerField(db_default=0)),
                ("tool", models.CharField(max_length=100)),
                ("rule", models.CharField(max_length=100)),
                ("policy", models.CharField(max_length=100)),
                ("asked_seq", models.BigIntegerField()),
                ("asked_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("decided_by", models.CharField(blank=True, max_length=60)),
                ("execution", models.CharField(blank=True, db_default="", max_length=12)),
                ("assigned_to", models.CharField(blank=True, db_default="", max_length=60)),
                ("kid", models.UUIDField(null=True)),
                ("held_until", models.DateTimeField(null=True)),
                ("escalates_at", models.DateTimeField(null=True)),
                ("reviewers", models.JSONField(default=list)),
                (
                    "excluded",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=60), default=list, size=None
                    ),
                ),
                ("escalated", models.SmallIntegerField(db_default=0)),
                ("claimed_by", models.CharField(blank=True, db_default="", max_length=60)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("card", models.BinaryField()),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="requests",
                        to="agent_sessions.agentsession",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CustomerProfile",
            fields=[
                ("log", models.UUIDField(primary_key=True, serialize=False)),
                ("kid", models.UUIDField(unique=True)),
                ("seq", models.BigIntegerField()),
                ("opened_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("sealed", models.BinaryField()),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Disclosure",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("session", models.UUIDField()),
                ("what", models.CharField(max_length=10)),
                ("first", models.BigIntegerField()),
                ("last", models.BigIntegerField()),
                ("pointer", models.CharField(blank=True, max_length=200)),
                ("reason", models.BinaryField()),
                ("kid", models.UUIDField()),
                ("token", models.BinaryField(null=True, unique=True)),
                ("made_by", models.CharField(max_length=60)),
                ("made_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(null=True)),
                ("revoked_by", models.CharField(blank=True, max_length=60)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("opened", models.IntegerField(default=0)),
                ("opened_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("filter", models.JSONField()),
                ("masked", models.BooleanField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("building", "Building"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                            ("expired", "Expired"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("problem", models.CharField(blank=True, max_length=60)),
                ("total", models.IntegerField()),
                ("built", models.IntegerField(default=0)),
                ("size", models.BigIntegerField(default=0)),
                ("asked_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("mapped", models.BigIntegerField(null=True)),
                ("checkpoint", models.BinaryField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("fence", models.BigIntegerField(default=0)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ExportPart",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "export", "position", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("export", models.UUIDField()),
                ("position", models.IntegerField()),
                ("session", models.UUIDField()),
                ("team", models.UUIDField()),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("built", "Built"), ("erased", "Erased")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("entries", models.BigIntegerField()),
                ("index", models.BigIntegerField(null=True)),
                ("siblings", models.BinaryField(null=True)),
                ("size", models.BigIntegerField(default=0)),
                ("crc", models.BigIntegerField(default=0)),
                ("sha256", models.BinaryField(null=True)),
                (
                    "kids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                ("wrapped", models.BinaryField(null=True)),
                ("row", models.BinaryField(null=True)),
            ],
            options={
                "indexes": [django.contrib.postgres.indexes.GinIndex(fields=["kids"], name="export_part_subjects")],
            },
        ),
        migrations.CreateModel(
            name="LevelClock",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("team", models.UUIDField()),
                ("session", models.UUIDField()),
                ("agent", models.CharField(max_length=60)),
                ("target", models.UUIDField()),
                ("version", models.IntegerField()),
                ("name", models.CharField(max_length=60)),
                ("what", models.CharField(max_length=16)),
                ("about", models.CharField(blank=True, max_length=60)),
                ("seq", models.BigIntegerField()),
                ("upto", models.BigIntegerField()),
                ("allowed", models.IntegerField()),
                ("started_at", models.DateTimeField()),
                ("since", models.DateTimeField(null=True)),
                ("spent", models.BigIntegerField(default=0)),
                ("risk_at", models.DateTimeField(null=True)),
                ("missed_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        choices=[("running", "Running"), ("met", "Met"), ("missed", "Missed"), ("void", "Void")],
                        default="running",
                        max_length=8,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session", "seq"], name="level_of_session"),
                    models.Index(fields=["team", "started_at"], name="level_of_team"),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True), ("missed_at__isnull", False)),
                        fields=["team", "missed_at"],
                        name="level_running",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("team", models.UUIDField()),
                ("rule", models.UUIDField(null=True)),
                ("version", models.IntegerField(default=0)),
                ("kind", models.CharField(max_length=60)),
                ("severity", models.CharField(blank=True, max_length=8)),
                ("actor", models.CharField(blank=True, max_length=60)),
                ("about", models.UUIDField(null=True)),
                ("about_seq", models.BigIntegerField(null=True)),
                ("thing", models.CharField(blank=True, max_length=10)),
                ("thing_id", models.UUIDField(null=True)),
                ("key", models.CharField(blank=True, max_length=64)),
                ("count", models.IntegerField(default=1)),
                (
                    "state",
                    models.CharField(
                        choices=[("new", "New"), ("open", "Open"), ("ended", "Ended")], default="new", max_length=6
                    ),
                ),
                ("why", models.CharField(blank=True, max_length=40)),
                ("step", models.SmallIntegerField(default=0)),
                ("at", models.DateTimeField()),
                ("next_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("attempts", models.SmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("next_at__isnull", False)), fields=["next_at"], name="notice_due"),
                    models.Index(condition=models.Q(("state", "new")), fields=["rule"], name="notice_waiting"),
                    models.Index(fields=["rule", "-at"], name="notice_newest"),
                    models.Index(
                        condition=models.Q(("key", ""), _negated=True), fields=["rule", "key", "at"], name="notice_same"
                    ),
                    models.Index(condition=models.Q(("about__isnull", False)), fields=["about"], name="notice_about"),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", False)), fields=["ended_at"], name="notice_old"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NoticeAttempt",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("message", models.UUIDField()),
                ("at", models.DateTimeField()),
                ("took", models.IntegerField()),
                ("status", models.SmallIntegerField(default=0)),
                ("why", models.CharField(blank=True, max_length=40)),
                ("answer", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [models.Index(fields=["message", "at"], name="attempt_message")],
            },
        ),
        migrations.CreateModel(
            name="NoticeDelivery",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("notice", models.UUIDField()),
                ("team", models.UUIDField()),
                ("way", models.CharField(max_length=8)),
                ("person", models.UUIDField(null=True)),
                ("endpoint", models.UUIDField(null=True)),
                (
                    "others",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=70), default=list, size=None
                    ),
                ),
                ("severity", models.CharField(max_length=8)),
                ("silent", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[("due", "Due"), ("sent", "Sent"), ("failed", "Failed"), ("passed", "Passed")],
                        default="due",
                        max_length=6,
                    ),
                ),
                ("why", models.CharField(blank=True, max_length=40)),
                ("bundle", models.CharField(blank=True, max_length=120)),
                ("message", models.UUIDField(null=True)),
                ("count", models.IntegerField(default=1)),
                ("at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("read_at", models.DateTimeField(null=True)),
                ("attempts", models.SmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("state", "due")), fields=["due_at"], name="delivery_due"),
                    models.Index(
                        condition=models.Q(("lease_until__isnull", False)),
                        fields=["lease_until"],
                        name="delivery_leased",
                    ),
                    models.Index(
                        condition=models.Q(("state", "due"), models.Q(("bundle", ""), _negated=True)),
                        fields=["bundle"],
                        name="delivery_bundle",
                    ),
                    models.Index(
                        condition=models.Q(("message__isnull", False)), fields=["message"], name="delivery_message"
                    ),
                    models.Index(fields=["notice"], name="delivery_notice"),
                    models.Index(
                        condition=models.Q(("way", "webhook")), fields=["endpoint", "-at"], name="delivery_endpoint"
                    ),
                    models.Index(fields=["person", "way", "-at"], name="delivery_person"),
                    models.Index(
                        condition=models.Q(("read_at__isnull", True), ("way", "in_app")),
                        fields=["person"],
                        name="delivery_unread",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NoticeEndpoint",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("url", models.CharField(max_length=500)),
                ("secret", models.CharField(max_length=64)),
                ("version", models.IntegerField()),
                ("on", models.BooleanField(default=True)),
                ("off_why", models.CharField(blank=True, max_length=40)),
                ("failing_since", models.DateTimeField(null=True)),
                ("well_at", models.DateTimeField(null=True)),
                ("changed_by", models.CharField(max_length=60)),
                ("changed_at", models.DateTimeField()),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="NoticeRule",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("version", models.IntegerField()),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), size=None),
                ),
                ("agent", models.CharField(blank=True, max_length=60)),
                ("on", models.BooleanField(default=True)),
                ("since", models.DateTimeField()),
                ("changed_by", models.CharField(max_length=60)),
                ("changed_at", models.DateTimeField()),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="OfferedTool",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("server", models.CharField(max_length=20)),
                ("tool", models.CharField(max_length=128)),
                ("version", models.IntegerField()),
                ("digest", models.CharField(max_length=64)),
                ("offer", models.JSONField()),
                ("current", models.BooleanField()),
                ("offered_at", models.DateTimeField()),
                (
                    "answer",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("accepted", "Accepted"), ("refused", "Refused")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("answered_by", models.CharField(blank=True, max_length=60)),
                ("answered_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("server", "tool", "version"), name="offered_tool_version"),
                    models.UniqueConstraint(fields=("server", "tool", "digest"), name="offered_tool_digest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="OpenView",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant", models.UUIDField()),
                ("reader", models.CharField(max_length=60)),
                ("page", models.CharField(max_length=20)),
                ("topic", models.CharField(max_length=60)),
                ("held", models.BooleanField(db_default=False)),
                ("opened_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["reader", "topic"], name="view_reader"),
                    models.Index(fields=["seen_at"], name="view_seen"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Proposal",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=40)),
                ("permission", models.CharField(max_length=30)),
                ("teams", django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                ("details", models.JSONField()),
                ("kid", models.UUIDField()),
                ("reason", models.BinaryField()),
                ("content", models.BinaryField(default=b"")),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("answer_by", models.DateTimeField()),
                ("second_person", models.BooleanField()),
                ("delay", models.IntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("agreed", "Agreed"),
                            ("carried_out", "Carried Out"),
                            ("rejected", "Rejected"),
                            ("withdrawn", "Withdrawn"),
                            ("outdated", "Outdated"),
                        ],
                        max_length=12,
                    ),
                ),
                ("due_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(blank=True, max_length=60)),
                ("ended_why", models.CharField(blank=True, max_length=60)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="LibraryVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=200)),
                ("digest", models.CharField(max_length=64)),
                ("files", models.BinaryField()),
                ("origin", models.CharField(max_length=400)),
                ("at", models.DateTimeField()),
                (
                    "proposal",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="agent_sessions.proposal",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ProposalAnswer",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("agrees", models.BooleanField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("reason", models.BinaryField()),
                ("for_team", models.BooleanField()),
                (
                    "proposal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answers",
                        to="agent_sessions.proposal",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SavedPlan",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=80)),
                ("version", models.IntegerField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("kid", models.UUIDField()),
                ("sealed", models.BinaryField()),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Skill",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("skill", models.CharField(max_length=60)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SkillWanted",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "by",
                    models.CharField(
                        choices=[("tool", "Tool"), ("agent", "Agent"), ("channel", "Channel")], max_length=10
                    ),
                ),
                ("value", models.CharField(max_length=100)),
                ("skill", models.CharField(max_length=60)),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="people.team"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SnapshotPart",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("session", models.UUIDField()),
                ("number", models.IntegerField()),
                ("kid", models.UUIDField(null=True)),
                ("sealed", models.BinaryField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("session", "number"), name="snapshot_part_number")],
            },
        ),
        migrations.CreateModel(
            name="StandingGrant",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("scope", models.CharField(max_length=8)),
                ("agent", models.CharField(max_length=60)),
                ("kid", models.UUIDField()),
                ("tool", models.CharField(max_length=200)),
                ("given_in", models.UUIDField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("uses", models.IntegerField()),
                ("used", models.IntegerField(default=0)),
                ("revoked_by", models.CharField(blank=True, max_length=60)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("rolled_back", models.BooleanField(db_default=False)),
                ("sealed", models.BinaryField()),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Stop",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "scope",
                    models.CharField(
                        choices=[("everything", "Everything"), ("agent", "Agent"), ("tool", "Tool"), ("team", "Team")],
                        max_length=10,
                    ),
                ),
                ("value", models.CharField(blank=True, max_length=100)),
                ("sealed_reason", models.BinaryField()),
                ("by", models.CharField(max_length=60)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("lifted_by", models.CharField(blank=True, db_default="", max_length=60)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("sealed_lifted_why", models.BinaryField(null=True)),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TeamRule",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "what",
                    models.CharField(
                        choices=[("rule", "Rule"), ("target", "Target"), ("calendar", "Calendar")], max_length=8
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("version", models.IntegerField()),
                ("on", models.BooleanField(default=True)),
                ("since", models.DateTimeField()),
                ("changed_by", models.CharField(max_length=60)),
                ("changed_at", models.DateTimeField()),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Trigger",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("version", models.IntegerField()),
                ("source", models.CharField(max_length=8)),
                ("watch", models.CharField(blank=True, max_length=60)),
                ("on", models.BooleanField(default=True)),
                ("off_why", models.CharField(blank=True, max_length=40)),
                ("since", models.DateTimeField()),
                ("next_at", models.DateTimeField(null=True)),
                ("changed_by", models.CharField(max_length=60)),
                ("changed_at", models.DateTimeField()),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TriggerFiring",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("trigger", models.UUIDField()),
                ("version", models.IntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("due", "Due"),
                            ("fired", "Fired"),
                            ("passed", "Passed"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                        ],
                        default="due",
                        max_length=8,
                    ),
                ),
                ("why", models.CharField(blank=True, max_length=60)),
                ("about", models.UUIDField(null=True)),
                ("about_seq", models.BigIntegerField(null=True)),
                ("session", models.UUIDField(null=True)),
                ("at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("attempts", models.SmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("kid", models.UUIDField(null=True)),
                ("sealed", models.BinaryField(default=b"")),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("state", "due")), fields=["due_at"], name="firing_due"),
                    models.Index(fields=["trigger", "-at"], name="firing_newest"),
                    models.Index(
                        condition=models.Q(("state", "fired")), fields=["trigger", "ended_at"], name="firing_fired"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Watch",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=40, unique=True)),
                ("database", models.CharField(max_length=40)),
                ("table", models.CharField(max_length=130)),
                (
                    "keys",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=63), size=None),
                ),
                ("installed_at", models.DateTimeField()),
                ("polled_at", models.DateTimeField(null=True)),
                ("trouble", models.CharField(blank=True, max_length=60)),
                ("lag", models.IntegerField(default=0)),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.team"),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(
                condition=models.Q(("ready_at__isnull", False)), fields=["team", "ready_at"], name="session_turn"
            ),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(condition=models.Q(("holder__isnull", False)), fields=["holder"], name="session_holder"),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(
                condition=models.Q(("stalled", ""), _negated=True),
                fields=["stalled", "stalled_at"],
                name="session_stalled",
            ),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(condition=models.Q(("stuck__gt", 0)), fields=["team"], name="session_stuck"),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(fields=["team", "opened_at"], name="session_team_opened"),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(condition=models.Q(("ended_at__isnull", True)), fields=["team"], name="session_live"),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(
                condition=models.Q(
                    ("ended_at__isnull", True),
                    models.Q(
                        ("open_requests__gt", 0), ("status", "failed"), ("wanted_at__isnull", False), _connector="OR"
                    ),
                ),
                fields=["team", "-tier", "opened_at"],
                name="session_urgent",
            ),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(fields=["kid"], name="session_customer"),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(
                condition=models.Q(("wanted_at__isnull", False)), fields=["team", "wanted_at"], name="session_wanted"
            ),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(
                condition=models.Q(("taken_by", ""), _negated=True), fields=["taken_by"], name="session_taken"
            ),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(
                condition=models.Q(("assigned_to", ""), _negated=True), fields=["assigned_to"], name="session_assigned"
            ),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(
                condition=models.Q(("delivered", False), ("parent__isnull", False)),
                fields=["parent"],
                name="session_undelivered",
            ),
        ),
        migrations.AddIndex(
            model_name="agentsession",
            index=models.Index(
                condition=models.Q(("fork_of__isnull", False)), fields=["fork_of"], name="session_forks"
            ),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                condition=models.Q(("state", "closed"), _negated=True),
                fields=["team", "raised_at"],
                name="alert_standing",
            ),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                condition=models.Q(("escalates_at__isnull", False)), fields=["escalates_at"], name="alert_escalates"
            ),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(fields=["session", "rule", "-raised_at"], name="alert_of_session"),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(fields=["team", "-raised_at"], name="alert_newest"),
        ),
        migrations.AddConstraint(
            model_name="alert",
            constraint=models.UniqueConstraint(
                condition=models.Q(("session__isnull", True), models.Q(("state", "closed"), _negated=True)),
                fields=("team", "name", "about"),
                name="alert_of_team_once",
            ),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(
                condition=models.Q(("state", "pending")), fields=["team", "expires_at"], name="request_pending"
            ),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(condition=models.Q(("state", "pending")), fields=["expires_at"], name="request_due"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["team", "-ended_at"], name="request_ended"),
        ),
        migrations.AddIndex(
            model_name="approvalrequest",
            index=models.Index(fields=["session"], name="request_session"),
        ),
        migrations.AddIndex(
            model_name="disclosure",
            index=models.Index(fields=["session", "-made_at"], name="disclosure_newest"),
        ),
        migrations.AddIndex(
            model_name="export",
            index=models.Index(fields=["user", "-asked_at"], name="export_newest"),
        ),
        migrations.AddIndex(
            model_name="export",
            index=models.Index(
                condition=models.Q(("state__in", ["waiting", "building", "done"])),
                fields=["asked_at"],
                name="export_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="noticeendpoint",
            constraint=models.UniqueConstraint(fields=("team", "name"), name="notice_endpoint_name"),
        ),
        migrations.AddIndex(
            model_name="noticerule",
            index=models.Index(condition=models.Q(("on", True)), fields=["team"], name="notice_rule_on"),
        ),
        migrations.AddConstraint(
            model_name="noticerule",
            constraint=models.UniqueConstraint(fields=("team", "name"), name="notice_rule_name"),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                condition=models.Q(("state__in", ("open", "agreed"))), fields=["due_at"], name="proposal_due"
            ),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(fields=["kid"], name="proposal_subject"),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(fields=["tenant", "-at"], name="proposal_newest"),
        ),
        migrations.AddIndex(
            model_name="libraryversion",
            index=models.Index(fields=["kind", "name", "-id"], name="library_newest"),
        ),
        migrations.AddConstraint(
            model_name="libraryversion",
            constraint=models.UniqueConstraint(
                condition=models.Q(("proposal", None)), fields=("kind", "name"), name="library_first_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="savedplan",
            constraint=models.UniqueConstraint(fields=("team", "name", "version"), name="saved_plan_version"),
        ),
        migrations.AddConstraint(
            model_name="skill",
            constraint=models.UniqueConstraint(fields=("user", "skill"), name="skill_once"),
        ),
        migrations.AddConstraint(
            model_name="skillwanted",
            constraint=models.UniqueConstraint(fields=("team", "by", "value", "skill"), name="skill_wanted_once"),
        ),
        migrations.AddIndex(
            model_name="standinggrant",
            index=models.Index(fields=["team", "kid", "-at"], name="standing_customer"),
        ),
        migrations.AddIndex(
            model_name="standinggrant",
            index=models.Index(
                condition=models.Q(("scope", "agent")), fields=["team", "agent", "-at"], name="standing_agent"
            ),
        ),
        migrations.AddConstraint(
            model_name="stop",
            constraint=models.UniqueConstraint(
                condition=models.Q(("lifted_at__isnull", True)), fields=("team", "scope", "value"), name="stop_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="teamrule",
            constraint=models.UniqueConstraint(fields=("team", "what", "name"), name="team_rule_name"),
        ),
        migrations.AddIndex(
            model_name="trigger",
            index=models.Index(condition=models.Q(("on", True)), fields=["source", "team"], name="trigger_on"),
        ),
        migrations.AddIndex(
            model_name="trigger",
            index=models.Index(
                condition=models.Q(("next_at__isnull", False), ("on", True)), fields=["next_at"], name="trigger_next"
            ),
        ),
        migrations.AddConstraint(
            model_name="trigger",
            constraint=models.UniqueConstraint(fields=("team", "name"), name="trigger_name"),
        ),
        migrations.RunSQL(STORAGE),
    ]
