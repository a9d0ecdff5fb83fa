"""`manage.py demo_accounts`: the people of the demo, with random passwords, and its API client.

Run by `up --demo`, never otherwise. It may run again: what exists stays as it is, and passwords are printed
only by the run that made them. They stand in STATE_DIR/demo/accounts.json, the client's token in
STATE_DIR/demo/callers.token (both 0600). A file is written before the commit of what it opens: a crash in
between leaves a key without a lock, which the next run puts right, and never a lock without a key.
"""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction

from agentstate.clock import now
from agentstate.people import commands, deputies, grants
from agentstate.people.management.at_the_machine import PeopleCommand, write_secret
from agentstate.people.models import ApiToken, Team, Tenant, User
from agentstate.people.queries import live_token, the_tenant
from agentstate.people.roles import GRANTABLE, Role
from agentstate.people.secret import new_password


class Account(NamedTuple):
    username: str
    display_name: str
    roles: tuple[Role, ...]
    teams: tuple[str, ...]
    deputy_of: str = ""


AUDIT = timedelta(days=90)  # how long the demo's auditor may look
TEAMS = {"retail": "Retail banking", "cards": "Card services"}
PEOPLE = (  # the caller has an account of its own: a person who speaks as the customer approves nothing there
    Account("supervisor", "Maya Okafor", (Role.SUPERVISOR,), ("retail",)),
    Account("customer", "Ines Duarte", (Role.CALLER,), ("retail",)),
    Account("second", "Priya Raman", (Role.SUPERVISOR,), ("retail",)),
    Account("auditor", "Jonas Lindqvist", (Role.AUDITOR,), ("retail", "cards")),
    Account("admin", "Sofia Marques", (Role.ADMIN, Role.INCIDENT_MANAGER), ("retail", "cards")),
    Account("privacy", "Helen Osei", (Role.PRIVACY,), ("retail", "cards")),
    Account("viewer", "Tom Ashby", (Role.VIEWER,), ("retail",)),
    Account("deputy", "Amara Nwosu", (Role.SUPERVISOR,), ("cards",), deputy_of="retail"),
)
CALLER = Account("caller", "Demo callers", (Role.CALLER,), ("retail",))


class Command(PeopleCommand):
    help = "Create the demo's teams, users and API client, unless they exist. For `up --demo`."

    def handle(self, *_: Any, **__: Any) -> None:
        folder = Path(settings.STATE_DIR) / "demo"
        made = make_people(folder / "accounts.json")
        make_caller(folder / "callers.token")
        for username, password in made.items():
            self.stdout.write(f"  {username:<12} {password}")
        if not made:
            self.stdout.write(f"  passwords of the demo accounts: {folder / 'accounts.json'}")


@transaction.atomic
def make_people(path: Path) -> dict[str, str]:
    """Create what is missing; return name and password of each account made now. Who exists keeps all."""
    teams = demo_teams(the_tenant())
    missing = [who for who in PEOPLE if not User.objects.filter(username=who.username).exists()]
    if not missing:
        return {}
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    made = {who.username: known.get(who.username) or new_password() for who in missing}
    write_secret(path, json.dumps(known | made, indent=1) + "\n")
    for who in missing:
        make_account(who, teams, made[who.username])
    return made


@transaction.atomic
def make_caller(path: Path) -> None:
    """Create the API client unless it exists; give it a token unless the one in the file is good."""
    user = User.objects.filter(username=CALLER.username).first()
    if user is None:
        user = make_account(CALLER, demo_teams(the_tenant()), None)
    found = live_token(path.read_text(encoding="utf-8").strip()) if path.exists() else None
    if found is None or found.user_id != user.pk:
        for lost in ApiToken.objects.filter(user=user, name="demo callers", revoked_at=None):
            commands.revoke_token(lost, None)
        write_secret(path, commands.issue_token(user, "demo callers", None) + "\n")


def demo_teams(tenant: Tenant) -> dict[str, Team]:
    return {slug: commands.create_team(tenant=tenant, slug=slug, name=name, by=None) for slug, name in TEAMS.items()}


def make_account(who: Account, teams: dict[str, Team], password: str | None) -> User:
    user = commands.create_user(
        tenant=the_tenant(),
        username=who.username,
        display_name=who.display_name,
        password=password,
        by=None,
    )
    for slug, role in product(who.teams, who.roles):
        commands.grant_role(user, teams[slug], role, None)
        if role is Role.AUDITOR:
            grants.give(user, teams[slug], until=now() + AUDIT, reason="The demo's audit.", by=None, kinds=GRANTABLE)
    if who.deputy_of:
        commands.grant_role(user, teams[who.deputy_of], Role.VIEWER, None)
        deputies.name(user.pk, teams[who.deputy_of].pk, None)
    return user
