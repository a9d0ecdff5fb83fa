"""Attacks on the sign-in page and on the address of a caller; `up` trusts the proxy at 127.0.0.1."""

from __future__ import annotations

import itertools
import re
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from agentstate.people.delays import ACCOUNT, ADDRESS
from agentstate.people.throttles import TokenFailures
from tests.attacks.client import Person
from tests.attacks.stack import Stack

PASSWORD = "correct-horse-battery-staple"
NUMBERS = itertools.count(1)
MANY_TOKENS = int(TokenFailures.default_rate.partition("/")[0]) + 1


def address() -> str:
    """An address that no other attack uses."""
    number = next(NUMBERS)
    return f"198.51.{number // 250}.{number % 250 + 1}"


def colleague(stack: Stack) -> Person:
    """Somebody with a password."""
    person = stack.people("retail:viewer")
    stack.at_the_machine("password", person.name, PASSWORD)
    return person


class SignIn:
    """A browser on the sign-in page. `at`: its address, as the proxy says it; `peer`: where it connects from."""

    def __init__(self, stack: Stack, at: str, peer: str = "127.0.0.1") -> None:
        transport = httpx.HTTPTransport(local_address=peer)
        self.http = httpx.Client(base_url=stack.url, transport=transport, headers={"X-Forwarded-For": at}, timeout=60)

    def tries(self, name: str, password: str) -> httpx.Response:
        """The answer to an attempt."""
        form = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.http.get("/sign-in/").text)
        assert form
        fields = {"username": name, "password": password, "csrfmiddlewaretoken": form[1]}
        return self.http.post("/sign-in/", data=fields)

    def out(self) -> SignIn:
        """The same browser, signed out."""
        self.http.cookies.delete("sessionid")
        return self


def waits(answer: httpx.Response) -> int:
    """Seconds that an answer asks to wait; it says the same to people."""
    seconds = int(answer.headers["Retry-After"])
    assert 0 < seconds <= 30
    assert f"Try again in {seconds} second" in answer.text
    return seconds


def test_a1_a_stranger_behind_the_proxy_keeps_nobody_out(stack: Stack) -> None:
    person, stranger = colleague(stack), SignIn(stack, address())
    answers = [stranger.tries(person.name, "wrong").status_code for _ in range(ACCOUNT.free + 5)]
    assert answers[: ACCOUNT.free] == [422] * ACCOUNT.free
    assert 429 in answers
    owner = SignIn(stack, address())
    answer = owner.tries(person.name, PASSWORD)
    if answer.status_code == 429:
        time.sleep(waits(answer))
        answer = owner.tries(person.name, PASSWORD)
    assert answer.status_code == 302


def test_a1_callers_of_one_proxy_have_counts_of_their_own(stack: Stack) -> None:
    wrong, at = {"Authorization": "Bearer ags_wrong"}, address()
    with httpx.Client(base_url=stack.url, headers=wrong) as http:
        of_one = [http.get("/api/v1/sessions", headers={"X-Forwarded-For": at}) for _ in range(MANY_TOKENS)]
        of_another = http.get("/api/v1/sessions", headers={"X-Forwarded-For": address()})
    assert ([of_one[0].status_code, of_one[-1].status_code], of_another.status_code) == ([401, 429], 401)


def test_a1_a_stranger_who_is_no_proxy_chooses_no_address(stack: Stack) -> None:
    transport = httpx.HTTPTransport(local_address="127.0.0.77")
    with httpx.Client(base_url=stack.url, transport=transport, headers={"Authorization": "Bearer ags_x"}) as http:
        answers = [http.get("/api/v1/sessions", headers={"X-Forwarded-For": address()}) for _ in range(MANY_TOKENS)]
    assert answers[-1].status_code == 429


def test_a1_what_a_caller_writes_before_its_address_is_not_believed(stack: Stack) -> None:
    at, wrong = address(), {"Authorization": "Bearer ags_wrong"}
    with httpx.Client(base_url=stack.url, headers=wrong) as http:
        forged = [{"X-Forwarded-For": f"{address()}, 127.0.0.1, {at}, 127.0.0.1"} for _ in range(MANY_TOKENS)]
        answers = [http.get("/api/v1/sessions", headers=each) for each in forged]
    assert answers[-1].status_code == 429


def test_m2_made_up_names_slow_no_colleague_at_the_same_address(stack: Stack) -> None:
    person, at = colleague(stack), address()
    stranger = SignIn(stack, at)
    for number in range(ADDRESS.free + 5):
        assert stranger.tries(f"made-up-{at}-{number}", "wrong").status_code == 422
    assert SignIn(stack, at).tries(person.name, PASSWORD).status_code == 302


def test_m2_a_browser_that_signed_in_before_is_not_slowed_while_strangers_try(stack: Stack) -> None:
    person, at = colleague(stack), address()
    owner = SignIn(stack, at)
    assert owner.tries(person.name, PASSWORD).status_code == 302
    stranger = SignIn(stack, at)
    assert 429 in [stranger.tries(person.name, "wrong").status_code for _ in range(ACCOUNT.free + 5)]
    assert owner.out().tries(person.name, PASSWORD).status_code == 302


def test_m2_the_turn_that_the_page_promises_comes_while_strangers_hammer(stack: Stack) -> None:
    person, stranger = colleague(stack), SignIn(stack, address())
    for _ in range(ACCOUNT.free + 2):
        stranger.tries(person.name, "wrong")
    owner = SignIn(stack, address())
    promised = waits(owner.tries(person.name, PASSWORD))
    until = time.monotonic() + promised
    while time.monotonic() < until:
        SignIn(stack, address()).tries(person.name, "wrong")
    assert owner.tries(person.name, PASSWORD).status_code == 302


def test_m2_many_passwords_at_one_instant_are_not_more_than_one_after_the_other(stack: Stack) -> None:
    person, at = colleague(stack), address()
    browsers = [SignIn(stack, at) for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(lambda each: each.tries(person.name, "wrong").status_code, browsers))
    assert set(statuses) == {422, 429}  # how many of each depends on how long the ten take, on a busy machine
