"""A supervisor takes part in a conversation, by keyboard, while a colleague and the caller look on."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.console import Desk, live, was_not_reloaded
from tests.browser.demo import Call, Demo

GUIDANCE = "She was promised a call back yesterday."


def at(desk: Desk, username: str, call: Call, **wishes: object) -> Page:
    """A browser of that person at the session."""
    page = desk.person(username, **wishes)
    page.goto(f"/sessions/{call.id}/")
    return page


def caller(desk: Desk, call: Call) -> Page:
    """A browser of the customer's side, at the conversation as the customer has it."""
    page = desk.person("caller")
    page.goto(f"/chat/{call.id}/")
    return live(page)


def test_one_takes_over_speaks_and_hands_back_by_keyboard_and_everybody_sees_it(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1400)
    mine, theirs, customer = at(desk, "supervisor", call), live(at(desk, "second", call)), caller(desk, call)
    live(mine)
    mine.keyboard.press("t")
    expect(mine.locator("#take-reason")).to_be_focused()
    mine.keyboard.type("she asks twice")
    mine.keyboard.press("Enter")
    expect(mine.locator("#is-taken")).to_contain_text("Taken over by you")
    expect(theirs.locator("#is-taken")).to_contain_text("Taken over by Maya Okafor")
    live(mine)
    mine.keyboard.press("t")
    expect(mine.locator("#say-text")).to_be_focused()
    mine.keyboard.type("This is Maya, I am a person.")
    mine.locator("#do-say").click()
    expect(customer.locator("#items")).to_contain_text("This is Maya, I am a person.")
    expect(theirs.locator("#items")).to_contain_text("This is Maya, I am a person.")
    call.say("Oh good. Are you still there?")
    expect(mine.locator("#items")).to_contain_text("Are you still there?")
    mine.reload()
    live(mine)
    mine.keyboard.press("h")
    expect(mine.locator("#summary")).to_be_focused()
    expect(mine.locator("#summary")).to_have_value(re.compile("Customer: Oh good"))
    mine.locator("#hand-back-now button").press("Enter")
    expect(mine.locator("#is-taken")).to_have_count(0)
    expect(theirs.locator("#is-taken")).to_have_count(0)
    expect(customer.locator("#items")).to_contain_text("I am back with you.")
    assert was_not_reloaded(theirs)
    assert was_not_reloaded(customer)


def test_a_whisper_is_seen_by_colleagues_and_never_by_the_customer(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1400)
    mine, theirs, customer = at(desk, "supervisor", call), live(at(desk, "second", call)), caller(desk, call)
    live(mine)
    mine.keyboard.press("w")
    expect(mine.locator("#whisper-text")).to_be_focused()
    mine.keyboard.type(GUIDANCE)
    mine.locator("#do-whisper").press("Enter")
    expect(mine.locator("#items")).to_contain_text(GUIDANCE)
    expect(theirs.locator("#items")).to_contain_text(GUIDANCE)
    call.say("Are you still there?")
    expect(customer.locator("#items")).to_contain_text("Are you still there?")
    assert GUIDANCE not in customer.content()
    customer.reload()
    assert GUIDANCE not in customer.content()


def test_a_caller_who_asks_for_a_person_is_on_the_wall_and_is_taken_over_from_there(desk: Desk, demo: Demo):
    call = demo.call()
    page = live(desk.person("supervisor"))
    call.say("Let me speak to a real person, please.")
    line = page.locator(f"#w-{call.id}")
    expect(line).to_contain_text(call.reference)
    line.get_by_role("button", name="Take over").click()
    expect(page.locator("#is-taken")).to_contain_text("Taken over by you")
    page.goto("/live/")
    expect(page.locator(f"#w-{call.id}")).to_have_count(0)
    expect(page.locator(f"#s-{call.id}")).to_contain_text("You")


def test_what_somebody_is_told_rings_on_whatever_page_they_are_and_leads_to_it(desk: Desk, demo: Demo):
    page, silent = live(desk.person("second")), live(desk.person("viewer"))
    before = int(page.locator("#bell").get_attribute("data-count") or 0)
    call = demo.call()
    call.say("Let me speak to a real person, please.")
    expect(page.locator("#bell")).to_have_attribute("data-count", re.compile(rf"^(?!{before}$)\d+$"))
    expect(page).to_have_title(re.compile(r"\d+ new\) "))
    assert was_not_reloaded(page)
    assert silent.locator("#bell").get_attribute("data-count") == "0"
    page.locator("#bell").click()
    row = page.locator(
        "tr", has_text=call.reference, has=page.get_by_role("button", name="A customer asks for a person")
    )
    row.get_by_role("button", name="A customer asks for a person", exact=True).click()
    expect(page).to_have_url(re.compile(f"/sessions/{call.id}/$"))


def test_everything_is_stopped_by_keyboard_and_every_page_says_so(desk: Desk, demo: Demo):
    mine, theirs = live(desk.person("supervisor")), live(desk.person("second"))
    mine.keyboard.press("Shift+S")
    expect(mine.locator("#to-stops")).to_be_focused()
    mine.keyboard.press("Enter")
    expect(mine.get_by_role("heading", level=1)).to_have_text("Stop")
    mine.locator("#stop-what").select_option("everything")
    mine.locator("#stop-reason").fill("a drill")
    mine.locator("#stop-sure").press("Space")
    mine.locator("#do-stop").press("Enter")
    try:
        expect(mine.locator("#main")).to_contain_text("Stopped: everything")
        expect(theirs.locator("#stopped")).to_contain_text("a drill")
        assert was_not_reloaded(theirs)
    finally:
        mine.locator("input[name=why]").fill("the drill is over")
        mine.get_by_role("button", name="Resume").click()
    expect(mine.locator("#nothing-stopped")).to_be_visible()
    expect(theirs.locator("#stopped")).to_be_empty()


def test_all_of_it_works_without_javascript(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1400)
    page = at(desk, "supervisor", call, java_script_enabled=False)
    page.locator("label", has_text="Take over").click()
    page.locator("#do-take").click()
    expect(page.locator("#is-taken")).to_contain_text("Taken over by you")
    page.locator("#say-text").fill("This is Maya.")
    page.locator("#do-say").click()
    expect(page.locator("#items")).to_contain_text("This is Maya.")
    page.locator("#hand-back summary").click()
    page.locator("#hand-back-now button").click()
    expect(page.locator("#is-taken")).to_have_count(0)
