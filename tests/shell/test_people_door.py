"""The door: signing in and out, the one-time link, and the limits on guessing."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.conf import settings as configured
from django.contrib.auth import get_user
from django.db import connection, transaction
from django.db.models.functions import Now
from django.shortcuts import resolve_url
from django.test import Client
from django.urls import reverse

from agentstate.people import commands
from agentstate.people.models import SignInLink
from tests.cast import PASSWORD, alice, bob, browser, with_password

pytestmark = pytest.mark.django_db
SIGN_IN = "/sign-in/"


def home() -> str:
    return resolve_url(configured.LOGIN_REDIRECT_URL)


@pytest.fixture(autouse=True)
def _quick_passwords(settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def enter(client: Client, username: str = "alice", password: str = PASSWORD, **more: str):
    return client.post(SIGN_IN, {"username": username, "password": password, **more})


def link_for(user) -> str:
    return reverse("people:by_link", args=[commands.issue_sign_in_link(user)])


def test_alice_signs_in_and_out() -> None:
    with_password(alice())
    client = browser()
    assert enter(client).status_code == 302
    assert get_user(client) == alice()
    assert client.post("/sign-out/").status_code == 302
    assert not get_user(client).is_authenticated


def test_the_page_is_a_plain_form_without_any_inline_code() -> None:
    page = browser().get(SIGN_IN).content.decode()
    assert '<form method="post"' in page
    assert "csrfmiddlewaretoken" in page
    assert "<script>" not in page
    assert "style=" not in page
    assert "onclick" not in page


def test_a_wrong_password_an_unknown_name_and_a_disabled_account_read_the_same() -> None:
    with_password(alice())
    commands.disable(with_password(bob()), None)
    tries = [("alice", "wrong"), ("nobody", "wrong"), ("bob", PASSWORD)]
    answers = [enter(browser(), name, password) for name, password in tries]
    assert {answer.status_code for answer in answers} == {422}
    assert all("do not match an account" in answer.content.decode() for answer in answers)


def test_the_name_is_found_in_any_case_and_what_was_typed_comes_back_escaped() -> None:
    with_password(alice())
    assert enter(browser(), " ALICE ").status_code == 302
    assert b"<b>" not in enter(browser(), '"><b>').content


@pytest.mark.parametrize("where", ["//evil.example/", "https://evil.example/", "javascript:alert(1)", "\\\\evil"])
def test_next_never_leads_to_another_host(where: str) -> None:
    with_password(alice())
    assert enter(browser(), next=where)["Location"] == home()


def test_next_leads_to_a_page_of_this_host() -> None:
    with_password(alice())
    assert enter(browser(), next="/decisions/?tier=3")["Location"] == "/decisions/?tier=3"


def test_without_its_csrf_token_no_form_of_the_door_works() -> None:
    link = link_for(with_password(alice()))
    strict = browser(alice(), enforce_csrf_checks=True)
    assert enter(strict).status_code == 403
    assert strict.post("/sign-out/").status_code == 403
    assert strict.post(link).status_code == 403
    assert get_user(strict).is_authenticated


def test_a_get_signs_nobody_out() -> None:
    client = browser(alice())
    assert client.get("/sign-out/").status_code == 405
    assert get_user(client).is_authenticated


@pytest.mark.parametrize("garbage", ["\0", "a" * 5000, "\ud800", "’; DROP TABLE people_user; --"])
def test_garbage_for_a_name_is_a_failed_sign_in_and_nothing_else(garbage: str) -> None:
    body = f"username={quote(garbage, errors='surrogatepass')}&password=x"
    answer = browser().post(SIGN_IN, body, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 422


def test_a_link_signs_in_once() -> None:
    link, client = link_for(alice()), browser()
    assert client.post(link)["Location"] == home()
    assert get_user(client) == alice()
    assert browser().post(link).status_code == 410
    assert browser().get(link).status_code == 410


def test_looking_at_a_link_does_not_spend_it() -> None:
    link = link_for(alice())
    for _ in range(3):
        seen = browser().get(link)
        assert (seen.status_code, browser().head(link).status_code) == (200, 200)
        assert "no-store" in seen["Cache-Control"]
    assert browser().post(link).status_code == 302


def test_a_link_older_than_ten_minutes_is_refused() -> None:
    link = link_for(alice())
    stored = SignInLink.objects.get()
    assert stored.expires - stored.created == timedelta(minutes=10)
    SignInLink.objects.update(expires=Now() - timedelta(seconds=1))
    assert browser().post(link).status_code == 410


def test_a_link_of_a_disabled_person_is_refused_and_stays_so() -> None:
    link = link_for(alice())
    commands.disable(alice(), None)
    assert browser().post(link).status_code == 410
    commands.enable(alice(), None)
    assert browser().post(link).status_code == 410


def test_the_link_is_kept_as_a_digest_only() -> None:
    secret = commands.issue_sign_in_link(alice())
    assert secret not in str(SignInLink.objects.values().get())


def test_a_made_up_link_is_refused() -> None:
    assert browser().get(reverse("people:by_link", args=["made-up"])).status_code == 410


@pytest.mark.django_db(transaction=True)
def test_of_two_who_use_a_link_at_once_one_gets_in() -> None:
    secret, second = commands.issue_sign_in_link(alice()), []

    def use() -> None:
        second.append(commands.use_sign_in_link(secret))
        connection.close()

    late = threading.Thread(target=use)
    with transaction.atomic():
        first = commands.use_sign_in_link(secret)
        late.start()
        wait_until_somebody_waits_for_me()
    late.join()
    assert (first, second) == (alice(), [None])


def wait_until_somebody_waits_for_me() -> None:
    """Returns once another connection is blocked by a row this one has changed."""
    # pg_locks, because what pg_stat_activity says is frozen within a transaction
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    for _ in range(500):
        with connection.cursor() as cursor:
            if cursor.execute(waiting).fetchone()[0]:
                return
        time.sleep(0.01)
    raise AssertionError("nobody came to wait")
