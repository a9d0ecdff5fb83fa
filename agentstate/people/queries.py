"""Reads about people: the tenant, somebody by name, the owner of a token, the person behind a link."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import BooleanField, Case, Exists, OuterRef, Q, Value, When
from django.db.models.functions import Now

from agentstate.errors import NotFound
from agentstate.people.models import ApiToken, SignInLink, Team, Tenant, User
from agentstate.people.secret import digest

A_MINUTE = timedelta(minutes=1)


def the_tenant() -> Tenant:
    """The one tenant of this installation. Raises Tenant.DoesNotExist before the first `migrate`."""
    return Tenant.objects.get()


def team(slug: str) -> Team:
    """The team with this slug. Raises NotFound, naming the teams there are."""
    found = Team.objects.filter(slug=slug).first()
    if found is None:
        slugs = ", ".join(Team.objects.order_by("slug").values_list("slug", flat=True))
        raise NotFound(f"Got team {slug!r}, want one of: {slugs}.")
    return found


def person(username: str) -> User:
    """The user with this name, in any case. Raises NotFound."""
    found = User.objects.filter(username=User.normalize_username(username)).first()
    if found is None:
        raise NotFound(f"There is no user {username!r}.")
    return found


def live_token(text: str) -> ApiToken | None:
    """The token with this text, its user loaded, unless it is revoked or its user disabled. One query.

    `stale` on it says that its `last_used` is due to be written again.
    """
    due = Q(last_used=None) | Q(last_used__lt=Now() - A_MINUTE)
    stale = Case(When(due, then=Value(True)), default=Value(False), output_field=BooleanField())
    tokens = ApiToken.objects.select_related("user").annotate(stale=stale)
    return tokens.filter(digest=digest(text), revoked_at=None, user__is_active=True).first()


def open_link(text: str) -> SignInLink | None:
    """The sign-in link with this text while it is unused, unexpired and its person active."""
    links = SignInLink.objects.select_related("user")
    return links.filter(digest=digest(text), used_at=None, expires__gt=Now(), user__is_active=True).first()


def programs(tenant: Tenant) -> list[str]:
    """The actors that are programs: accounts that come with an API token and have no other way in, by password or by a
    link that somebody used.
    """
    links = SignInLink.objects.filter(user=OuterRef("pk"), used_at__isnull=False)
    with_token = User.objects.filter(Exists(ApiToken.objects.filter(user=OuterRef("pk"))), tenant=tenant)
    found = with_token.filter(~Exists(links), password__startswith=UNUSABLE_PASSWORD_PREFIX)
    return [user.actor for user in found.only("pk")]


def display_names(actors: Iterable[str]) -> dict[str, str]:
    """The names behind opaque ids (`user:<uuid>`), for those that are people. One query, none when nobody is."""
    ids = {actor.removeprefix("user:") for actor in actors if actor.startswith("user:")}
    if not ids:
        return {}
    return {f"user:{pk}": name for pk, name in User.objects.filter(pk__in=ids).values_list("pk", "display_name")}
