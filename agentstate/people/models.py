"""Rows of people: tenant, team, user, membership, API token, one-time sign-in link.

Rows and constraints only. Who may do what is permissions.py, every write is commands.py. Names of people live
here and nowhere else: everywhere else a person is the opaque text `user:<uuid>` (`User.actor`).

Instants are set and compared by PostgreSQL's clock, never by a process's.
"""

from __future__ import annotations

import unicodedata
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from agentstate.ids import new_id
from agentstate.people import reasons
from agentstate.people.roles import Role

NAME = RegexValidator(r"\A[a-z0-9][a-z0-9._@-]{0,149}\Z", "lower-case letters, figures and . _ @ - only")


class Tenant(models.Model):
    """The organisation whose installation this is: one row for now, carried by every other row."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200)
    created = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.name


class Team(models.Model):
    """People who see the same sessions. A session belongs to exactly one team."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="teams")
    slug = models.SlugField(max_length=60)
    name = models.CharField(max_length=200)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["tenant", "slug"], name="people_team_slug")]

    def __str__(self) -> str:
        return self.name


class UserManager(BaseUserManager["User"]):
    """Finds people by the name they type, in whatever case."""

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(username=User.normalize_username(username or ""))


class User(AbstractBaseUser):
    """A person, or an API client that acts like one. What they may do hangs on their memberships."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="users")
    username = models.CharField(max_length=150, unique=True, validators=[NAME])
    display_name = models.CharField(max_length=200)
    is_active = models.BooleanField(default=True)  # false ends sessions, tokens and sockets; see commands.disable
    session_epoch = models.PositiveIntegerField(default=0)  # raising it ends every browser session of this person
    created = models.DateTimeField(db_default=Now(), editable=False)

    USERNAME_FIELD = "username"
    objects: ClassVar[UserManager] = UserManager()

    @property
    def actor(self) -> str:
        """How entries name this person: `user:<uuid>`."""
        return f"user:{self.pk}"

    @property
    def channel_group(self) -> str:
        """The channel-layer group that each open socket of this person joins."""
        return f"user.{self.pk}"

    def get_full_name(self) -> str:
        return self.display_name

    @classmethod
    def normalize_username(cls, username: Any) -> str:
        return unicodedata.normalize("NFKC", str(username)).strip().casefold()

    def get_session_auth_hash(self) -> str:
        return self._session_hash(None)

    def get_session_auth_fallback_hash(self) -> Any:
        from django.conf import settings

        return (self._session_hash(secret) for secret in settings.SECRET_KEY_FALLBACKS)

    def _session_hash(self, secret: str | bytes | None) -> str:
        # Carries the epoch beside the password, so that sessions die without anybody looking for them.
        return salted_hmac(
            "agentstate.people.session",
            f"{self.session_epoch}:{self.password}",
            secret=secret,
            algorithm="sha256",
        ).hexdigest()


class Membership(models.Model):
    """One role of one person in one team. Somebody may hold several."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=[(role.value, role.value) for role in Role])
    created = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["user", "team", "role"], name="people_membership_once")
        ]

    def __str__(self) -> str:
        return f"{self.role} in {self.team_id}"


class AccessGrant(models.Model):
    """What an auditor may look at for a while: one team's sessions, all of them or some. It ends by itself.

    Without one the role `auditor` opens nothing; with one it reads and changes nothing.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="grants")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="grants")
    kinds = ArrayField(models.CharField(max_length=20))  # permissions out of `permissions.GRANTABLE`, `see` among them
    sessions = ArrayField(models.UUIDField(), default=list)  # only these; empty: all of the team
    opened_from = models.DateTimeField(null=True)  # only sessions that were opened at this instant or later
    opened_to = models.DateTimeField(null=True)  # and before this one
    starts = models.DateTimeField()
    until = models.DateTimeField()
    given_by = models.CharField(max_length=60)  # an actor's id
    sealed_reason = models.BinaryField()  # under the team's key
    created = models.DateTimeField(db_default=Now(), editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(until__gt=models.F("starts")), name="people_grant_ends")
        ]
        indexes: ClassVar = [models.Index(fields=["user", "until"], name="people_grant_user")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.team_id} until {self.until:%Y-%m-%d}"

    @property
    def reason(self) -> str:
        """The reason in clear; empty once the team's key is destroyed."""
        return reasons.opened(self.sealed_reason)

    @property
    def is_narrow(self) -> bool:
        """Whether it covers only some of the team's sessions."""
        return bool(self.sessions or self.opened_from or self.opened_to)


class Delegation(models.Model):
    """The authority to decide that one person lends another in one team, until an instant. It is worth what the giver
    holds at the moment it is used, and cannot be lent on.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    giver = models.ForeignKey(User, on_delete=models.CASCADE, related_name="delegations_given")
    receiver = models.ForeignKey(User, on_delete=models.CASCADE, related_name="delegations")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    permissions = ArrayField(models.CharField(max_length=20))  # out of `permissions.DELEGABLE`
    sealed_reason = models.BinaryField()  # under the team's key
    until = models.DateTimeField()
    created = models.DateTimeField(db_default=Now(), editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["receiver", "until"], name="people_delegation_receiver")]

    def __str__(self) -> str:
        return f"{self.giver_id} to {self.receiver_id} until {self.until:%Y-%m-%d}"

    @property
    def reason(self) -> str:
        """The reason in clear; empty once the team's key is destroyed."""
        return reasons.opened(self.sealed_reason)


class Deputy(models.Model):
    """A person of another team who may decide this team's requests when too few of its own people can approve them."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="deputies")
    created = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "user"], name="people_deputy_once")]

    def __str__(self) -> str:
        return f"{self.user_id} for {self.team_id}"


class ApiToken(models.Model):
    """A key for the API. Its text is shown once; only the SHA-256 of it is kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created = models.DateTimeField(db_default=Now(), editable=False)
    last_used = models.DateTimeField(null=True, editable=False)  # written at most once a minute
    revoked_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return self.name


class SignInLink(models.Model):
    """A link that signs one person in once, before it expires. Only its SHA-256 is kept."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created = models.DateTimeField(db_default=Now(), editable=False)
    expires = models.DateTimeField(editable=False)
    used_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return str(self.id)


class SignInDelay(models.Model):
    """How many wrong passwords an account, an address or a browser has against it, and whose turn to try comes when."""

    key = models.CharField(max_length=64, primary_key=True)  # a keyed digest, see `attempts`
    level = models.FloatField(db_default=0.0)  # wrong passwords that are not forgotten, as of `at`
    at = models.DateTimeField(db_default=Now())
    opens = models.DateTimeField(null=True)  # from when on the next attempt is read

    class Meta:
        indexes: ClassVar = [models.Index(fields=["at"], name="people_signindelay_at")]

    def __str__(self) -> str:
        return f"{self.level:.1f} at {self.at:%H:%M:%S}"
