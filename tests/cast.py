"""The people of all tests. Plain functions: calling one twice gives the same person.

Team *retail* holds Alice (supervisor), Bob (a second supervisor), Vera (viewer), Anna (auditor), Adam (admin),
Petra and Paul (privacy) and Cleo (the API client on the customers' side). Team *cards* is Charlie's, who supervises
there and must see nothing of retail. They can sign in with a password only after `with_password`.
"""

from __future__ import annotations

import ipaddress
import random
from datetime import timedelta
from typing import Any

from django.test import Client

from agentstate.clock import now
from agentstate.people import commands, grants
from agentstate.people.models import Team, Tenant, User
from agentstate.people.roles import Role

PASSWORD = "a horse that staples 44 batteries"


def tenant() -> Tenant:
    return Tenant.objects.first() or Tenant.objects.create(name="Tests")


def retail() -> Team:
    return commands.create_team(tenant=tenant(), slug="retail", name="Retail banking", by=None)


def cards() -> Team:
    return commands.create_team(tenant=tenant(), slug="cards", name="Card services", by=None)


def person(username: str, role: Role, team: Team) -> User:
    """The user with this name and role, made on the first call."""
    user = User.objects.filter(username=username).first()
    if user is None:
        user = commands.create_user(
            tenant=tenant(), username=username, display_name=username.title(), password=None, by=None
        )
        commands.grant_role(user, team, role, None)
    return user


def alice() -> User:
    return person("alice", Role.SUPERVISOR, retail())


def bob() -> User:
    return person("bob", Role.SUPERVISOR, retail())


def charlie() -> User:
    return person("charlie", Role.SUPERVISOR, cards())


def vera() -> User:
    return person("vera", Role.VIEWER, retail())


def anna() -> User:
    return person("anna", Role.AUDITOR, retail())


def let_in(auditor: User, *kinds: str) -> User:
    """The auditor with a grant of these kinds on the team Retail, for an hour."""
    grants.give(auditor, retail(), until=now() + timedelta(hours=1), kinds=list(kinds), reason="audit", by=None)
    return auditor


def adam() -> User:
    return person("adam", Role.ADMIN, retail())


def petra() -> User:
    return person("petra", Role.PRIVACY, retail())


def paul() -> User:
    return person("paul", Role.PRIVACY, retail())


def cleo() -> User:
    return person("cleo", Role.CALLER, retail())


def with_password(user: User) -> User:
    """The same person, who can now sign in with PASSWORD."""
    commands.set_password(user, PASSWORD, None)
    return user


def token(user: User) -> str:
    """The text of a new API token of `user`."""
    return commands.issue_token(user, "tests", None)


def bearer(user: User) -> dict[str, str]:
    """Headers that call the API as `user`: `client.get(url, headers=bearer(alice()))`."""
    return {"Authorization": f"Bearer {token(user)}"}


def browser(user: User | None = None, **extra: Any) -> Client:
    """A browser at an address of its own (no test meets another's throttle), signed in as `user` if given."""
    client = Client(REMOTE_ADDR=address(), **extra)
    if user is not None:
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def address() -> str:
    """A random address out of 10.0.0.0/8."""
    return str(ipaddress.IPv4Address(0x0A000000 + random.getrandbits(24)))
