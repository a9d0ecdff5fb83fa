"""The pages of auditors: readable, narrow and wide, light and dark, and without a script."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.console import Desk
from tests.browser.demo import Call, Demo
from tests.browser.test_pages import visit

PAGES = ("/audit/", "/audit/access/", "/audit/samples/?seed=a", "/audit/downtimes/", "/audit/staff/", "/audit/grants/")


@pytest.fixture(scope="module")
def read(demo: Demo) -> Call:
    """A call in which a person has read."""
    call = demo.call().asks_to_move(1800)
    call.request()
    demo.api("supervisor").get(f"/sessions/{call.id}/entries")
    return call


def test_an_auditor_goes_through_the_pages(desk: Desk, read: Call):
    assert visit(desk.person("auditor"), *PAGES) == []


def test_an_admin_gives_and_takes_back_a_grant_without_javascript(desk: Desk):
    page = desk.person("admin", java_script_enabled=False)
    page.goto("/audit/grants/")
    page.get_by_label("Until the beginning of").fill("2027-03-01")
    page.get_by_label("Why").fill("Spot check.")
    page.get_by_role("button", name="Give access").click()
    expect(page.get_by_role("status").first).to_contain_text("It ends automatically")
    row = page.locator("tr", has_text="Spot check.")
    row.get_by_role("button").click()
    expect(row).to_contain_text("Revoked")


def test_who_read_a_session_is_found_by_its_reader_and_kind(desk: Desk, read: Call):
    page = desk.person("auditor")
    page.goto("/audit/access/")
    page.get_by_label("Reader").select_option(label="Maya Okafor")
    page.get_by_label("Kind").select_option(label="Read")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr").first).to_contain_text("entries")
    expect(page.locator("tbody")).to_contain_text(read.id.replace("-", "")[-6:].upper())
