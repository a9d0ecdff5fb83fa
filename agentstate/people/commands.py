"""Every write about people. Each is permission, change and trail in one transaction.

`by` is who asks: a signed-in user, who needs `configure`, or None for somebody at the machine itself
(manage.py).
"""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from agentstate.errors import Invalid
from agentstate.people import live, secret, trail
from agentstate.people.errors import AccountDisabled, NameTaken, OwnAccount, WeakPassword
from agentstate.people.models import ApiToken, Membership, SignInLink, Team, Tenant, User
from agentstate.people.permissions import PermissionDenied, require, teams_with
from agentstate.people.roles import Permission, Role

LINK_LIFE = timedelta(minutes=10)


@transaction.atomic
def create_team(*, tenant: Tenant, slug: str, name: str, by: User | None) -> Team:
    """The team with this slug, made if there is none. Its maker, if a user, becomes its admin."""
    if by is not None and not teams_with(by, Permission.CONFIGURE):
        raise _denied()
    team, created = Team.objects.get_or_create(tenant=tenant, slug=slug, defaults={"name": name})
    if created:
        trail.record("team.created", by, None, team=str(team.pk))
        if by is not None:
            _join(by, team, Role.ADMIN, by)
    return team


@transaction.atomic
def create_user(
    *, tenant: Tenant, username: str, display_name: str = "", password: str | None, by: User | None
) -> User:
    """A new account without any role. `password` None: it can sign in by link or token only.

    Raises Invalid (the name), WeakPassword, NameTaken, PermissionDenied.
    """
    if by is not None and not teams_with(by, Permission.CONFIGURE):
        raise _denied()
    name = User.normalize_username(username)
    user = User(tenant=tenant, username=name, display_name=display_name or name)
    _set_password(user, password)
    try:
        user.clean_fields()
        with transaction.atomic():
            user.save(force_insert=True)
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise Invalid(f"{field}: {' '.join(messages)}", field=field) from error
    except IntegrityError as error:
        raise NameTaken(f"Got {name!r}.") from error
    trail.record("person.created", by, user)
    return user


@transaction.atomic
def set_password(user: User, password: str, by: User | None) -> None:
    """A new password. It ends the person's browser sessions: their hash contains the old one."""
    _require_may_administer(by, user)
    _set_password(user, password)
    user.save(update_fields=["password"])
    trail.record("person.password_changed", by, user)
    live.close_sockets_on_commit(user.pk, user.channel_group)


@transaction.atomic
def grant_role(user: User, team: Team, role: Role, by: User | None) -> None:
    """Give `user` a role in `team`; nothing happens if they have it. Raises PermissionDenied, OwnAccount."""
    require_may_configure(by, user, team)
    _join(user, team, role, by)


@transaction.atomic
def remove_role(user: User, team: Team, role: Role, by: User | None) -> None:
    """Take a role away. Their sockets close, and open again only for what they may still see."""
    require_may_configure(by, user, team)
    removed, _ = Membership.objects.filter(user=user, team=team, role=role).delete()
    if removed:
        trail.record("role.removed", by, user, role=role.value, team=str(team.pk))
        live.close_sockets_on_commit(user.pk, user.channel_group)


@transaction.atomic
def disable(user: User, by: User | None) -> None:
    """End every way in: browser sessions, tokens, sign-in links and open sockets. Disabling twice is once.

    Sessions die by the raised epoch, also for the day the account is enabled again. Sockets are told after
    the commit; a crash just before that leaves them open without permission to read anything further.
    """
    _require_may_administer(by, user)
    active = User.objects.filter(pk=user.pk, is_active=True)
    if not active.update(is_active=False, session_epoch=F("session_epoch") + 1):
        return
    tokens = ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=Now())
    SignInLink.objects.filter(user=user, used_at=None).delete()
    trail.record("person.disabled", by, user, tokens=tokens)
    live.close_sockets_on_commit(user.pk, user.channel_group)


@transaction.atomic
def enable(user: User, by: User | None) -> None:
    """Let somebody sign in again. Old sessions, tokens and links stay ended."""
    _require_may_administer(by, user)
    if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
        trail.record("person.enabled", by, user)


@transaction.atomic
def issue_token(user: User, name: str, by: User | None) -> str:
    """The text of a new API token of `user`, given here and never again. People make their own only."""
    if by is not None and by.pk != user.pk:
        raise PermissionDenied("A token can only be made for oneself.")
    _lock_active(user)
    text = secret.new_token()
    token = ApiToken.objects.create(tenant_id=user.tenant_id, user=user, name=name, digest=secret.digest(text))
    trail.record("token.created", by, user, token=str(token.pk))
    return text


@transaction.atomic
def revoke_token(token: ApiToken, by: User | None) -> None:
    """End one token: its owner may, and whoever administers the owner."""
    if by is None or by.pk != token.user_id:
        _require_may_administer(by, token.user)
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()):
        trail.record("token.revoked", by, token.user, token=str(token.pk))


@transaction.atomic
def issue_sign_in_link(user: User) -> str:
    """The secret part of a link that signs `user` in once within ten minutes. For the machine itself only:
    whoever makes one can become that person."""
    _lock_active(user)
    text = secret.new_link()
    SignInLink.objects.create(
        tenant_id=user.tenant_id, user=user, digest=secret.digest(text), expires=Now() + LINK_LIFE
    )
    trail.record("sign_in_link.created", None, user)
    return text


def use_sign_in_link(text: str) -> User | None:
    """The person this link signs in, if nobody used it before; None otherwise. Of two at once, one gets it.

    A crash right after leaves the link used and nobody signed in: a new link is needed.
    """
    # No condition here may follow a relation: Django would move them all into a subquery, which PostgreSQL
    # does not look at again after waiting for the other's update, and both would win.
    unused = SignInLink.objects.filter(digest=secret.digest(text), used_at=None, expires__gt=Now())
    if not unused.update(used_at=Now()):
        return None
    return User.objects.filter(sign_in_links__digest=secret.digest(text), is_active=True).first()


def _join(user: User, team: Team, role: Role, by: User | None) -> None:
    _, created = Membership.objects.get_or_create(
        user=user, team=team, role=role.value, defaults={"tenant_id": user.tenant_id}
    )
    if created:
        trail.record("role.granted", by, user, role=role.value, team=str(team.pk))


def _set_password(user: User, password: str | None) -> None:
    if password is None:
        user.set_unusable_password()
        return
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise WeakPassword(" ".join(error.messages), field="password") from error
    user.set_password(password)


def _lock_active(user: User) -> None:
    # The lock orders this against `disable`, so that nothing issued meanwhile outlives it.
    if not User.objects.select_for_update().filter(pk=user.pk, is_active=True).exists():
        raise AccountDisabled(f"Got user {user.username!r}.")


def require_may_configure(by: User | None, user: User, team: Team) -> None:
    """Return if `by`, or the machine itself, sets up what `user` may in `team`; never for themselves. Raises
    PermissionDenied, OwnAccount.
    """
    if by is None:
        return
    if by.pk == user.pk:
        raise OwnAccount()
    require(by, Permission.CONFIGURE, team)


def _require_may_administer(by: User | None, user: User) -> None:
    """Whoever configures all the teams of `user` may; for somebody without a team, whoever configures any."""
    if by is None:
        return
    if by.pk == user.pk:
        raise OwnAccount()
    mine = set(teams_with(by, Permission.CONFIGURE))
    theirs = set(user.memberships.values_list("team_id", flat=True))
    if not mine or not theirs <= mine:
        raise _denied()


def _denied() -> PermissionDenied:
    needed = Permission.CONFIGURE.value
    return PermissionDenied(f"This needs the permission {needed}.", permission=needed)
