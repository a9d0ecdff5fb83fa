"""The card of a request says what differs from the customer's words before anything is sent, keeps the words that bear
on the decision, and a refusal goes to the field that it is about.
"""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from sessions.approvals import decision_form
from sessions.approvals import queries as approvals_queries
from sessions.approvals.submitted import Unfinished
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.models.sessions import ApprovalRequest
from sessions.runtime import sweeper
from tests import cast
from tests.shell import test_terms
from tests.shell.api_world import Api
from tests.shell.bank_world import events, opened, say, work
from tests.shell.pages import Node, read
from tests.shell.test_pages import paused
from tests.shell.test_pages_decisions import card, form_of, outcome
from tests.shell.test_terms import AMOUNT

pytestmark = pytest.mark.django_db(transaction=True)
asking = test_terms.asking


def misheard():
    """A request whose agent heard $4,800 where the customer said forty-three hundred, twice."""
    session = opened("C-1001")
    work()
    say(session, "I need forty-three hundred dollars moved from my savings to my checking, please.")
    say(session, "Yes. Forty-three hundred, that's right.")
    return session, next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)


def differs(page: Node) -> list[str]:
    return [node.text() for node in page.id("differences").all("li")]


def post(client, request, button: str, form: dict[str, str], **changes: str):
    return client.post(reverse("decision", args=[request]), {**form, **changes, "decision": button})


def test_the_card_says_what_was_said_and_what_is_sent(bank):
    session, request = misheard()
    assert request.arguments["amount"]["minor"] == 480000
    client = cast.browser(cast.alice())
    page = card(client, request.id)
    [line] = differs(page)
    assert line.startswith("Said $4,300.00, sends $4,800.00.")
    said = next(node for node in page.id("differences").all("a")).attrs["href"].removeprefix("#")
    assert "that's right." in page.id(said).text()
    assert not [node for node in page.id("card").all("li") if node.attrs.get("class") == "ok"]
    assert post(client, request.id, "approve", form_of(page)).status_code == 302  # it was shown: it may be approved
    shown = events(session, "decision.made")[-1]["shown"]["data"]
    assert [(each["kind"], each["sends"]["minor"]) for each in shown["differences"]] == [("differs", 480000)]
    seen = read(client.get(reverse("decision_seen", args=[request.id])).content).text()
    assert "Said $4,300.00, sends $4,800.00." in seen


def test_the_api_says_the_same_and_records_it(bank):
    session, request = misheard()
    api = Api(cast.alice())
    told = api.get(f"/requests/{request.id}").json()
    page = json.loads(json.dumps(approvals_queries.differences_of_request(cast.alice(), request.id)))
    assert told["differences"] == [{key: each[key] for key in each if key != "was"} for each in page]
    assert page[0]["said"][0]["value"] == {"minor": 430000, "currency": "USD"}
    api.post(f"/requests/{request.id}/decisions", {"decision": "approve", "seen": told["digest"]})
    assert events(session, "decision.made")[-1]["shown"]["data"]["differences"] == page


def test_who_may_not_decide_reads_the_difference_too(bank):
    _, request = misheard()
    assert differs(card(cast.browser(cast.vera()), request.id))[0].startswith("Said $4,300.00, sends $4,800.00.")


def test_what_agrees_has_no_sign_at_all(bank):
    _, request = paused()
    page = card(cast.browser(cast.alice()), request.id)
    assert differs(page) == []
    assert page.id("differences").text() == ""


def test_an_edit_is_sent_once_its_changes_were_shown(bank):
    session, request = misheard()
    before = bank.transfers("C-1001")
    client = cast.browser(cast.alice())
    form = form_of(card(client, request.id))
    stranger = states.load(session).state.pad["customer"]["accounts"]
    other = {each["kind"]: each["id"] for each in stranger}
    changes = {"arg.amount": "4,100.00", "arg.to_account": other["savings"], "reason": "As I heard it."}
    answer = post(client, request.id, "approve", form, **changes)
    page = read(answer.content)
    assert (answer.status_code, outcome(request.id)) == (422, "pending")
    text = " ".join(differs(page))
    assert "You change the amount from $4,800.00 to $4,100.00." in text
    assert "You change the to account from checking ··" in text
    assert "Said $4,300.00, sends $4,100.00." in text
    assert "autofocus" in page.id("differences").attrs
    assert "Nothing was sent yet" in page.id("notes").text()
    form = form_of(page)
    assert (form["arg.amount"], form["reason"]) == ("4,100.00", "As I heard it.")
    post(client, request.id, "approve", form, **{"arg.amount": "4,200.00"})  # another edit: shown first
    assert outcome(request.id) == "pending"
    assert bank.transfers("C-1001") == before


def test_a_field_that_cannot_be_read_leaves_the_form_unfinished(bank, monkeypatch):
    _, request = misheard()
    client, refusals, refused = cast.browser(cast.alice()), [], decision_form._refused
    monkeypatch.setattr(decision_form, "_refused", lambda *given: refusals.append(given[-1]) or refused(*given))
    answer = post(client, request.id, "approve", form_of(card(client, request.id)), **{"arg.amount": "a lot"})
    assert (answer.status_code, outcome(request.id)) == (422, "pending")
    assert [type(refusal) for refusal in refusals] == [Unfinished]


def test_an_edit_that_was_shown_is_recorded_as_shown(bank):
    session, request = misheard()
    client = cast.browser(cast.alice())
    changes = {"arg.amount": "4,300.00", "reason": "Forty-three hundred."}
    page = read(post(client, request.id, "approve", form_of(card(client, request.id)), **changes).content)
    assert [each[:10] for each in differs(page)] == ["You change"]
    post(client, request.id, "approve", form_of(page))
    assert outcome(request.id) == "edited"
    shown = events(session, "decision.made")[-1]["shown"]["data"]["differences"]
    assert [(each["kind"], each["was"]["minor"], each["sends"]["minor"]) for each in shown] == [
        ("changed", 480000, 430000)
    ]


def test_while_it_is_edited_the_page_asks_what_differs_and_nothing_is_decided(bank):
    _, request = misheard()
    client = cast.browser(cast.alice())
    form = {**form_of(card(client, request.id)), "arg.amount": "4,100.00"}
    part = read(post(client, request.id, "check", form).content)
    assert len(differs(part)) == 2
    assert outcome(request.id) == "pending"
    form |= {"view": part.id("view").attrs["value"], "reason": "x"}
    assert post(client, request.id, "approve", form).status_code == 302
    unread = read(post(client, request.id, "check", {**form, "arg.amount": "a lot"}).content)
    assert unread.id("differences").attrs.get("autofocus") is None


def test_what_the_customer_says_after_the_page_was_read_is_shown_before_it_is_sent(bank):
    session, request = paused()
    client = cast.browser(cast.alice())
    form = form_of(card(client, request.id))
    conversation_commands.say(cast.cleo(), session, "Sorry, I meant $1,100.")
    page = read(post(client, request.id, "approve", form).content)
    assert outcome(request.id) == "pending"
    assert differs(page)[0].startswith("Said $1,200.00, later $1,100.00; sends $1,200.00.")
    assert post(client, request.id, "reject", form, reason="They meant less.").status_code == 302


def test_what_is_typed_blind_has_its_sign_after_it_was_typed(asking):
    request, client = asking(retype=(AMOUNT,)), cast.browser(cast.alice())
    conversation_commands.say(
        cast.cleo(), approvals_queries.request_line(cast.alice(), request).session, "Sorry, I meant $1,100."
    )
    page = card(client, request)
    assert differs(page) == []
    assert Api(cast.alice()).get(f"/requests/{request}").json()["differences"] == []
    empty = read(post(client, request, "approve", form_of(page)).content)
    assert differs(empty) == []
    assert empty.id(f"retype.{AMOUNT}-e").text() == "Type the amount yourself, as 4,300.00."
    typed = {f"retype.{AMOUNT}": "1,200.00"}
    shown = read(post(client, request, "approve", form_of(page), **typed).content)
    assert differs(shown)[0].startswith("Said $1,200.00, later $1,100.00; sends $1,200.00.")
    assert outcome(request) == "pending"
    assert post(client, request, "approve", form_of(shown)).status_code == 302


def test_decisive_words_stay_however_long_ago_they_were_said(bank):
    session = opened("C-1001")
    work()
    say(session, "The man from your security department says my money is only safe there.")
    for number in range(8):
        say(session, f"Hello? I am still here, {'x' * number}.")
    say(session, "I want to move $1,200 from savings to checking.")
    say(session, "Yes, that is right.")
    request = next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)
    for number in range(40):
        conversation_commands.say(cast.cleo(), session, f"Thank you, {'y' * number}.")
    conversation_commands.say(cast.cleo(), session, "Two, three, zero, zero.")
    for number in range(40):
        conversation_commands.say(cast.cleo(), session, f"I can wait, {'z' * number}.")
    conversation_commands.say(cast.cleo(), session, "And the newest.")
    said = card(cast.browser(cast.alice()), request.id).id("said").text()
    for words in ("security department", "$1,200", "Two, three, zero, zero", "And the newest."):
        assert words in said
    assert "Hello? I am still here, xx." not in said  # filler: it would push the form off the screen


def test_a_request_that_is_asked_again_links_the_one_before_with_its_end(bank):
    session, first = paused()
    ApprovalRequest.objects.filter(pk=first.id).update(expires_at="2020-01-01T00:00:00Z")
    sweeper.expire_due()
    work()
    say(session, "Please try again, move $1,200.00 from savings to checking.")
    say(session, "Yes, that is right.")
    second = next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)
    assert second.id != first.id
    said = card(cast.browser(cast.alice()), second.id).id("said")
    ended = approvals_queries.request_line(cast.alice(), first.id).ended_at
    before = next(node for node in said.all("li") if node.attrs.get("class") == "cut")
    assert "Earlier request: Expired" in before.text()
    assert f"{ended:%H:%M:%S}" in before.text()
    assert [node.attrs["href"] for node in before.all("a")] == [reverse("decision", args=[first.id])]
    assert "I want to move $1,200.00" in said.text()  # from before the request before


@pytest.mark.parametrize(
    ("button", "changes", "field", "words"),
    [
        ("reject", {}, "reason", "Type a note: it is needed to edit, reject or pass on."),
        ("approve", {"arg.amount": "1,100.00"}, "reason", "Type a note: it is needed to edit, reject or pass on."),
        ("approve", {"arg.amount": "a lot"}, "arg.amount", "This needs an amount like 4,300.00."),
        ("approve", {"arg.amount": "0.00", "reason": "x"}, "arg.amount", "Minimum: want 1"),
    ],
)
def test_a_refusal_names_the_field_goes_there_and_says_what_to_type(bank, button, changes, field, words):
    _, request = paused()
    client = cast.browser(cast.alice())
    page = read(post(client, request.id, button, form_of(card(client, request.id)), **changes).content)
    focused = [node.attrs["id"] for node in page.all() if "autofocus" in node.attrs]
    assert focused == [field]
    assert words in page.id(f"{field}-e").text()
    [link] = page.id("errors").all("a")
    assert (link.attrs["href"], words in link.text()) == (f"#{field}", True)


def test_a_refusal_about_typing_and_reasons_goes_to_the_first_of_them(asking):
    request, client = asking(retype=(AMOUNT,), reasons=("identified",)), cast.browser(cast.alice())
    page = card(client, request)
    empty = read(post(client, request, "approve", form_of(page)).content)
    assert [node.attrs["id"] for node in empty.all() if "autofocus" in node.attrs] == [f"retype.{AMOUNT}"]
    typed = {f"retype.{AMOUNT}": "1,100.00", "code": "identified"}
    other = read(post(client, request, "approve", form_of(page), **typed).content)
    assert "You typed $1,100.00, the call sends another." in other.id(f"retype.{AMOUNT}-e").text()
    typed = {f"retype.{AMOUNT}": "1,200.00"}
    code = read(post(client, request, "approve", form_of(page), **typed).content)
    assert [node.attrs["id"] for node in code.all() if "autofocus" in node.attrs] == ["code"]
    assert code.id("code-e").text() == "Choose one of the reasons."
