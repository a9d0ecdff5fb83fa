"""The law of the pages: the page fetched before, with the fragments for what moved, equals the page fetched after."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.urls import reverse
from msgspec.structs import replace

from agentstate.people.roles import Role
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.library import policies
from tests import cast
from tests.shell.bank_world import opened, say, work
from tests.shell.pages import Node, apply, apply_to_wall, read
from tests.shell.test_pages import paused

pytestmark = pytest.mark.django_db(transaction=True)
UNTOLD = {"data-now"}  # when the page was made


@pytest.fixture(autouse=True)
def _one_instant(monkeypatch):
    """Ages and times left are counted from one instant, or no two pages are equal."""
    monkeypatch.setattr("sessions.web.frame.clock.now", lambda: datetime(2026, 11, 21, 14, 35, 52, tzinfo=UTC))


def page_of(client, address: str) -> Node:
    return read(client.get(address).content)


def body(page: Node) -> object:
    """The page as a person has it: no form's token or key of its own, no head (the title counts what the badge
    counts).
    """
    found = next(page.all("body"))
    for node in found.all("input"):
        if node.attrs.get("name") in ("csrfmiddlewaretoken", "key"):
            node.attrs["value"] = ""
    found.attrs = {name: value for name, value in found.attrs.items() if name not in UNTOLD}
    return found.id("main").shape(), found.id("badge").shape()


def _speaks(session):
    say(session, "What is my balance?")


def _asks(session):
    say(session, "I want to move $1,200.00 from savings to checking.")


def _asks_and_confirms(session):
    _asks(session)
    say(session, "Yes, that is right.")


def _hangs_up(session):
    conversation_commands.end(cast.cleo(), session, "hung up")


def _waits_then_hangs_up(session):
    _asks_and_confirms(session)
    _hangs_up(session)


COMMANDS = [_speaks, _asks, _asks_and_confirms, _hangs_up, _waits_then_hangs_up]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__.strip("_"))
def test_the_wall_with_its_fragments_is_the_wall_fetched_anew(bank, command):
    others = [opened("C-1002"), opened("C-1003")]
    session = opened("C-1001")
    work()
    client = cast.browser(cast.alice())
    before = page_of(client, reverse("live"))
    untouched = body(before)
    command(session)
    moved = [session, opened("C-1004")]
    apply_to_wall(before, page_of(client, reverse("live_changes") + "?s=" + "&s=".join(map(str, moved))))
    after = page_of(client, reverse("live"))
    assert body(before) == body(after) != untouched
    assert all(after.has(f"s-{other}") for other in others)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__.strip("_"))
def test_the_session_page_with_its_fragments_is_the_page_fetched_anew(bank, command):
    session = opened("C-1001")
    work()
    client = cast.browser(cast.alice())
    before = page_of(client, reverse("session", args=[session]))
    untouched = body(before)
    command(session)
    apply(before, page_of(client, reverse("session_changes", args=[session])))
    assert body(before) == body(page_of(client, reverse("session", args=[session]))) != untouched


@pytest.mark.parametrize("decision", ["approve", "reject", "respond"])
def test_decided_the_session_page_and_the_wall_follow(bank, decision):
    session, request = paused()
    client = cast.browser(cast.alice())
    wall, page = (page_of(client, address) for address in (reverse("live"), reverse("session", args=[session])))
    more = (
        {"reason": "not now"} if decision == "reject" else {"response": "Ask again."} if decision == "respond" else {}
    )
    approvals_commands.decide(cast.bob(), request.id, approvals_commands.Decision(decision, **more))
    work()
    apply_to_wall(wall, page_of(client, reverse("live_changes") + f"?s={session}"))
    apply(page, page_of(client, reverse("session_changes", args=[session])))
    assert body(wall) == body(page_of(client, reverse("live")))
    assert body(page) == body(page_of(client, reverse("session", args=[session])))


def test_a_page_shows_a_bounded_part_of_a_long_session_and_a_way_to_the_rest(bank, monkeypatch):
    monkeypatch.setattr("sessions.core.entry_lines.TAIL", 20)
    monkeypatch.setattr("sessions.core.entry_lines.STRIDE", 10)
    session = opened("C-1001")
    work()
    for _ in range(12):
        say(session, "What is my balance?")
    client = cast.browser(cast.alice())
    page = page_of(client, reverse("session", args=[session]))
    earlier = next(page.id("earlier").all("a")).attrs["href"]
    older = page_of(client, earlier)
    assert told(page)
    assert told(older)
    assert not told(page) & told(older)


def told(page: Node) -> set[str]:
    """The items of a conversation that a page shows."""
    ids = {node.attrs.get("id", "") for node in page.id("items").all("li")}
    return {each for each in ids if each.startswith("i-")}


def of_another_team() -> None:
    """A request that waits in team Cards."""
    caller = cast.person("calvin", Role.CALLER, cast.cards())
    session = opened(by=caller)
    for said in ("I want to move $1,200.00 from savings to checking.", "Yes, that is right."):
        conversation_commands.say(caller, session, said)
        work()
    assert [line.session for line in approvals_queries.requests(cast.charlie())] == [session]


def for_somebody_else(monkeypatch) -> None:
    """A request of this team that only Bob may decide."""
    bank = policies.named("bank")
    rules = tuple(replace(rule, reviewers=("user:bob",) if rule.gate == "approve" else ()) for rule in bank.rules)
    monkeypatch.setattr(registry, "policy_named", lambda _: replace(bank, rules=rules))
    paused()


def test_the_badge_the_list_and_the_api_count_the_same(bank, monkeypatch):
    """Three that she may decide. One of another team counts nowhere; one for somebody else is listed with who may."""
    for _ in range(3):
        paused()
    of_another_team()
    cast.bob()
    for_somebody_else(monkeypatch)
    assert len(approvals_queries.requests(cast.alice())) == 4
    alice = cast.browser(cast.alice())
    badge = page_of(alice, reverse("decisions")).id("badge").attrs["data-count"]
    queue = page_of(alice, reverse("decisions")).id("queue")
    listed = [node for node in queue.all("li") if node.attrs.get("id", "").startswith("q-")]
    assert len(listed) == 4
    listed = [node for node in listed if "Allowed: Bob." not in node.text()]
    api = alice.get("/api/v1/requests?mine=true&state=pending").json()["requests"]
    assert int(badge) == len(listed) == len(api) == 3
    assert page_of(alice, reverse("live")).id("figures").text().split("Need a decision ")[1].startswith("4 3 for you")
