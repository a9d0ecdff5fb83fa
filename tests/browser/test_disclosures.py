"""Sharing a part of a session in a real browser, without JavaScript, and what the holder of the link sees."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.console import Desk
from tests.browser.demo import Demo
from tests.browser.test_pages import visit


def test_a_link_is_made_without_javascript_and_opened_by_somebody_outside(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1800)
    alice = desk.person("supervisor", java_script_enabled=False)
    alice.goto(f"/sessions/{call.id}/audit/")
    alice.get_by_role("link", name="Share a part").click()
    alice.get_by_label("Entry, or the first of a range").fill("1")
    alice.get_by_label("Recipient and reason").fill("The ombudsman asked.")
    alice.get_by_role("button", name="Share this part").click()
    link = alice.get_by_label("Send this link to the recipient").input_value()
    stranger = desk.stranger(java_script_enabled=False)
    stranger.goto(link)
    expect(stranger.get_by_role("heading", name="Proof valid.")).to_be_visible()
    desk.complaints.expect("status of (410|404)")
    alice.goto(f"/sessions/{call.id}/shared/")
    alice.get_by_role("button", name="Revoke").click()
    stranger.goto(link)
    expect(stranger.get_by_role("heading", name="This link has ended")).to_be_visible()


def test_the_pages_of_disclosures_are_as_others_are(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1800)
    supervisor = demo.api("supervisor")
    page = desk.person("supervisor")
    desk.complaints.expect("status of (410|404)")
    empty = visit(page, f"/sessions/{call.id}/shared/")
    wanted = {"what": "range", "first": 0, "last": 1, "reason": "The ombudsman asked.", "days": 3}
    link = supervisor.post(f"/sessions/{call.id}/disclosures", **wanted)
    loaded = visit(page, f"/sessions/{call.id}/shared/", f"/sessions/{call.id}/audit/")
    outside = visit(desk.stranger(), "/shared/" + link["address"].rstrip("/").rpartition("/")[2] + "/", "/shared/x/")
    assert empty + loaded + outside == []
