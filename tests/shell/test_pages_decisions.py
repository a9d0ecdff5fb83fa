"""The card: every decision by a plain form, refusals beside what they are about, and never a dead end."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.urls import reverse

from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import ApprovalRequest
from sessions.runtime import sweeper
from tests import cast
from tests.shell.bank_world import events, work
from tests.shell.pages import Node, read
from tests.shell.test_pages import paused

pytestmark = pytest.mark.django_db(transaction=True)


def card(client, request: UUID) -> Node:
    return read(client.get(reverse("decision", args=[request])).content)


def form_of(page: Node) -> dict[str, str]:
    """What a browser without JavaScript would send of the card, but for the button."""
    form = page.id("decide")
    sent = {node.attrs["name"]: node.attrs.get("value", "") for node in form.all("input") if "name" in node.attrs}
    sent |= {node.attrs["name"]: node.typed() for node in form.all("textarea")}
    for select in form.all("select"):
        sent[select.attrs["name"]] = next(o.attrs["value"] for o in select.all("option") if "selected" in o.attrs)
    return sent


def send(client, request: UUID, button: str, **changes: str):
    """Send the card's form as somebody who reads what it says differs, and then sends the same again."""
    form = {**form_of(card(client, request)), **changes, "decision": button}
    answer = client.post(reverse("decision", args=[request]), form, follow=True)
    if answer.status_code == 422 and "autofocus" in (page := read(answer.content)).id("differences").attrs:
        return client.post(reverse("decision", args=[request]), {**form_of(page), "decision": button}, follow=True)
    return answer


def outcome(request: UUID) -> str:
    return approvals_queries.request_line(cast.alice(), request).state


def test_the_form_unchanged_is_an_approval(bank):
    session, request = paused()
    before = bank.transfers("C-1001")
    answer = send(cast.browser(cast.alice()), request.id, "approve")
    work()
    assert outcome(request.id) == "approved"
    assert [row[0] for row in bank.transfers("C-1001")[len(before) :]] == [120000]
    assert "Approved" in read(answer.content).id("notes").text()
    assert events(session, "decision.made")[0]["by"] == cast.alice().actor


def test_a_changed_amount_is_an_edit_in_whole_cents(bank):
    session, request = paused()
    before = bank.transfers("C-1001")
    client = cast.browser(cast.alice())
    send(client, request.id, "approve", **{"arg.amount": "1,100.50"}, reason="The customer said 1,100.50.")
    work()
    made = events(session, "decision.made")[0]
    assert (made["decision"], made["arguments"]["amount"]) == ("edit", {"minor": 110050, "currency": "USD"})
    assert [row[0] for row in bank.transfers("C-1001")[len(before) :]] == [110050]
    shown = card(client, request.id)
    settled = shown.id("settled").text()
    assert "Edited, approved" in settled
    assert " $1,100.50 " in settled
    assert shown.id("ask").text().startswith("The agent proposed: Move $1,200.00")
    assert shown.id("made").text() == "Edited to: amount $1,100.50, by you"
    assert "$99.50 less" in settled


def test_a_rejection_moves_nothing_and_keeps_the_reason(bank):
    _, request = paused()
    before = bank.transfers("C-1001")
    client = cast.browser(cast.alice())
    send(client, request.id, "reject", reason="The customer meant another account.")
    work()
    assert bank.transfers("C-1001") == before
    text = card(client, request.id).text()
    assert "Rejected by A You" in text  # a mark with her initial, and the word
    assert "The customer meant another account." in text


def test_asking_again_tells_the_agent(bank):
    session, request = paused()
    send(cast.browser(cast.alice()), request.id, "respond", reason="Digit by digit, please.")
    assert outcome(request.id) == "responded"
    assert "Digit by digit, please." in events(session, "decision.made")[0]["response"]


@pytest.mark.parametrize("button", ["approve", "reject"])
def test_an_edit_or_rejection_without_a_reason_keeps_what_was_typed(bank, button):
    _, request = paused()
    answer = send(cast.browser(cast.alice()), request.id, button, **{"arg.amount": "7.25"})
    assert answer.status_code == 422
    page = read(answer.content)
    assert page.id("arg.amount").attrs["value"] == "7.25"
    assert page.id("reason").attrs["aria-describedby"] == "reason-e"
    assert outcome(request.id) == "pending"


@pytest.mark.parametrize("typed", ["", "4300.001", "1e5", "-5", "NaN", "12,34", "four", "9" * 30, "１２"])
def test_what_is_no_amount_is_said_beside_the_field(bank, typed):
    _, request = paused()
    answer = send(cast.browser(cast.alice()), request.id, "approve", **{"arg.amount": typed}, reason="x")
    assert answer.status_code == 422
    page = read(answer.content)
    assert page.id("arg.amount").attrs["value"] == typed
    assert "This needs" in page.id("arg.amount-e").text()
    assert outcome(request.id) == "pending"


def test_an_edit_that_breaks_the_tools_schema_is_said_beside_the_field(bank):
    _, request = paused()
    answer = send(cast.browser(cast.alice()), request.id, "approve", **{"arg.amount": "0.00"}, reason="nothing")
    assert answer.status_code == 422
    assert "Minimum: want 1" in read(answer.content).id("arg.amount-e").text()
    assert outcome(request.id) == "pending"


def test_an_account_that_is_not_offered_is_refused(bank):
    _, request = paused()
    answer = send(cast.browser(cast.alice()), request.id, "approve", **{"arg.to_account": "9999999999"}, reason="x")
    assert answer.status_code == 422
    assert outcome(request.id) == "pending"


def test_the_second_to_decide_reads_who_was_first_and_when(bank):
    _, request = paused()
    alice = cast.browser(cast.alice())
    form = {**form_of(card(alice, request.id)), "decision": "approve"}
    send(cast.browser(cast.bob()), request.id, "reject", reason="amount unclear")
    answer = alice.post(reverse("decision", args=[request.id]), form)
    assert answer.status_code == 409
    page = read(answer.content)
    ended = ApprovalRequest.objects.get(pk=request.id).ended_at
    assert f"Bob closed this at {ended:%H:%M:%S}" in page.id("notes").text()
    assert not page.has("acts")
    assert outcome(request.id) == "rejected"


def test_the_same_form_sent_twice_decides_once(bank):
    session, request = paused()
    client = cast.browser(cast.alice())
    form = {**form_of(card(client, request.id)), "decision": "approve"}
    answers = [client.post(reverse("decision", args=[request.id]), form) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [302, 302]
    assert len(events(session, "decision.made")) == 1


def test_an_expired_request_ends_by_name(bank):
    cast.alice()  # can approve it when it is asked
    _, request = paused()
    ApprovalRequest.objects.filter(pk=request.id).update(expires_at="2020-01-01T00:00:00Z")
    client = cast.browser(cast.alice())
    form = {"decision": "approve", "key": "late"}
    late = client.post(reverse("decision", args=[request.id]), {**form_of_fields(request), **form})
    assert late.status_code == 409
    assert "deadline" in read(late.content).id("notes").text()
    sweeper.expire_due()
    assert "No decision before the deadline" in card(client, request.id).id("settled").text()
    assert str(request.id) in client.get(reverse("decisions") + "?view=expired").content.decode()


def form_of_fields(request) -> dict[str, str]:
    amount = request.arguments["amount"]["minor"]
    ends = {f"arg.{name}": request.arguments[name] for name in ("from_account", "to_account")}
    return {**ends, "arg.amount": f"{amount / 100:.2f}"}


def test_after_a_decision_the_next_request_is_shown(bank):
    _, first = paused()
    _, second = paused("$1,300.00")
    answer = send(cast.browser(cast.alice()), first.id, "approve")
    landed = read(answer.content)
    assert landed.id("card").attrs["data-request"] != str(first.id)
    assert reverse("decision", args=[first.id]) in answer.content.decode()
    assert outcome(second.id) == "pending"


def test_a_viewer_reads_the_card_and_cannot_decide(bank):
    _, request = paused()
    vera = cast.browser(cast.vera())
    page = card(vera, request.id)
    assert not page.has("acts")
    assert "View only: you may not decide this request." in page.id("notes").text()
    answer = vera.post(reverse("decision", args=[request.id]), {**form_of_fields(request), "decision": "approve"})
    assert answer.status_code == 403
    assert outcome(request.id) == "pending"


@pytest.mark.parametrize("sent", [{}, {"decision": "delete"}, {"decision": "edit"}])
def test_a_form_without_a_known_button_decides_nothing(bank, sent):
    _, request = paused()
    answer = cast.browser(cast.alice()).post(reverse("decision", args=[request.id]), sent)
    assert answer.status_code == 422
    assert outcome(request.id) == "pending"


def test_enter_in_a_field_presses_no_button(bank):
    _, request = paused()
    form = card(cast.browser(cast.alice()), request.id).id("decide")
    first = next(node for node in form.all("button"))
    assert "disabled" in first.attrs  # browsers submit by Enter through the first button, and not when it is disabled


def test_the_card_shows_words_call_evidence_and_rule(bank):
    session, request = paused()
    conversation_commands.say(cast.cleo(), session, "I said $1,100.00, not twelve hundred.")
    page = card(cast.browser(cast.alice()), request.id)
    marked = [node.text() for node in page.id("said").all("mark")]
    assert "$1,200.00" in marked
    assert "$1,100.00" in marked  # said since: the card must not hide a correction
    assert '"minor": 120000' in page.id("call").text()
    assert "Authorization: yes" in page.text()
    assert "transfer.large" in page.text()
    assert "Leaves $" in page.id("fields").text()
