"""The page of a customer: everything known and why, and forms that change it without JavaScript."""

from __future__ import annotations

import pytest
from django.urls import reverse

from sessions.profiles import commands as keep
from sessions.profiles import queries as seen
from tests import cast
from tests.shell.bank_world import opened, say, work
from tests.shell.pages import Node, read
from tests.shell.test_profiles import agreed_customer, customer_of, swept, transferred

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script>"


def page(customer, client=None) -> Node:
    return read((client or cast.browser(cast.alice())).get(reverse("customer", args=[customer])).content)


def send(tree: Node, customer, act: str, button: str, **typed: str):
    """Press the button of that text in a form of that act, with what else its fields hold."""
    address = reverse("customer_change", args=[customer, act])
    for form in tree.all("form"):
        pressed = [each for each in form.all("button") if button in each.text()]
        if form.attrs.get("action") == address and pressed:
            data = {node.attrs["name"]: node.attrs.get("value", "") for node in form.all("input")}
            data |= {pressed[0].attrs["name"]: pressed[0].attrs["value"]} if "name" in pressed[0].attrs else {}
            return cast.browser(cast.alice()).post(address, {**data, **typed})
    raise AssertionError(f"no form {act} has a button {button}")


def test_the_page_says_what_was_learned_how_sure_it_is_and_from_where(bank):
    _, customer = agreed_customer()
    session = transferred()
    swept()
    told = page(customer).id("preference-usual_source")
    assert "33%" in told.text()
    assert "Money was moved from there." in told.text()
    assert any(str(session) in node.attrs.get("href", "") for node in told.all("a"))
    assert "Past transfers" in page(customer).text()


def test_the_session_page_links_to_its_customer():
    session = opened("C-1001")
    tree = read(cast.browser(cast.alice()).get(reverse("session", args=[session])).content)
    links = [node.attrs["href"] for node in tree.all("a") if node.text() == "Customer"]
    assert links == [reverse("customer", args=[customer_of(session)])]


def test_a_supervisor_notes_a_consent_and_withdraws_it():
    customer = customer_of(opened("C-1001"))
    answer = send(page(customer), customer, "consent", "Agrees", note="on the phone", purpose="personalisation")
    assert answer.status_code == 302
    assert "on the phone" in page(customer).id("purpose-personalisation").text()
    tree = page(customer)
    assert send(tree, customer, "consent", "Withdraw", purpose="personalisation").status_code == 302
    assert "Withdrawn" in page(customer).id("purpose-personalisation").text()


def test_settings_of_every_kind_are_typed_and_taken_back():
    _, customer = agreed_customer()
    for name, text in (("own_limit", "$1,200.00"), ("answers", "brief"), ("careful_with_payees", "yes")):
        address = reverse("customer_change", args=[customer, "settings"])
        data = {"preference": name, "value": text, "key": name}
        assert cast.browser(cast.alice()).post(address, data).status_code == 302
    held = {each.name: each.counts for each in seen.profile(cast.alice(), customer).preferences}
    assert held["own_limit"] == {"minor": 120_000, "currency": "USD"}
    assert (held["answers"], held["careful_with_payees"]) == ("brief", True)
    assert "$1,200.00" in page(customer).id("preference-own_limit").text()
    send(page(customer), customer, "settings", "Clear preference", preference="own_limit")
    assert "No active preferences." in page(customer).id("preference-own_limit").text()


def test_what_was_learned_is_rated_refused_allowed_and_forgotten_by_buttons(bank):
    session, customer = agreed_customer()
    say(session, "That is too long.")
    swept()
    assert send(page(customer), customer, "feedback", "Incorrect").status_code == 302
    assert "No active preferences." in page(customer).id("preference-answers").text()
    assert send(page(customer), customer, "refusals", "Block value").status_code == 302
    assert "Blocked: brief" in page(customer).id("preference-answers").text()
    assert send(page(customer), customer, "refusals", "Allow learning").status_code == 302
    say(session, "In short!")
    swept()
    assert "brief" in page(customer).id("preference-answers").text()
    assert send(page(customer), customer, "forget", "Delete learned values").status_code == 302
    assert "No active preferences." in page(customer).id("preference-answers").text()
    assert send(page(customer), customer, "forget", "Delete everything").status_code == 302
    assert "Past transfers" not in page(customer).text()


def test_a_button_pressed_twice_acts_once():
    _, customer = agreed_customer()
    tree = page(customer)
    for _ in range(2):
        assert send(tree, customer, "refusals", "Block learning").status_code == 302
    kinds = [entry.kind for entry in seen.profile_entries(cast.alice(), customer)]
    assert kinds.count("profile.refused") == 1


@pytest.mark.parametrize(
    ("act", "data", "status", "said"),
    [
        ("settings", {"preference": "own_limit", "value": "lots"}, 422, "an amount like"),
        ("settings", {"preference": "own_limit", "value": "-5"}, 422, "an amount like"),
        ("settings", {"preference": "careful_with_payees", "value": HOSTILE}, 422, "want yes or no"),
        ("settings", {"preference": "seat", "value": "aisle"}, 422, "no such preference"),
        ("settings", {"preference": "answers", "value": HOSTILE}, 422, "no value"),
        ("feedback", {"preference": "answers", "held": "[" * 3000, "fits": "yes"}, 422, "no value"),
        ("refusals", {"preference": "answers", "held": "{"}, 422, "no value"),
        ("consent", {"purpose": "service", "agreed": "no"}, 409, "part of the contract"),
        ("forget", {"part": "consents"}, 422, "want a preference"),
    ],
)
def test_what_makes_no_sense_is_told_on_the_page(act, data, status, said):
    _, customer = agreed_customer()
    answer = cast.browser(cast.alice()).post(reverse("customer_change", args=[customer, act]), data)
    assert answer.status_code == status
    tree = read(answer.content)
    assert said in tree.text()
    assert HOSTILE not in answer.content.decode()


def test_who_may_only_read_sees_no_button_and_is_refused():
    _, customer = agreed_customer()
    vera = cast.browser(cast.vera())
    actions = [form.attrs.get("action", "") for form in page(customer, vera).all("form")]
    assert not [action for action in actions if "/customers/" in action]
    answer = vera.post(reverse("customer_change", args=[customer, "forget"]), {"part": "everything"})
    assert answer.status_code == 403
    for stranger in (cast.charlie(), cast.adam()):
        assert cast.browser(stranger).get(reverse("customer", args=[customer])).status_code == 404


def test_an_unknown_act_is_refused():
    _, customer = agreed_customer()
    answer = cast.browser(cast.alice()).post(reverse("customer_change", args=[customer, "burn"]), {})
    assert answer.status_code == 400


def test_the_story_of_a_profile_is_told_in_words(bank):
    session, customer = agreed_customer()
    say(session, "That is too long.")
    transferred()
    swept()
    keep.refuse(cast.alice(), customer, "usual_source")
    told = page(customer).text()
    for words in ("The profile begins", "The customer agrees", "A session taught", "Must not be learned"):
        assert words in told
    work()
