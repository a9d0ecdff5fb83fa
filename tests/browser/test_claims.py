"""A claim by key and by the first edit, in two browsers at once."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.console import Desk, live, was_not_reloaded
from tests.browser.demo import Demo


def test_a_key_claims_and_a_colleague_sees_it_and_takes_it(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1800)
    mine, theirs = desk.person("supervisor"), desk.person("second")
    for page in (mine, theirs):
        page.goto(f"/decisions/{call.request()}/")
        live(page)
    mine.keyboard.press("c")
    expect(mine.locator("#claimed")).to_contain_text("Claimed by you")
    expect(theirs.locator("#claimed[data-claim=other]")).to_contain_text("has claimed this")
    theirs.locator("#claim").click()
    expect(mine.locator("#claimed")).to_contain_text("took over your claim")
    assert was_not_reloaded(mine)


def test_the_first_edit_claims_what_nobody_has(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1900)
    page = desk.person("supervisor")
    page.goto(f"/decisions/{call.request()}/")
    live(page)
    page.locator("#reason").fill("The caller said nineteen hundred.")
    expect(page.locator("#claimed")).to_contain_text("Claimed by you")
    expect(page.locator("#reason")).to_have_value("The caller said nineteen hundred.")
