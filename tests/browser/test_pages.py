"""Every page, empty and loaded, light and dark, wide and on the narrowest screen: axe, reflow, and room to press."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.console import Desk, live, was_not_reloaded
from tests.browser.demo import Call, Demo
from tests.processes import eventually

NARROW, HEIGHT = 320, 700
QUIET_PASSWORD = "a lamp that hums 71 tunes"
RULES: dict[str, Any] = {"rules": {"target-size": {"enabled": True}}, "resultTypes": ["violations"]}
# All that can differ in the dark: the same elements stand in the same places.
COLOURS: dict[str, Any] = {"runOnly": ["color-contrast", "link-in-text-block"], "resultTypes": ["violations"]}
# What is pressed is at least 24 by 24 CSS pixels; a link within a sentence is as high as its line.
PRESSED = "button, input:not([type=hidden]), select, textarea, summary, nav a, a.btn"
TOO_SMALL = """(pressed) => [...document.querySelectorAll(pressed)]
  .filter((each) => each.checkVisibility({ visibilityProperty: true }))
  .map((each) => [each, each.getBoundingClientRect()])
  .filter(([each, box]) => box.width && box.right > 0 && (box.width < 23.9 || box.height < 23.9))
  .map(([each, box]) => `${each.outerHTML.slice(0, 90)} ${box.width}x${box.height}`)"""
# Not by their promises: that of a transition within a closed <details> is never kept, because what is not shown
# does not move on.
STILL = """() => !document.getAnimations().some((each) => each.playState === "running"
  && Number.isFinite(each.effect.getComputedTiming().endTime) && each.effect.target.checkVisibility())"""
SIZES = ((1440, 1000), (1024, 768))
OVERFLOWING = """() => [document.documentElement.scrollWidth - innerWidth,
  innerWidth > 960 ? document.documentElement.scrollHeight - innerHeight : 0]"""  # the wide page scrolls in its panes
# The widest and the narrowest face that any system has: what holds with both holds with whichever is the reader's own.
FACES = ("monospace, monospace", "serif")  # named twice: alone it would make letters smaller
TARGETS: dict[str, Any] = {"runOnly": ["target-size"], "rules": RULES["rules"], "resultTypes": ["violations"]}
WEAR = "(face) => document.documentElement.style.setProperty('--sans', face)"
BESIDE = """() => [...document.querySelectorAll("body *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && each.checkVisibility())
  .slice(0, 3).map((each) => each.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def asked(demo: Demo) -> Call:
    """A call in which a transfer waits for a person."""
    call = demo.call().asks_to_move(1800)
    call.request()
    return call


@pytest.fixture(scope="module")
def forked(demo: Demo, asked: Call) -> str:
    """A fork of it."""
    asked.request()
    load = {"_tool": "load_customer", "customer": asked.person.id, "_outputPath": "state.customer"}
    demo.api("supervisor").post(f"/sessions/{asked.id}/plans", calls=[load])
    return str(demo.api("supervisor").post(f"/sessions/{asked.id}/fork", reason="What if?")["id"])


@pytest.fixture(scope="module")
def done(demo: Demo) -> Call:
    """A call that is over: a transfer was edited, made, and told."""
    call = demo.call().asks_to_move(1900)
    path = f"/requests/{call.request()}/decisions"
    demo.api("supervisor").post(path, decision="edit", reason="Misheard.", arguments=_less(call))
    call.heard("receipt")
    call.api.post(f"/sessions/{call.id}/end", reason="the customer said goodbye")
    return call


def _less(call: Call) -> dict[str, object]:
    asked = next(entry for entry in call.entries() if entry["kind"] == "approval.requested")
    return {**asked["data"]["arguments"], "amount": {"minor": 185_000, "currency": "USD"}}


@pytest.fixture(scope="module")
def quiet(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Somebody whose team has no session yet."""
    file = tmp_path_factory.mktemp("quiet") / "password"
    file.write_text(QUIET_PASSWORD + "\n")
    demo.manage("create_user", "quiet", "--role", "supervisor", "--team", "cards", "--password-file", str(file))
    return "quiet"


def serious(page: Page, what: str, options: dict[str, Any] = RULES) -> list[str]:
    """What axe finds that matters."""
    if page.evaluate("typeof axe") == "undefined":  # once a document: it is half a megabyte
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("async (options) => (await axe.run(options)).violations", options)
    return [
        f"{what}: {each['id']} at {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def settled(page: Page) -> None:
    """Wait until no colour is on its way to another: what changes in the middle has a contrast that nobody sees."""
    page.evaluate("document.body.offsetWidth")
    eventually(lambda: page.evaluate(STILL), 5.0, "nothing moves")


def faults(page: Page, what: str) -> Iterator[str]:
    """Everything wrong with a page in light and dark, on a wide, a middling and the narrowest screen."""
    size = page.viewport_size
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        if max(over := page.evaluate(OVERFLOWING)) > 0:
            yield f"{what}, {width} px: the document is {over} px larger than the screen: {page.evaluate(BESIDE)}"
    page.set_viewport_size(size)
    for scheme, options in (("light", RULES), ("dark", COLOURS)):
        page.emulate_media(color_scheme=scheme)
        settled(page)
        yield from serious(page, f"{what}, {scheme}", options)
    page.set_viewport_size({"width": NARROW, "height": HEIGHT})
    settled(page)
    yield from serious(page, f"{what}, {NARROW} px")
    yield from cramped(page, what)
    for face in FACES:
        page.evaluate(WEAR, face)
        yield from serious(page, f"{what}, {NARROW} px, {face}", TARGETS)
        yield from cramped(page, f"{what}, {face}")
    page.evaluate(WEAR, "")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(size)


def cramped(page: Page, what: str) -> Iterator[str]:
    """What is wider than the narrowest screen, or too small to press there."""
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > NARROW:
        yield f"{what}: the page is {width} px wide on a screen of {NARROW}: {page.evaluate(BESIDE)}"
    yield from (f"{what}: too small: {each}" for each in page.evaluate(TOO_SMALL, PRESSED))


def visit(page: Page, *addresses: str) -> list[str]:
    """The faults of all of them."""
    found = []
    for address in addresses:
        page.goto(address)
        expect(page.locator("h1").first).to_be_visible()
        if page.locator("#conn").count():
            live(page)
        found += faults(page, address)
    return found


def test_pages_at_the_door(desk: Desk, demo: Demo):
    desk.complaints.expect("status of (410|422|404)")
    page = desk.stranger()
    found = visit(page, "/sign-in/", demo.link("viewer"), "/sign-in/link/never-ours/", "/nowhere/")
    page.goto("/sign-in/")
    page.get_by_label("User name").fill("supervisor")
    page.get_by_label("Password").fill("not it")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert [*found, *faults(page, "a refused sign-in")] == []


def test_pages_of_a_team_without_sessions(desk: Desk, quiet: str):
    page = desk.stranger()
    page.goto("/sign-in/")
    page.get_by_label("User name").fill(quiet)
    page.get_by_label("Password").fill(QUIET_PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    live(page)
    addresses = ("/live/", "/decisions/", "/decisions/?view=decided", "/decisions/?view=expired")
    assert visit(page, *addresses, "/sessions/", "/sessions/?q=A1B2C3&status=failed", "/audit/") == []


def test_the_wall_and_the_lists_with_sessions(desk: Desk, asked: Call, done: Call):
    page = desk.person("supervisor")
    addresses = ("/alerts/", "/alerts/?view=closed", "/alerts/rules/", "/levels/")
    assert visit(page, "/live/", "/decisions/?view=decided", "/sessions/", "/audit/", *addresses) == []


def test_a_session_and_its_ledger(desk: Desk, asked: Call, done: Call):
    page = desk.person("supervisor")
    addresses = [f"/sessions/{call.id}/{part}" for call in (asked, done) for part in ("", "audit/")]
    assert visit(page, *addresses) == []


def test_what_a_session_holds_its_plan_its_points_and_its_forks(desk: Desk, asked: Call, forked: str):
    page = desk.person("supervisor")
    parts = ("state/", "memory/", "plan/", "chart/", "versions/?back=3", "versions/?replay=1")
    found = visit(page, *(f"/sessions/{asked.id}/{part}" for part in parts))
    page.goto(f"/sessions/{forked}/versions/")
    page.get_by_role("link", name="another session").click()
    page.get_by_role("link", name="Compare with now").click()
    expect(page.get_by_role("heading", name="From entry")).to_be_focused()
    assert [*found, *faults(page, "a fork compared"), *visit(page, f"/sessions/{forked}/versions/")] == []


def test_the_charts_and_a_customers_profile(desk: Desk, asked: Call):
    page = desk.person("supervisor")
    found = visit(page, "/charts/", "/charts/bank-transfer/")
    page.goto(f"/sessions/{asked.id}/state/")
    page.get_by_role("link", name="Customer").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(asked.person.name)
    found += faults(page, "a customer")
    for each in page.locator("summary", has_text="Change preference").all():
        each.click()
    assert [*found, *faults(page, "a customer, every form open")] == []


def test_the_plan_changes_without_reload(desk: Desk, demo: Demo):
    call, page = demo.call(), desk.person("supervisor")
    page.goto(f"/sessions/{call.id}/plan/")
    live(page)
    expect(page.get_by_role("heading", name="No plan yet")).to_be_visible()
    load = {"_tool": "load_customer", "customer": call.person.id, "_outputPath": "state.customer"}
    demo.api("supervisor").post(f"/sessions/{call.id}/plans", calls=[load])
    expect(page.locator("#plan-now tbody tr")).to_contain_text("Done")
    expect(page.locator("#plan-side")).to_contain_text("Version 1")
    assert was_not_reloaded(page)


def test_a_session_is_paused_and_resumed_on_its_page_without_reload_elsewhere(desk: Desk, demo: Demo):
    call, other = demo.call(), desk.person("second")
    other.goto(f"/sessions/{call.id}/")
    live(other)
    page = desk.person("supervisor")
    page.goto(f"/sessions/{call.id}/")
    live(page)
    page.get_by_text("Pause or end").click()
    found = list(faults(page, "the form that stops a session"))
    page.get_by_label("Reason", exact=True).fill("The customer is at the counter.")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#rail")).to_contain_text("Paused by a person. It can be resumed.")
    expect(other.locator("#stop-paused")).to_contain_text("The agent starts nothing new")
    assert [*found, *faults(page, "a paused session")] == []
    other.get_by_role("button", name="Resume").click()
    expect(other.locator("#stop-paused")).to_have_count(0)
    expect(page.locator("#stop-paused")).to_have_count(0)


def test_charts_are_in_the_menu_of_those_who_set_agents_up_or_change_sessions(desk: Desk):
    link = desk.person("supervisor").get_by_role("navigation", name="Main").get_by_role("link", name="Charts")
    link.click()
    expect(link).to_have_attribute("aria-current", "page")
    expect(desk.person("viewer").get_by_role("link", name="Charts")).to_have_count(0)


def test_a_fork_is_marked_in_the_list_of_sessions(desk: Desk, asked: Call, forked: str):
    page = desk.person("supervisor")
    page.goto("/sessions/")
    row, other = (page.locator("tr", has=page.locator(f"a[href='/sessions/{each}/']")) for each in (forked, asked.id))
    expect(row.locator(".badge", has_text="Fork")).to_be_visible()
    expect(other.locator(".badge", has_text="Fork")).to_have_count(0)


def test_a_card_that_waits_one_that_is_decided_and_one_with_errors(desk: Desk, asked: Call, done: Call):
    desk.complaints.expect("status of 422")
    page = desk.person("supervisor")
    found = visit(page, f"/decisions/{asked.request()}/", f"/decisions/{done.request()}/")
    page.goto(f"/decisions/{asked.request()}/")
    page.get_by_label("Amount").fill("a lot")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was decided yet")
    assert [*found, *faults(page, "a card with errors")] == []


def test_what_somebody_sees_who_may_only_read(desk: Desk, asked: Call):
    desk.complaints.expect("status of 403")
    page = desk.person("viewer")
    assert visit(page, f"/decisions/{asked.request()}/", f"/sessions/{asked.id}/audit/", "/chat/") == []


def test_playing_a_caller(desk: Desk, demo: Demo):
    page = desk.person("caller")
    found = visit(page, "/chat/")
    page.get_by_label("Customer's number").fill(demo.call().person.id)
    page.get_by_role("button", name="Call").click()
    page.get_by_label("Message to the agent").fill("Hello, how much do I have in checking?")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("log")).to_contain_text("There is")
    assert [*found, *faults(page, "a chat")] == []


def test_a_card_while_the_connection_is_lost(desk: Desk, asked: Call):
    """The amber state is part of every page, and nobody sees it on a good day."""
    page, lines, cut = desk.person("supervisor"), [], []

    def line(socket: WebSocketRoute) -> None:
        if cut:
            socket.close()
        else:
            lines.append(socket)
            socket.connect_to_server()

    page.route_web_socket(re.compile("/live/$"), line)
    page.goto(f"/decisions/{asked.request()}/")
    live(page)
    cut.append(True)
    lines[-1].close()
    expect(page.locator("#conn")).to_contain_text("Reconnecting, data")
    assert list(faults(page, "a lost connection")) == []


def test_nothing_moves_for_somebody_who_asks_for_less_motion(desk: Desk, asked: Call):
    page = desk.person("supervisor", reduced_motion="reduce")
    moving = "document.getAnimations().filter((each) => each.effect.getComputedTiming().duration > 10).length"
    assert live(page).evaluate(moving) == 0


def test_a_broken_policy_and_an_error_would_be_heard(desk: Desk):
    """What every test here relies on: an inline script is refused by the policy, and both reports reach us."""
    page = desk.person("viewer")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = true'}))")
    page.evaluate("setTimeout(() => { throw new Error('planted'); })")
    page.wait_for_timeout(200)
    heard = " ".join(desk.complaints.unexpected())
    desk.complaints.expect("CSP: script-src|Content Security Policy|planted")
    assert page.evaluate("window.ran === undefined")
    assert "CSP: script-src" in heard
    assert "planted" in heard
