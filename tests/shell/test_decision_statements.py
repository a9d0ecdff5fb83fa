"""A decision decides first: few statements, and no card unless it is refused."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.urls import reverse

from benchmarks.pages.statements import statements
from sessions.approvals import cards, decision_form
from tests import cast
from tests.shell.api_world import Api
from tests.shell.test_pages import paused
from tests.shell.test_pages_decisions import card, form_of, outcome

MOST = 15

pytestmark = pytest.mark.django_db(transaction=True)


def clicked(client: Any, request: UUID, **changes: str) -> tuple[Any, list[str]]:
    """The answer to the card's form, and the statements that it took."""
    form = {**form_of(card(client, request)), "decision": "approve", **changes}
    with statements() as sent:
        answer = client.post(reverse("decision", args=[request]), form)
    return answer, sent


@pytest.mark.parametrize("changes", [{}, {"decision": "reject", "reason": "a scam"}])
def test_a_click_on_the_page_decides_with_few_statements_and_builds_no_card(bank, monkeypatch, changes):
    paused()
    _, request = paused()
    client = cast.browser(cast.alice())
    card(client, request.id)
    monkeypatch.setattr(decision_form, "card_of", lambda *_: pytest.fail("a card was built"))
    form = {**form_of(card(client, request.id)), "decision": "approve", **changes}
    with statements() as sent:
        answer = client.post(reverse("decision", args=[request.id]), form)
    assert answer.status_code == 302
    assert outcome(request.id) != "pending"
    assert len(sent) <= MOST, "\n".join(sent)


def test_a_refused_click_shows_the_card(bank, monkeypatch):
    _, request = paused()
    built = []
    monkeypatch.setattr(decision_form, "card_of", lambda *each: built.append(each) or cards.card_of(*each))
    answer, _ = clicked(cast.browser(cast.alice()), request.id, decision="reject")
    assert (answer.status_code, len(built)) == (422, 1)


def test_a_decision_over_the_api_takes_few_statements(bank):
    _, request = paused()
    api = Api(cast.alice())
    api.get(f"/requests/{request.id}")
    with statements() as sent:
        answer = api.post(f"/requests/{request.id}/decisions", {"decision": "approve", "idempotency_key": "k"})
    assert answer.status_code == 201
    assert len(sent) <= MOST, "\n".join(sent)


def test_the_statements_of_every_way_to_the_database_are_counted(bank):
    """An append goes past Django's cursor and past psycopg's."""
    _, request = paused()
    _, sent = clicked(cast.browser(cast.alice()), request.id)
    assert sum("INSERT INTO audit_entry" in each for each in sent) == 1
    assert sum("FOR UPDATE" in each and "audit_head" in each for each in sent) == 1
    assert any('"django_session"' in each for each in sent)
