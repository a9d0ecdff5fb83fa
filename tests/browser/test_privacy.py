"""The pages about data subjects in a real browser: as others are, and a whole erasure without JavaScript."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.console import Desk
from tests.browser.demo import Demo
from tests.browser.test_pages import faults, visit
from tests.processes import eventually


def test_the_pages_about_data_subjects_empty_and_loaded(desk: Desk, demo: Demo):
    page = desk.person("privacy")
    assert visit(page, "/privacy/", "/privacy/retention/") == []
    call = demo.call()
    supervisor = demo.api("supervisor")
    asked = supervisor.post("/erasures", session=call.id, basis="objection", reason="Asked by letter of 2 March.")
    demo.api("privacy").post("/holds", session=call.id, reason="Case 12 at the district court.")
    loaded = visit(page, "/privacy/", f"/privacy/erasures/{asked['id']}/")
    assert loaded + visit(desk.person("supervisor"), f"/sessions/{call.id}/audit/") == []


def test_an_erasure_is_asked_for_and_approved_without_javascript(desk: Desk, demo: Demo):
    call = demo.call()
    asks = desk.person("supervisor", java_script_enabled=False)
    asks.goto("/privacy/")
    asks.get_by_text("Request an erasure").click()
    asks.get_by_label(re.compile("Customer reference")).first.fill(call.id)
    asks.get_by_label(re.compile("^Reason and proof")).first.fill("Asked by letter.")
    asks.get_by_role("button", name="Request erasure").click()
    expect(asks.get_by_role("button", name="Approve")).to_have_count(0)
    approves = desk.person("privacy", java_script_enabled=False)
    approves.goto(asks.url)
    approves.get_by_role("button", name="Approve").click()
    expect(approves.locator(".head")).to_contain_text(re.compile("Being erased|Erased"))
    request = f"/erasures/{approves.url.rstrip('/').rpartition('/')[2]}"
    seen = demo.api("privacy")
    eventually(lambda: seen.get(request)["erasure"]["destroyed_at"], 30.0, "the worker destroys the key")
    assert seen.get(request)["erasure"]["reason"] == ""


def test_the_report_about_a_subject_reads_well_at_every_width_and_is_on_record(desk: Desk, demo: Demo):
    call = demo.call().asks_to_move(1800)
    call.request()
    page = desk.person("privacy")
    page.goto("/privacy/")
    page.get_by_label(re.compile("Customer reference or session ID")).last.fill(call.id)
    page.get_by_role("button", name="Show").click()
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("main")).to_contain_text("savings")
    found = []
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        found += faults(page, f"the report, {width} px")
    assert found == []
    reads = demo.api("auditor").get("/audit/access?kind=access.profile_read&limit=5")["entries"]
    assert any("subject report" in entry["what"] for entry in reads)


def test_a_session_that_has_ended_is_sealed_without_javascript(desk: Desk, demo: Demo):
    call = demo.call()
    demo.api("supervisor").post(f"/sessions/{call.id}/end", reason="The caller hung up.")
    page = desk.person("supervisor", java_script_enabled=False)
    page.goto(f"/sessions/{call.id}/")
    page.get_by_role("button", name="Seal session").click()
    expect(page.locator("#sealed")).to_contain_text("No entries can be added")
    assert visit(desk.person("supervisor"), f"/sessions/{call.id}/") == []
