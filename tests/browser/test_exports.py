"""Exports of many sessions: asked for, watched and fetched without a script; readable wide, narrow, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from audit import verify
from tests.browser.console import Desk
from tests.browser.demo import Call, Demo
from tests.browser.test_pages import visit


@pytest.fixture(scope="module")
def called(demo: Demo) -> Call:
    """A call that is worth exporting."""
    call = demo.call().asks_to_move(1800)
    call.request()
    return call


def test_a_supervisor_exports_many_without_javascript(desk: Desk, demo: Demo, called: Call, tmp_path: Path):
    page = desk.person("supervisor", java_script_enabled=False)
    page.goto("/audit/exports/")
    page.get_by_role("link", name="New export").click()
    page.get_by_label("Agent").select_option("bank")
    page.get_by_role("button", name="Start export").click()
    expect(page.get_by_role("status").first).to_contain_text("being packed")
    row = page.locator("tbody tr").first
    expect(row).to_contain_text("Ready", timeout=60_000)  # the page loads itself anew by a header
    with page.expect_download() as fetched:
        row.get_by_role("button", name="Download").click()
    out = tmp_path / "many.zip"
    fetched.value.save_as(out)
    with page.expect_download() as key:
        row.get_by_role("link", name="key").click()
    key.value.save_as(tmp_path / "many.zip.vkey")
    verdict = verify.verify(out, (tmp_path / "many.zip.vkey").read_text().strip())
    assert verdict.ok, verdict.failures
    assert verdict.sessions
    row.get_by_role("button", name="Delete").click()
    expect(page.locator("tbody tr").first).to_contain_text("Cancelled")


def test_the_pages_of_exports_can_be_read_by_everybody(desk: Desk, called: Call):
    pages = ("/audit/exports/", "/audit/exports/new/", f"/sessions/{called.id}/audit/")
    assert visit(desk.person("supervisor"), *pages) == []
