"""The web server dies under open pages: they say so, with the age of what they show, and then tell the truth."""

from __future__ import annotations

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

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
