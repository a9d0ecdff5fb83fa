"""What only somebody at the machine may do to an installation under attack: people, roles, daily tasks.

`python -m tests.attacks.machine` reads a JSON list a line, [name, arguments], and prints the answer as JSON: one
process for the whole run, because starting a management command costs a second of processor time.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from io import StringIO
from typing import Any


def person(name: str, *memberships: str) -> dict[str, str]:
    """Makes an account with roles, each "team:role"; returns its id and a token."""
    from agentstate.people import commands
    from agentstate.people.models import Team
    from agentstate.people.queries import the_tenant
    from agentstate.people.roles import Role

    tenant = the_tenant()
    user = commands.create_user(tenant=tenant, username=name, display_name=name.title(), password=None, by=None)
    for membership in memberships:
        slug, _, role = membership.partition(":")
        team = commands.create_team(tenant=tenant, slug=slug, name=slug.title(), by=None)
        commands.grant_role(user, team, Role(role), None)
    teams = {each.slug: str(each.pk) for each in Team.objects.all()}
    return {"id": str(user.pk), "token": commands.issue_token(user, "attacks", None), "teams": teams}


def password(name: str, text: str) -> None:
    """Gives a person a password."""
    from agentstate.people import commands
    from agentstate.people.queries import person as found

    commands.set_password(found(name), text, None)


def link(name: str, base: str) -> str:
    """A link that signs a person in once."""
    from django.urls import reverse

    from agentstate.people import commands
    from agentstate.people.queries import person as found

    return base.rstrip("/") + reverse("people:by_link", args=[commands.issue_sign_in_link(found(name))])


def remove_role(name: str, membership: str) -> None:
    """Takes a role away."""
    from agentstate.people import commands
    from agentstate.people.models import Team, User
    from agentstate.people.roles import Role

    slug, _, role = membership.partition(":")
    commands.remove_role(User.objects.get(username=name), Team.objects.get(slug=slug), Role(role), None)


def export(session: str, out: str) -> str:
    """Writes the bundle of a session; returns the key of the log."""
    from django.core.management import call_command

    from audit import signer

    call_command("export", session, "--out", out, stdout=StringIO(), stderr=StringIO())
    return signer.vkey()


def refused_export(session: str, out: str) -> str:
    """Returns why there is no bundle of a session."""
    from django.core.management import CommandError

    try:
        export(session, out)
    except CommandError as error:
        return str(error)
    return ""


def dismiss(log: str, reason: str) -> None:
    """Ends the alarm about a decision that nobody signs."""
    from django.core.management import call_command

    call_command("dismiss_report", log, reason=reason, stdout=StringIO())


def agree_to_library() -> int:
    """Agrees to every change of the library, for all teams. Returns how many."""
    from sessions.models.proposals import Proposal
    from sessions.proposals import workflow

    found = Proposal.objects.filter(kind__startswith="library_", state=Proposal.State.OPEN)
    return sum(bool(workflow.answer(row.pk, set(row.teams), "test", agrees=True)) for row in found)


def disable(name: str) -> None:
    """Ends every way in of a person."""
    from agentstate.people import commands
    from agentstate.people.models import User

    commands.disable(User.objects.get(username=name), None)


def search_token(name: str, term: str, days: int) -> str:
    """The token of this person's search for a term so many days from now."""
    from unittest import mock

    from agentstate.people.queries import person as known
    from sessions.core import access

    then = access.now() + timedelta(days=days)
    with mock.patch.object(access, "now", return_value=then):
        return access.searched(known(name), term)


def task(name: str) -> None:
    """Runs a periodic task of sessions.tasks now, as beat would have a worker do."""
    from sessions import tasks

    getattr(tasks, name)()


def row(table: str, session: str) -> list[dict[str, Any]]:
    """The rows of a table about a session, as text."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"select * from {table} where session = %s or id = %s", [session, session])
        names = [column.name for column in cursor.description]
        return [{name: str(value) for name, value in zip(names, each, strict=True)} for each in cursor.fetchall()]


def main() -> None:
    """Answers until its input ends."""
    import django

    django.setup()
    from django.db import connections

    for line in sys.stdin:
        name, arguments = json.loads(line)
        connections.close_all()  # an attack may have ended the server in between
        try:
            answer = {"answer": globals()[name](*arguments)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
