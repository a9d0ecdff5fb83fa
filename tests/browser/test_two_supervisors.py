"""Two people, one request: one of them decides, and the other reads who did and when."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.console import Desk, live, was_not_reloaded
from tests.browser.demo import Demo
from tests.processes import eventually

MAYA, PRIYA = "Maya Okafor", "Priya Raman"


def at_the_card(desk: Desk, username: str, request: str) -> Page:
    """A browser of that person, with the request open."""
    page = desk.person(username)
    page.goto(f"/decisions/{request}/")
    return live(page)


def test_two_who_approve_at_the_same_time_move_the_money_once(desk: Desk, demo: Demo):
    """Without JavaScript, so that neither page learns of the other's click before its own is sent."""
    desk.complaints.expect("status of 409")
    call = demo.call().asks_to_move(1400)
    pages = [desk.person(username, java_script_enabled=False) for username in ("supervisor", "second")]
    for page in pages:
        page.goto(f"/decisions/{call.request()}/")
    for page in pages:
        page.get_by_role("button", name="Approve").click(no_wait_after=True)
    for page in pages:
        expect(page.locator("#notes")).to_contain_text(re.compile("Approved|before you"))
    told = [page.locator("#notes").inner_text() for page in pages]
    [lost] = [index for index, text in enumerate(told) if "before you" in text]
    winner = (MAYA, PRIYA)[1 - lost]
    assert re.search(rf"{winner} closed this at \d\d:\d\d:\d\d before you: approved", told[lost])
    expect(pages[lost].get_by_role("button", name="Approve")).to_have_count(0)
    eventually(lambda: demo.moved(call.person), what="the transfer")
    assert [amount for amount, _ in demo.moved(call.person)] == [140_000]


def test_a_card_that_is_open_turns_read_only_when_somebody_else_decides(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1400)
    request = call.request()
    mine, theirs = at_the_card(desk, "supervisor", request), at_the_card(desk, "second", request)
    mine.get_by_label("Note (required").fill("I was about to say")
    theirs.get_by_label("Note (required").fill("Sounds coached")
    theirs.get_by_role("button", name="Reject").click()
    card = mine.locator("#card")
    expect(card.locator("#settled")).to_contain_text(re.compile(rf"Rejected\s+by\s+.*{PRIYA}\s+at \d\d:\d\d:\d\d"))
    expect(card.locator("#settled")).to_contain_text("Sounds coached")
    expect(card.get_by_role("button")).to_have_count(0)
    expect(mine.locator("#polite")).to_contain_text("Rejected")
    assert was_not_reloaded(mine)
    assert demo.moved(call.person) == []


def test_what_one_types_stays_while_the_queue_and_the_card_change(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1400)
    page = at_the_card(desk, "supervisor", call.request())
    page.get_by_label("Amount").fill("1,350")
    page.get_by_label("Note (required").type("Half a sen")
    other = demo.call().asks_to_move(1500)
    expect(page.locator("#queue")).to_contain_text(other.person.name)
    call.say("Are you still there?")
    expect(page.locator("#said")).to_contain_text("Are you still there?")
    page.keyboard.type("tence")
    expect(page.get_by_label("Note (required")).to_have_value("Half a sentence")
    expect(page.get_by_label("Amount")).to_have_value("1,350")
    assert was_not_reloaded(page)


def test_an_edit_that_was_shown_can_be_sent_while_a_newer_check_is_under_way(desk: Desk, demo: Demo):
    """Something else changes on the card, and the server has not yet said again what the edit amounts to."""
    call = demo.call().asks_to_move(1400)
    page = at_the_card(desk, "supervisor", call.request())
    page.get_by_label("Amount").fill("1,350")
    page.get_by_label("Note (required").fill("The caller said thirteen fifty.")
    changed = "You change the amount from $1,400.00 to $1,350.00."
    expect(page.locator("#differences")).to_contain_text(changed)
    expect(page.locator("#claimed")).to_contain_text("Claimed by you")
    held = []
    page.route("**/decisions/*/", lambda route: held.append(route) if _checks(route) else route.continue_())
    call.say("Are you still there?")
    expect(page.locator("#said")).to_contain_text("Are you still there?")
    eventually(lambda: held, what="a check that nobody answers")
    expect(page.locator("#differences")).to_contain_text(changed)
    page.get_by_role("button", name="Approve $1,350.00").click()
    expect(page.locator("#notes")).to_contain_text("Edited, approved")


def _checks(route: Route) -> bool:
    return 'name="decision"\r\n\r\ncheck' in (route.request.post_data or "")
