"""The page of a session's versions: everything on it can be done with forms alone."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client

from sessions.conversation import commands as conversation_commands
from sessions.core import session_lines
from sessions.versions import commands as versions_commands
from tests import cast
from tests.shell import pages
from tests.shell.bank_world import events, kinds, opened, state, work
from tests.shell.test_changes import contested
from tests.shell.test_versions import moved

pytestmark = pytest.mark.django_db(transaction=True)


def page(client: Client, session: UUID, query: str = "", status: int = 200) -> pages.Node:
    answer = client.get(f"/sessions/{session}/versions/{query}")
    assert answer.status_code == status
    return pages.read(answer.content)


def form(client: Client, session: UUID, act: str, **more: str) -> dict[str, str]:
    """The hidden fields of a form of the page, with what a person types."""
    shown = page(client, session, more.pop("query", ""))
    found = next(node for node in shown.all("form") if node.attrs.get("action", "").endswith(f"/{act}/"))
    hidden = {
        node.attrs["name"]: node.attrs["value"] for node in found.all("input") if node.attrs.get("type") == "hidden"
    }
    return {**hidden, **more}


def sent(client: Client, session: UUID, act: str, status: int = 302, **fields: str) -> str:
    answer = client.post(f"/sessions/{session}/versions/{act}/", form(client, session, act, **fields))
    assert answer.status_code == status, answer.content
    return answer.headers.get("Location", "") or answer.content.decode()


def test_the_session_page_leads_there(bank):
    session = moved()
    client = cast.browser(cast.alice())
    assert f"/sessions/{session}/versions/" in client.get(f"/sessions/{session}/").content.decode()
    assert "Before an external effect" in page(client, session).text()


def test_going_back_is_shown_first_and_done_by_a_second_form(bank):
    session, client = moved(), cast.browser(cast.alice())
    shown = page(client, session, "?back=3").text()
    assert "External effects that cannot be undone" in shown
    assert "$400.00" in shown
    assert "Move the same amount back with a new transfer" in shown
    sent(client, session, "rollback", query="?back=3", reason="it misheard")
    assert state(session).epoch == 1
    assert events(session, "session.rolled_back")[0]["reason"] == "it misheard"


def test_a_reason_that_is_missing_is_told_on_the_page(bank):
    session, client = moved(), cast.browser(cast.alice())
    told = sent(client, session, "rollback", query="?back=3", reason=" ", status=422)
    assert "must not be empty" in told
    assert state(session).epoch == 0


def test_a_point_gets_a_name_and_is_compared(bank):
    session, client = moved(), cast.browser(cast.alice())
    sent(client, session, "name", name="before the money", seq="3")
    assert "before the money" in page(client, session).text()
    told = page(client, session, "?from=3").text()
    assert "From entry 2 to now" in told
    assert "savings ··" in told or "$" in told


def test_a_fork_is_made_looked_at_and_takes_over(bank):
    session, client = moved(), cast.browser(cast.alice())
    there = sent(client, session, "fork", reason="what if")
    child = UUID(there.split("/")[2])
    assert "This is a fork" in page(client, child).text()
    assert str(child) in str(page(client, session).shape())
    sent(client, child, "promote", reason="better")
    assert "session.ended" in kinds(session)
    assert "Replaced by another version" in page(client, session).text()
    assert "Replaces" in page(client, child).text()


def test_contested_values_are_voted_on_and_settled(bank):
    session = opened()
    work()
    found = contested(session)
    alice = cast.browser(cast.alice())
    assert "order a card" in page(alice, session).text()
    sent(alice, session, "vote")
    wanted = next(each.id for each in found.proposals if each.id)
    sent(alice, session, "settle", proposal=wanted, reason="listened again")
    assert state(session).pad["goal"] == "order a card"
    assert "Settled" in page(alice, session).text()


def test_what_would_have_been_is_told_in_sentences(bank):
    session, client = moved(), cast.browser(cast.alice())
    assert "No call would have been decided differently" in page(client, session, "?replay=1").text()


def test_who_may_only_read_sees_no_form_that_changes(bank):
    session = moved()
    shown = page(cast.browser(cast.vera()), session)
    assert not [node for node in shown.all("form") if "/versions/" in node.attrs.get("action", "")]
    page(cast.browser(cast.vera()), session, "?back=3", status=403)
    page(cast.browser(cast.adam()), session, status=403)
    page(cast.browser(cast.charlie()), session, status=404)
    answer = cast.browser(cast.vera()).post(f"/sessions/{session}/versions/name/", {"name": "x"})
    assert answer.status_code == 403


@pytest.mark.parametrize("query", ["?back=0", "?back=x", "?from=-1", "?back=99999999999999999999"])
def test_an_address_that_makes_no_sense_shows_the_plain_page(bank, query):
    session = opened()
    page(cast.browser(cast.alice()), session, query)


def test_what_is_not_there_is_not_found(bank):
    session, client = opened(), cast.browser(cast.alice())
    page(client, session, "?back=9999", status=404)
    assert client.post(f"/sessions/{session}/versions/juggle/", {}).status_code == 400


def test_a_fork_shows_drafts_as_drafts(bank):
    session = moved()
    child = versions_commands.fork(cast.alice(), session, reason="what if").session
    conversation_commands.say(cast.alice(), child, "Move $50.00 from savings to checking.")
    work()
    shown = cast.browser(cast.alice()).get(f"/sessions/{child}/").content.decode()
    assert "Draft reply" in shown
    assert session_lines.session_line(cast.alice(), child).fork_of == session
