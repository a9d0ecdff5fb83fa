"""The web server dies under open pages: they say so, with the age of what they show, and then tell the truth."""

from __future__ import annotations

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import WebSocketRoute, expect

from tests.browser.console import Desk, live, was_not_reloaded
from tests.browser.demo import Demo

NOT_THERE = r"WebSocket connection to|ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|Failed to fetch"


def test_a_killed_web_server_is_said_and_what_was_decided_meanwhile_is_shown(desk: Desk, demo: Demo):
    desk.complaints.expect(NOT_THERE)
    call = demo.call().asks_to_move(1600)
    request, supervisor = call.request(), demo.api("second")
    card, wall, talk = (desk.person("supervisor") for _ in range(3))
    card.goto(f"/decisions/{request}/")
    talk.goto(f"/sessions/{call.id}/")
    for page in (card, wall, talk):
        live(page)

    with ThreadPoolExecutor(1) as meanwhile:
        os.kill(demo.running.pid("web"), signal.SIGKILL)
        decided = meanwhile.submit(
            supervisor.post_until_answered, f"/requests/{request}/decisions", decision="approve", reason=""
        )
        for page in (card, wall, talk):
            expect(page.locator("#conn")).to_have_text(re.compile(r"Reconnecting, data \d+(\.\d)? s old"))
        expect(card.get_by_role("button", name="Approve")).to_be_disabled()
        expect(card.locator("#lost")).to_contain_text("Connection lost.")
        decided.result(timeout=60)

    expect(card.locator("#settled")).to_contain_text("Priya Raman", timeout=40_000)
    expect(talk.get_by_role("log")).to_contain_text("$1,600.00 from savings", timeout=40_000)
    expect(wall.locator("#calm").locator(f"#s-{call.id}")).to_be_visible()
    for page in (card, wall, talk):
        expect(page.locator("#conn")).to_contain_text("Live")
        expect(page.locator("#lost")).to_be_hidden()
        assert was_not_reloaded(page)
    assert [amount for amount, _ in demo.moved(call.person)] == [160_000]


def test_nobody_decides_before_the_page_is_connected(desk: Desk, demo: Demo):
    desk.complaints.expect(NOT_THERE)
    request = demo.call().asks_to_move(1600).request()
    page = desk.person("supervisor")
    page.route_web_socket(re.compile("/live/"), lambda socket: socket.close())
    page.goto(f"/decisions/{request}/")
    expect(page.locator("#off")).to_be_visible()
    expect(page.locator("#lost")).to_contain_text("Not connected yet.")
    for name in ("Approve", "Reject", "Ask agent to revise"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()


def test_nobody_decides_on_what_is_late(desk: Desk, demo: Demo):
    desk.complaints.expect(NOT_THERE)
    request = demo.call().asks_to_move(1600).request()
    page, late = desk.person("supervisor"), []

    def slow(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda message: late or socket.send(message))

    page.route_web_socket(re.compile("/live/"), slow)
    page.goto(f"/decisions/{request}/")
    live(page)
    approve = page.get_by_role("button", name="Approve")
    expect(approve).to_be_enabled()
    late.append("frames stay away")
    expect(approve).to_be_disabled(timeout=20_000)
    expect(page.locator("#off")).to_be_visible()
    late.clear()
    expect(approve).to_be_enabled(timeout=60_000)
    expect(page.locator("#off")).to_be_hidden()


def test_how_long_a_session_lasts_can_be_read_at_every_width_in_a_narrow_and_a_wide_face(desk: Desk, demo: Demo):
    call = demo.call()
    for width in (1440, 1024, 390):
        page = desk.person("supervisor", width=width)
        figure = page.locator(f"#s-{call.id} .age time")
        for face in ("Inter, sans-serif", "'DejaVu Sans', sans-serif"):
            fits = figure.evaluate(FITS, ["112:58:49", face])
            assert fits == [True, True, True], f"{width} px, {face}: {fits}"


# Of the cell: all of the figure is within it, it is not clipped, and it does not reach the next cell's words.
FITS = """(time, [words, face]) => {
  document.documentElement.style.setProperty("--sans", face);
  time.textContent = words;
  const cell = time.closest("td"), box = time.getBoundingClientRect(), within = cell.getBoundingClientRect();
  const next = cell.nextElementSibling.getBoundingClientRect();
  return [box.width > 0 && getComputedStyle(time).display !== "none",
    box.left >= within.left - 0.5 && box.right <= within.right + 0.5,
    next.top >= box.bottom - 1 || next.left >= box.right - 0.5];
}"""
