"""Wrong passwords slow an account and an address, and lock nobody out."""

from __future__ import annotations

import threading

import pytest
from django.contrib.auth import get_user
from django.core.cache import cache
from django.db import connection
from django.test import Client
from redis.exceptions import ConnectionError as Unreachable

from agentstate.people import attempts, commands
from agentstate.people.delays import ACCOUNT, ADDRESS, KEPT, LONGEST
from agentstate.people.known_browsers import COOKIE
from agentstate.people.models import SignInDelay
from agentstate.people.roles import Role
from tests.cast import PASSWORD, address, alice, bob, browser, person, retail, with_password
from tests.shell.sign_in_time import later, stand_still

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quick_passwords_and_no_clock(settings, monkeypatch) -> None:
    stand_still(monkeypatch)
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def enter(client: Client, username: str = "alice", password: str = PASSWORD):
    return client.post("/sign-in/", {"username": username, "password": password})


def wrong(client: Client, times: int, username: str = "alice") -> list[int]:
    """The statuses of so many wrong passwords, each after the wait that the one before asked for."""
    statuses = []
    for _ in range(times):
        later(LONGEST)
        statuses.append(enter(client, username, "wrong").status_code)
    return statuses


def known() -> Client:
    """A browser in which Alice has signed in, and out again."""
    client = browser()
    assert enter(client).status_code == 302
    client.post("/sign-out/")
    return client


def attacked(times: int = ACCOUNT.most) -> None:
    """Strangers everywhere try Alice's account."""
    for _ in range(times):
        enter(browser(), password="wrong")


def test_after_the_free_ones_a_wrong_password_says_when_to_try_again_and_that_is_true() -> None:
    with_password(alice())
    client = browser()
    said = [enter(client, password="wrong") for _ in range(ACCOUNT.free + 1)]
    assert ["Retry-After" in answer for answer in said] == [False] * ACCOUNT.free + [True]
    assert b"do not match an account that may sign in. Try again in 1 second." in said[-1].content
    refused = enter(client)
    assert (refused.status_code, refused["Retry-After"]) == (429, "1")
    assert b"Too many wrong passwords. Try again in 1 second." in refused.content
    later(1)
    assert enter(client).status_code == 302


def test_attempts_that_are_made_too_early_do_not_make_the_wait_longer() -> None:
    with_password(alice())
    client = browser()
    for _ in range(ACCOUNT.free + 1):
        enter(client, password="wrong")
    assert {enter(client, password="wrong").status_code for _ in range(20)} == {429}
    later(1)
    assert enter(client).status_code == 302


def test_a_stranger_does_not_slow_a_browser_that_signed_in_before() -> None:
    with_password(alice())
    client = known()
    attacked()
    assert enter(client).status_code == 302


def test_a_stranger_at_the_same_address_does_not_slow_it_either() -> None:
    with_password(alice())
    peer = address()
    client = Client(REMOTE_ADDR=peer)
    assert enter(client).status_code == 302
    client.post("/sign-out/")
    stranger = Client(REMOTE_ADDR=peer)
    wrong(stranger, ACCOUNT.most)
    assert enter(stranger).status_code == 429
    assert enter(client).status_code == 302


def test_a_known_browser_has_a_count_of_its_own() -> None:
    with_password(alice())
    client = known()
    assert [enter(client, password="wrong").status_code for _ in range(ACCOUNT.free + 2)][-2:] == [422, 429]
    assert enter(browser()).status_code == 302


def test_the_cookie_is_bound_to_the_account() -> None:
    with_password(alice())
    with_password(bob())
    client = known()
    for _ in range(ACCOUNT.most):
        enter(browser(), "bob", "wrong")
    assert enter(client, "bob").status_code == 429


@pytest.mark.parametrize("forged", ["", "x", "WyJhIiwgWyJiIl1d:1abc:def"])
def test_a_forged_cookie_is_no_known_browser(forged: str) -> None:
    with_password(alice())
    attacked()
    client = browser()
    client.cookies[COOKIE] = forged
    assert enter(client).status_code == 429


def test_a_cookie_that_another_key_signed_is_no_known_browser(settings) -> None:
    with_password(alice())
    client = known()
    settings.SECRET_KEY = "another key of at least 32 characters"
    attacked()
    assert enter(client).status_code == 429


def test_the_cookie_is_for_the_sign_in_page_alone_and_no_script_reads_it(settings) -> None:
    with_password(alice())
    settings.SESSION_COOKIE_SECURE = True
    cookie = enter(browser()).cookies[COOKIE]
    kept = {name: cookie[name] for name in ("path", "httponly", "samesite", "secure")}
    assert kept == {"path": "/sign-in/", "httponly": True, "samesite": "Strict", "secure": True}
    assert "alice" not in cookie.value


def test_a_link_makes_a_browser_known_too_and_two_people_may_share_it() -> None:
    with_password(alice())
    with_password(bob())
    client = known()
    client.post(f"/sign-in/link/{commands.issue_sign_in_link(bob())}/")
    client.post("/sign-out/")
    attacked()
    for _ in range(ACCOUNT.most):
        enter(browser(), "bob", "wrong")
    assert enter(client, "bob").status_code == 302
    client.post("/sign-out/")
    assert enter(client).status_code == 302


def test_an_account_is_slowed_from_every_address_and_still_opens_after_the_wait() -> None:
    with_password(alice())
    attacked()
    client = browser()
    first = enter(client)
    assert first.status_code == 429
    wait = int(first["Retry-After"])
    assert 0 < wait <= LONGEST
    attacked()  # strangers go on: the turn that was promised comes all the same
    later(wait)
    attacked()  # and what they try then is not tried in its place
    assert enter(client).status_code == 302


def test_waits_end_by_themselves() -> None:
    with_password(alice())
    attacked()
    later(KEPT / 2)
    assert enter(browser()).status_code == 302


def test_made_up_names_slow_nobody() -> None:
    with_password(alice())
    client = browser()
    assert {enter(client, f"name{n}", "wrong").status_code for n in range(2 * ADDRESS.most)} == {422}
    assert enter(client).status_code == 302


def test_a_made_up_name_is_slowed_as_a_real_one_is() -> None:
    with_password(alice())
    real, made_up = browser(), browser()
    for _ in range(ACCOUNT.most + 2):
        answers = [enter(client, name, "wrong") for client, name in ((real, "alice"), (made_up, "nobody"))]
        assert answers[0].status_code == answers[1].status_code
        assert answers[0].headers.get("Retry-After") == answers[1].headers.get("Retry-After")
        later(3)


def test_one_password_tried_on_many_accounts_from_one_address_is_slowed() -> None:
    for n in range(ADDRESS.free + 1):
        with_password(person(f"staff{n}", Role.VIEWER, retail()))
    with_password(alice())
    with_password(bob())
    client = browser()
    assert {enter(client, f"staff{n}", "Winter2026").status_code for n in range(ADDRESS.free)} == {422}
    assert enter(client, "bob").status_code == 302  # the sprayer's own account clears nothing
    client.post("/sign-out/")
    assert enter(client, f"staff{ADDRESS.free}", "Winter2026").status_code == 422
    assert enter(client).status_code == 429
    assert enter(browser()).status_code == 302


def test_signing_in_to_ones_own_account_clears_nothing_for_attempts_on_others() -> None:
    with_password(alice())
    with_password(bob())
    client = browser()
    for _ in range(ACCOUNT.free):
        enter(client, password="wrong")
        assert enter(client, "bob").status_code == 302
        client.post("/sign-out/")
    assert "Retry-After" in enter(client, password="wrong")
    assert enter(client).status_code == 429


def test_a_right_password_counts_nothing() -> None:
    with_password(alice())
    for _ in range(ACCOUNT.most):
        assert enter(browser()).status_code == 302
    assert set(SignInDelay.objects.values_list("level", flat=True)) == {0.0}


def test_the_count_outlives_the_cache_and_sign_in_works_without_it(monkeypatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise Unreachable

    with_password(alice())
    client = browser()
    for _ in range(ACCOUNT.free + 1):
        enter(client, password="wrong")
    cache.clear()
    assert enter(client).status_code == 429
    for name in ("get", "set", "add", "incr"):
        monkeypatch.setattr(type(cache._connections[cache._alias]), name, away)
    assert enter(client).status_code == 429
    assert enter(browser(), "nobody", "wrong").status_code == 422
    later(1)
    assert enter(client).status_code == 302


def test_what_says_nothing_any_more_is_deleted() -> None:
    enter(browser(), "nobody", "wrong")
    before = set(SignInDelay.objects.values_list("key", flat=True))
    later(KEPT + 1)
    enter(browser(), "somebody", "wrong")
    assert not before & set(SignInDelay.objects.values_list("key", flat=True))


def test_no_name_and_no_address_is_kept_in_clear() -> None:
    client = Client(REMOTE_ADDR="198.51.100.7")
    with_password(alice())
    for name in ("alice", "my-secret-password"):
        enter(client, name, "wrong")
    kept = " ".join(SignInDelay.objects.values_list("key", flat=True))
    assert not any(word in kept for word in ("alice", "my-secret-password", "198.51.100.7"))


@pytest.mark.django_db(transaction=True)
def test_attempts_at_one_instant_count_as_many() -> None:
    with_password(alice())
    read, barrier = [], threading.Barrier(12)

    def attempt() -> None:
        barrier.wait()
        read.append(attempts.begin("alice", "198.51.100.7", "").wait == 0)
        connection.close()

    threads = [threading.Thread(target=attempt) for _ in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sum(read) == ACCOUNT.free + 1


def test_the_person_is_signed_in_and_the_refused_are_not() -> None:
    with_password(alice())
    client = browser()
    for _ in range(ACCOUNT.free + 1):
        enter(client, password="wrong")
    enter(client)
    assert not get_user(client).is_authenticated
