"""The tables of people, teams, roles and access."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import agentstate.ids
from agentstate.people.constraints import same_tenant

# A row cannot tie people and teams of two tenants together: the database itself refuses it. By table: foreign keys, and
# the model that each refers to.
SAME_TENANT = {
    "people_membership": {"user": "user", "team": "team"},
    "people_apitoken": {"user": "user"},
    "people_signinlink": {"user": "user"},
    "people_accessgrant": {"user": "user", "team": "team"},
    "people_delegation": {"giver": "user", "receiver": "user", "team": "team"},
    "people_deputy": {"user": "user", "team": "team"},
}


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "username",
                    models.CharField(
                        max_length=150,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z0-9][a-z0-9._@-]{0,149}\\Z", "lower-case letters, figures and . _ @ - only"
                            )
                        ],
                    ),
                ),
                ("display_name", models.CharField(max_length=200)),
                ("is_active", models.BooleanField(default=True)),
                ("session_epoch", models.PositiveIntegerField(default=0)),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Tenant",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=200)),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name="SignInDelay",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("level", models.FloatField(db_default=0.0)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("opens", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["at"], name="people_signindelay_at")],
            },
        ),
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("slug", models.SlugField(max_length=60)),
                ("name", models.CharField(max_length=200)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="teams", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SignInLink",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ("expires", models.DateTimeField(editable=False)),
                ("used_at", models.DateTimeField(editable=False, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sign_in_links",
                        to=settings.AUTH_USER_MODEL,
                    ),
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
            name="Membership",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("viewer", "viewer"),
                            ("supervisor", "supervisor"),
                            ("auditor", "auditor"),
                            ("admin", "admin"),
                            ("privacy", "privacy"),
                            ("privacy_officer", "privacy_officer"),
                            ("caller", "caller"),
                            ("incident_manager", "incident_manager"),
                            ("program", "program"),
                        ],
                        max_length=20,
                    ),
                ),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="people.team"
                    ),
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
            name="Deputy",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deputies", to="people.team"
                    ),
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
            name="Delegation",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "permissions",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), size=None),
                ),
                ("sealed_reason", models.BinaryField()),
                ("until", models.DateTimeField()),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ("revoked_at", models.DateTimeField(editable=False, null=True)),
                (
                    "giver",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="delegations_given",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "receiver",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="delegations",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="people.team"),
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
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=100)),
                ("digest", models.CharField(editable=False, max_length=64, unique=True)),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ("last_used", models.DateTimeField(editable=False, null=True)),
                ("revoked_at", models.DateTimeField(editable=False, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tokens", to=settings.AUTH_USER_MODEL
                    ),
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
            name="AccessGrant",
            fields=[
                (
                    "id",
                    models.UUIDField(default=agentstate.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), size=None),
                ),
                (
                    "sessions",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                ("opened_from", models.DateTimeField(null=True)),
                ("opened_to", models.DateTimeField(null=True)),
                ("starts", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("given_by", models.CharField(max_length=60)),
                ("sealed_reason", models.BinaryField()),
                ("created", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ("revoked_at", models.DateTimeField(editable=False, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="grants", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="grants", to="people.team"
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="people.tenant"
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="user",
            name="tenant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="users", to="people.tenant"
            ),
        ),
        migrations.AddConstraint(
            model_name="team",
            constraint=models.UniqueConstraint(fields=("tenant", "slug"), name="people_team_slug"),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(fields=("user", "team", "role"), name="people_membership_once"),
        ),
        migrations.AddConstraint(
            model_name="deputy",
            constraint=models.UniqueConstraint(fields=("team", "user"), name="people_deputy_once"),
        ),
        migrations.AddIndex(
            model_name="delegation",
            index=models.Index(fields=["receiver", "until"], name="people_delegation_receiver"),
        ),
        migrations.AddIndex(
            model_name="accessgrant",
            index=models.Index(fields=["user", "until"], name="people_grant_user"),
        ),
        migrations.AddConstraint(
            model_name="accessgrant",
            constraint=models.CheckConstraint(
                condition=models.Q(("until__gt", models.F("starts"))), name="people_grant_ends"
            ),
        ),
        *[
            migrations.RunSQL(f"ALTER TABLE {table} ADD CONSTRAINT {table}_in_tenant UNIQUE (id, tenant_id)")
            for table in ("people_user", "people_team")
        ],
        *[same_tenant(table, parents) for table, parents in SAME_TENANT.items()],
    ]
