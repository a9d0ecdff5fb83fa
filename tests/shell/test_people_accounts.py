"""Accounts: disabling ends every way in at once; who may administer whom; all of it is on the trail."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from channels.layers import get_channel_layer
from django.contrib.auth import get_user
from django.db import IntegrityError, connection, transaction

from agentstate.people import commands, trail
from agentstate.people.delays import ACCOUNT
from agentstate.people.errors import AccountDisabled, NameTaken, OwnAccount, WeakPassword
from agentstate.people.models import Membership, Tenant
from agentstate.people.permissions import PermissionDenied, can
from agentstate.people.queries import live_token
from agentstate.people.roles import Permission, Role
from tests.cast import (
    PASSWORD,
    adam,
    alice,
    bob,
    browser,
    cards,
    charlie,
    person,
    retail,
    tenant,
    token,
    vera,
    with_password,
)
from tests.shell.sign_in_time import stand_still

pytestmark = pytest.mark.django_db


@pytest.fixture
def on_trail(monkeypatch) -> list[trail.Record]:
    records: list[trail.Record] = []
    monkeypatch.setattr(trail, "sink", records.append)
    return records


def kinds(records: list[trail.Record]) -> list[str]:
    return [record.kind for record in records]


def test_disabling_ends_open_browser_sessions_and_tokens_at_once() -> None:
    client, text = browser(alice()), token(alice())
    assert get_user(client) == alice()
    commands.disable(alice(), None)
    assert not get_user(client).is_authenticated
    assert live_token(text) is None


def test_what_disabling_ended_stays_ended_when_the_account_is_enabled_again() -> None:
    client, text = browser(alice()), token(alice())
    commands.disable(alice(), None)
    commands.enable(alice(), None)
    assert not get_user(client).is_authenticated
    assert live_token(text) is None
    assert get_user(browser(alice())) == alice()


def test_disabling_alice_leaves_bob_alone() -> None:
    client, text = browser(bob()), token(bob())
    commands.disable(alice(), None)
    assert get_user(client) == bob()
    assert live_token(text) is not None


def test_nothing_new_can_be_issued_to_a_disabled_account() -> None:
    commands.disable(alice(), None)
    for issue in (token, commands.issue_sign_in_link):
        with pytest.raises(AccountDisabled):
            issue(alice())


def test_a_new_password_ends_the_sessions_begun_with_the_old_one() -> None:
    client = browser(with_password(alice()))
    commands.set_password(alice(), PASSWORD + "!", None)
    assert not get_user(client).is_authenticated


@pytest.mark.parametrize("ending", ["disable", "remove_role"])
def test_open_sockets_are_told_to_close_after_the_commit(ending, django_capture_on_commit_callbacks) -> None:
    user = alice()

    def end() -> None:
        with django_capture_on_commit_callbacks(execute=True):
            if ending == "disable":
                commands.disable(user, None)
            else:
                commands.remove_role(user, retail(), Role.SUPERVISOR, None)

    async def scenario() -> dict:
        layer = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add(user.channel_group, channel)
        await sync_to_async(end)()
        return await asyncio.wait_for(layer.receive(channel), 5)

    assert async_to_sync(scenario)() == {"type": "people.revoked", "user": str(user.pk)}


def test_a_dead_channel_layer_does_not_keep_anybody_in(monkeypatch, django_capture_on_commit_callbacks) -> None:
    def dead() -> None:
        raise ConnectionError("no layer")

    monkeypatch.setattr("agentstate.people.live.get_channel_layer", dead)
    with django_capture_on_commit_callbacks(execute=True):
        commands.disable(alice(), None)
    assert not can(alice(), Permission.SEE, retail())


def test_an_admin_disables_somebody_of_the_own_team_only() -> None:
    commands.disable(alice(), adam())
    with pytest.raises(PermissionDenied):
        commands.disable(charlie(), adam())
    assert charlie().is_active


def test_an_admin_of_one_team_cannot_disable_somebody_who_is_in_another_too() -> None:
    commands.grant_role(charlie(), retail(), Role.VIEWER, adam())
    with pytest.raises(PermissionDenied):
        commands.disable(charlie(), adam())


@pytest.mark.parametrize("who", [alice, vera, charlie])
def test_without_configure_nobody_administers_anybody(who) -> None:
    acts = [
        lambda: commands.disable(bob(), who()),
        lambda: commands.enable(bob(), who()),
        lambda: commands.set_password(bob(), PASSWORD, who()),
        lambda: commands.grant_role(bob(), retail(), Role.ADMIN, who()),
        lambda: commands.remove_role(bob(), retail(), Role.SUPERVISOR, who()),
        lambda: commands.create_team(tenant=tenant(), slug="x", name="X", by=who()),
        lambda: commands.create_user(tenant=tenant(), username="x", password=PASSWORD, by=who()),
    ]
    for act in acts:
        with pytest.raises(PermissionDenied):
            act()


def test_an_admin_grants_no_role_in_a_team_of_others() -> None:
    with pytest.raises(PermissionDenied):
        commands.grant_role(alice(), cards(), Role.SUPERVISOR, adam())


def test_nobody_changes_their_own_roles_or_disables_themselves() -> None:
    with pytest.raises(OwnAccount):
        commands.grant_role(adam(), retail(), Role.SUPERVISOR, adam())
    with pytest.raises(OwnAccount):
        commands.disable(adam(), adam())


def test_an_admin_makes_a_team_and_is_its_admin() -> None:
    team = commands.create_team(tenant=tenant(), slug="mortgages", name="Mortgages", by=adam())
    assert can(adam(), Permission.CONFIGURE, team)


def test_a_name_is_taken_in_every_spelling() -> None:
    alice()
    with pytest.raises(NameTaken):
        commands.create_user(tenant=tenant(), username="ALICE", password=PASSWORD, by=None)


@pytest.mark.parametrize("weak", ["", "short", "password123", "4711471147114711", "dominique"])
def test_weak_passwords_are_refused(weak: str) -> None:
    with pytest.raises(WeakPassword):
        commands.create_user(tenant=tenant(), username="dominique", password=weak, by=None)


def tie_together(stranger: Tenant) -> None:
    with transaction.atomic():
        Membership.objects.create(tenant=stranger, user=alice(), team=retail(), role="admin")
        connection.check_constraints()


def test_the_database_itself_refuses_a_role_across_tenants() -> None:
    stranger = Tenant.objects.create(name="Another")
    with pytest.raises(IntegrityError):
        tie_together(stranger)


def test_every_change_of_an_account_is_on_the_trail_with_its_actor(on_trail) -> None:
    admin, user = adam(), person("dana", Role.VIEWER, retail())
    on_trail.clear()
    commands.grant_role(user, retail(), Role.AUDITOR, admin)
    commands.remove_role(user, retail(), Role.AUDITOR, admin)
    commands.disable(user, admin)
    commands.enable(user, admin)
    assert kinds(on_trail) == ["role.granted", "role.removed", "person.disabled", "person.enabled"]
    assert {(r.actor, r.subject, r.tenant) for r in on_trail} == {(admin.actor, user.actor, tenant().pk)}
    assert on_trail[0].facts == {"role": "auditor", "team": str(retail().pk)}


def test_what_changes_nothing_leaves_no_trace(on_trail) -> None:
    user = alice()
    on_trail.clear()
    commands.grant_role(user, retail(), Role.SUPERVISOR, None)
    commands.remove_role(user, retail(), Role.AUDITOR, None)
    commands.enable(user, None)
    assert on_trail == []


def test_a_trail_that_cannot_be_written_undoes_the_change(monkeypatch) -> None:
    user = alice()

    def full(record: trail.Record) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(trail, "sink", full)
    with pytest.raises(OSError, match="disk full"):
        commands.disable(user, None)
    assert can(user, Permission.SEE, retail())


def test_sign_ins_sign_outs_and_failures_are_on_the_trail(on_trail, settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    user, client = with_password(alice()), browser()
    on_trail.clear()
    client.post("/sign-in/", {"username": "alice", "password": "wrong"})
    client.post("/sign-in/", {"username": "alice", "password": PASSWORD})
    client.post("/sign-out/")
    assert kinds(on_trail) == ["person.sign_in_failed", "person.signed_in", "person.signed_out"]
    assert {record.subject for record in on_trail} == {user.actor}
    assert on_trail[1].facts["by"] == "password"


def test_a_sign_in_by_link_says_so(on_trail) -> None:
    browser().post(f"/sign-in/link/{commands.issue_sign_in_link(alice())}/")
    assert on_trail[-1].facts["by"] == "link"


def test_what_was_typed_as_an_unknown_name_is_not_kept(on_trail) -> None:
    browser().post("/sign-in/", {"username": "my-secret-password", "password": "x"})
    assert kinds(on_trail) == ["person.sign_in_failed"]
    assert "my-secret-password" not in repr(on_trail)


def test_a_name_that_waits_leaves_one_entry_of_it_however_often_it_is_tried(on_trail, monkeypatch) -> None:
    stand_still(monkeypatch)
    client = browser()
    for _ in range(ACCOUNT.most + 4):
        client.post("/sign-in/", {"username": "nobody", "password": "wrong"})
    assert kinds(on_trail) == ["person.sign_in_failed"] * (ACCOUNT.free + 1) + ["person.sign_in_throttled"]


def test_names_that_nobody_has_do_not_fill_the_log(on_trail, monkeypatch) -> None:
    monkeypatch.setattr("agentstate.people.throttles.UnknownNames.default_rate", "3/min")
    with_password(alice())
    client = browser()
    on_trail.clear()
    for name in ("a", "b", "c", "d", "alice"):
        client.post("/sign-in/", {"username": name, "password": "wrong"})
    assert [record.subject for record in on_trail] == ["", "", "", alice().actor]


def test_no_password_or_token_is_on_the_trail(on_trail) -> None:
    text = token(with_password(alice()))
    link = commands.issue_sign_in_link(alice())
    assert not any(secret in repr(on_trail) for secret in (PASSWORD, text, link))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"person\.danced"):
        trail.record("person.danced", None, None)
