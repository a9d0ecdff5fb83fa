"""The page of what the agent remembers and was shown, and the pins on the session's page: without JavaScript."""

from __future__ import annotations

import pytest
from django.urls import reverse

from sessions.conversation import commands as conversation_commands
from tests import cast
from tests.shell.bank_world import kinds, opened, say, state

pytestmark = pytest.mark.django_db(transaction=True)


def page(user, name: str, session, **query: str) -> str:
    answer = cast.browser(user).get(reverse(name, args=[session]), query)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def mind(user, session, **sent: object):
    return cast.browser(user).post(reverse("memory_mind", args=[session]), sent)


def heard(session) -> int:
    """The entry of the customer's first message."""
    return kinds(session).index("message.added")


def test_the_page_shows_what_the_model_was_given_and_that_it_is_proved(bank):
    session = opened("C-1001")
    say(session, "I want to move $120.00 from savings to checking.")
    shown = page(cast.alice(), "memory", session)
    assert "byte for byte" in shown
    assert "I want to move $120.00 from savings to checking." in shown
    assert "Instructions" in shown
    first = kinds(session).index("model.requested")
    assert "Next step" in page(cast.alice(), "memory", session, step=str(first))


def test_before_any_model_was_asked_the_page_says_so():
    session = opened("C-1001")
    conversation_commands.say(cast.cleo(), session, "Hello?")
    assert "No model request yet." in page(cast.alice(), "memory", session)


def test_a_message_is_pinned_rated_and_unpinned_by_forms(bank):
    session = opened("C-1001")
    say(session, "Never more than $500.00.")
    assert mind(cast.alice(), session, seq=heard(session), act="pin", why="her limit").status_code == 302
    assert mind(cast.alice(), session, seq=heard(session), act="rate", rating=2).status_code == 302
    assert "her limit" in page(cast.alice(), "session", session)
    assert f"Unpin entry {heard(session)}" in page(cast.alice(), "memory", session)
    assert mind(cast.alice(), session, seq=heard(session), act="unpin").status_code == 302
    assert state(session).memory.pins == ()
    assert state(session).memory.ratings == {str(heard(session)): 2}


@pytest.mark.parametrize("sent", [{"seq": 99, "act": "pin"}, {"seq": "x", "act": "pin"}, {"seq": 1, "act": "eat"}, {}])
def test_what_is_refused_is_told_on_the_page(bank, sent):
    session = opened("C-1001")
    answer = mind(cast.alice(), session, **sent)
    assert answer.status_code in (400, 404)
    assert 'role="alert"' in answer.content.decode()


def test_who_may_not_guide_sees_no_buttons_and_is_refused(bank):
    session = opened("C-1001")
    say(session, "Hello?")
    assert "memory/mind/" not in page(cast.vera(), "memory", session)
    assert mind(cast.vera(), session, seq=1, act="pin").status_code == 403
    assert mind(cast.charlie(), session, seq=1, act="pin").status_code == 404
    assert cast.browser(cast.charlie()).get(reverse("memory", args=[session])).status_code == 404
