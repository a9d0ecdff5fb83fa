"""The whole work by keyboard: no test here touches the mouse."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.console import Desk, live
from tests.browser.demo import Demo
from tests.processes import eventually

MOST_TABS = 25


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until that element has the focus, as a person would."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"{selector} is not within {MOST_TABS} stops of Tab")


def skip_the_rail(page: Page) -> None:
    """By the link that is there for it, the first one of every page."""
    tab_to(page, "a.skip")
    page.keyboard.press("Enter")


def test_from_the_door_to_a_decision_with_tab_and_enter(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1700)
    page = desk.stranger()
    page.goto(f"/sign-in/?next=/decisions/{call.request()}/")
    expect(page.get_by_label("User name")).to_be_focused()
    page.keyboard.type("supervisor")
    expect(page.get_by_label("User name")).to_have_value("supervisor")
    page.keyboard.press("Tab")
    page.keyboard.type(demo.password("supervisor"))
    page.keyboard.press("Enter")
    live(page)
    skip_the_rail(page)
    tab_to(page, "[name='arg.amount']")
    page.keyboard.press("Control+A")
    page.keyboard.type("1,650")
    expect(page.locator("#differences")).to_contain_text("You change the amount from $1,700.00 to $1,650.00.")
    tab_to(page, "#reason")
    page.keyboard.type("The caller said sixteen fifty.")
    tab_to(page, "#approve")
    page.keyboard.press("Enter")
    expect(page.locator("#notes")).to_contain_text("Edited, approved")
    eventually(lambda: demo.moved(call.person), what="the transfer")
    assert [amount for amount, _ in demo.moved(call.person)] == [165_000]


def test_shortcuts_lead_through_the_queue_and_none_of_them_decides(desk: Desk, demo: Demo):
    calls = [demo.call().asks_to_move(amount) for amount in (1710, 1720)]
    requests = [call.request() for call in calls]
    page = desk.person("supervisor")
    page.goto("/decisions/")
    live(page)
    wanted = page.locator(f"#q-{requests[1]} a")
    for _ in range(MOST_TABS):
        page.keyboard.press("j")
        if wanted.evaluate("(link) => link === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Move $1,720.00")).to_be_visible()
    live(page)
    page.keyboard.press("Shift+A")
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    page.keyboard.press("Shift+X")
    expect(page.get_by_role("button", name="Reject")).to_be_focused()
    page.keyboard.press("e")
    expect(page.locator("#fields .in").first).to_be_focused()
    assert demo.moved(calls[1].person) == []


def test_after_a_decision_the_next_one_has_the_focus(desk: Desk, demo: Demo):
    calls = [demo.call().asks_to_move(amount) for amount in (1730, 1740)]
    requests = [call.request() for call in calls]
    page = desk.person("supervisor")
    page.goto(f"/decisions/{requests[0]}/")
    live(page)
    page.keyboard.press("Shift+A")
    page.keyboard.press("Enter")
    expect(page.locator("#notes")).to_contain_text("Approved")
    expect(page.locator("#ask")).to_be_focused()
    expect(page.locator("#acts")).to_be_visible()  # it is open: the next one, not the one just decided


def test_from_a_session_to_its_chart_and_all_charts_with_tab_and_enter(desk: Desk, demo: Demo):
    page = desk.person("supervisor")
    page.goto(f"/sessions/{demo.call().id}/chart/")
    live(page)
    skip_the_rail(page)
    tab_to(page, "main a[href='/charts/']")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Charts")).to_be_visible()
    live(page)
    skip_the_rail(page)
    tab_to(page, "a[href='/charts/bank-transfer/']")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="A transfer by telephone")).to_be_visible()
    live(page)
    skip_the_rail(page)
    tab_to(page, ".states summary")
    page.keyboard.press("Enter")
    expect(page.locator(".states details[open]")).to_have_count(1)


def test_a_customers_consent_is_noted_with_tab_and_enter(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1750)
    page = desk.person("supervisor")
    page.goto(f"/sessions/{call.id}/state/")
    page.get_by_role("link", name="Customer").press("Enter")
    expect(page.get_by_role("heading", level=1, name=call.person.name)).to_be_visible()
    live(page)
    tab_to(page, "#purpose-personalisation [name=note]")
    page.keyboard.type("Said so just now")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#purpose-personalisation")).to_contain_text("Agreed")
    expect(page.locator("#purpose-personalisation")).to_contain_text("Said so just now")


def test_keys_do_nothing_while_somebody_types_and_the_list_of_them_opens(desk: Desk, demo: Demo):
    page = live(desk.person("supervisor"))
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Find a session")).to_be_focused()
    page.keyboard.type("j?")
    expect(page.get_by_role("searchbox", name="Find a session")).to_have_value("j?")
    expect(page.locator("#keys")).to_be_hidden()
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    page.locator("#main").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
