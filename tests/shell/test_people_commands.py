"""The account commands of manage.py: what they print, what they refuse, what they leave behind."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from agentstate.people.deputies import teams_of
from agentstate.people.models import ApiToken, Team, Tenant, User
from agentstate.people.permissions import can, teams_with
from agentstate.people.queries import live_token, person, the_tenant
from agentstate.people.roles import Permission
from sessions.core.authority import reviewer
from tests.cast import PASSWORD, alice, browser, cards, retail, token

pytestmark = pytest.mark.django_db
DEMO = ["supervisor", "customer", "second", "auditor", "admin", "privacy", "viewer", "deputy"]


def run(*arguments: str, **options: object) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def state(settings, tmp_path) -> Path:
    settings.STATE_DIR = tmp_path / "with a space"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return settings.STATE_DIR


@pytest.fixture
def password_file(tmp_path) -> Path:
    path = tmp_path / "password"
    path.write_text(PASSWORD + "\n")
    return path


def accounts(state: Path) -> dict[str, str]:
    return json.loads((state / "demo/accounts.json").read_text())


def test_an_installation_starts_with_one_tenant_and_a_team() -> None:
    assert Tenant.objects.count() == 1
    assert Team.objects.filter(tenant=the_tenant()).exists()


def test_token_prints_the_token_and_nothing_else() -> None:
    alice()
    printed = run("token", "Alice", "--name", "laptop")
    assert live_token(printed.rstrip("\n")).user == alice()
    assert ApiToken.objects.get().name == "laptop"


@pytest.mark.parametrize("command", ["token", "sign_in_link", "disable_user"])
def test_an_unknown_user_is_one_clear_line(command: str) -> None:
    with pytest.raises(CommandError, match="There is no user 'nobody'"):
        run(command, "nobody")


def test_sign_in_link_prints_a_link_that_works() -> None:
    alice()
    link = run("sign_in_link", "alice", "--base", "http://127.0.0.1:9/").strip()
    assert link.startswith("http://127.0.0.1:9/sign-in/link/")
    assert browser().post(link.removeprefix("http://127.0.0.1:9")).status_code == 302


def test_disable_user_disables_and_undo_enables() -> None:
    text = token(alice())
    run("disable_user", "alice")
    assert not can(alice(), Permission.SEE, retail())
    run("disable_user", "alice", "--undo")
    assert can(alice(), Permission.SEE, retail())
    assert live_token(text) is None


def test_create_admin_makes_an_admin_of_every_team(password_file) -> None:
    retail(), cards()
    run("create_admin", "Root.Admin", "--password-file", str(password_file))
    admin = person("root.admin")
    assert len(teams_with(admin, Permission.CONFIGURE)) == Team.objects.count()
    assert teams_with(admin, Permission.DECIDE) == []
    assert admin.check_password(PASSWORD)


def test_create_admin_refuses_a_weak_password_and_leaves_nothing(password_file) -> None:
    password_file.write_text("abc\n")
    with pytest.raises(CommandError, match="too easy to guess"):
        run("create_admin", "root", "--password-file", str(password_file))
    assert not User.objects.filter(username="root").exists()


def test_create_admin_does_not_touch_an_account_that_exists(password_file) -> None:
    alice()
    with pytest.raises(CommandError, match="already has this user name"):
        run("create_admin", "alice", "--password-file", str(password_file))
    assert not can(alice(), Permission.CONFIGURE, retail())


def test_a_missing_password_file_and_a_missing_terminal_are_said_in_one_line(tmp_path) -> None:
    with pytest.raises(CommandError, match="Cannot read the password"):
        run("create_admin", "root", "--password-file", str(tmp_path / "none"))
    with pytest.raises(CommandError, match="--password-file"):
        run("create_admin", "root")


def test_create_user_and_role_say_where(password_file) -> None:
    retail(), cards()
    options = ("--role", "supervisor", "--team", "retail", "--password-file", str(password_file))
    assert run("create_user", "erin", *options) == "erin is supervisor in retail.\n"
    run("role", "erin", "viewer", "--team", "cards")
    assert len(teams_with(person("erin"), Permission.SEE)) == 2
    run("role", "erin", "viewer", "--team", "cards", "--remove")
    assert teams_with(person("erin"), Permission.SEE) == [retail().pk]


def test_an_unknown_team_is_refused_with_the_teams_there_are(password_file) -> None:
    retail()
    with pytest.raises(CommandError, match="retail"):
        run("role", alice().username, "viewer", "--team", "retial")


def test_demo_passwords_are_random_printed_once_and_open_the_door(state) -> None:
    printed = run("demo_accounts")
    made = accounts(state)
    assert list(made) == DEMO
    assert len(set(made.values())) == len(DEMO)
    assert all(password in printed for password in made.values())
    again = run("demo_accounts")
    assert not any(password in again for password in made.values())
    assert accounts(state) == made
    signed_in = browser().post("/sign-in/", {"username": "second", "password": made["second"]})
    assert signed_in.status_code == 302


def test_demo_files_are_readable_by_their_owner_only(state) -> None:
    run("demo_accounts")
    folder = state / "demo"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "accounts.json": 0o600,
        "callers.token": 0o600,
    }


def test_the_demo_caller_speaks_for_customers_of_its_team_only(state) -> None:
    run("demo_accounts")
    caller = live_token((state / "demo/callers.token").read_text().strip()).user
    assert caller.username == "caller"
    assert not caller.has_usable_password()
    assert teams_with(caller, Permission.SPEAK_AS_CUSTOMER) == [retail().pk]
    assert not can(caller, Permission.DECIDE, retail())


def test_the_token_of_the_demo_caller_is_kept_while_it_is_good(state) -> None:
    path = state / "demo/callers.token"
    run("demo_accounts")
    first = path.read_text()
    run("demo_accounts")
    assert path.read_text() == first
    path.write_text("ags_lost\n")
    run("demo_accounts")
    assert live_token(path.read_text().strip()).user.username == "caller"
    assert live_token(first.strip()) is None


def test_a_new_database_under_an_old_state_directory_keeps_the_passwords(state) -> None:
    run("demo_accounts")
    made = accounts(state)
    User.objects.filter(username__in=[*DEMO, "caller"]).delete()
    run("demo_accounts")
    assert accounts(state) == made
    assert person("supervisor").check_password(made["supervisor"])


def test_the_demo_leaves_an_account_of_the_same_name_alone(state, password_file) -> None:
    run("create_admin", "admin", "--password-file", str(password_file))
    run("demo_accounts")
    assert person("admin").check_password(PASSWORD)
    assert "admin" not in accounts(state)


def test_the_second_demo_team_shares_nobody_who_decides_with_the_first(state) -> None:
    run("demo_accounts")
    assert Team.objects.filter(slug="cards", name="Card services").exists()
    for name in ("supervisor", "second", "viewer"):
        assert teams_with(person(name), Permission.SEE) == [retail().pk]


def test_the_demo_names_a_deputy_who_decides_in_the_second_team_and_reads_in_the_first(state) -> None:
    run("demo_accounts")
    deputy = person("deputy")
    assert teams_of(deputy) == {retail().pk}
    assert teams_with(deputy, Permission.READ) == sorted([retail().pk, Team.objects.get(slug="cards").pk])
    assert not can(deputy, Permission.DECIDE, retail())
    assert reviewer(deputy, retail().pk, too_few=True).may == {"decide", "decide_tier3"}
