"""The same work with JavaScript off: plain links, forms and reloads."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.console import Desk
from tests.browser.demo import Demo
from tests.browser.proof import report, verify
from tests.processes import eventually


def reload_until(page: Page, text: str, seconds: float = 15.0) -> None:
    """What somebody without JavaScript does: reload until it stands there."""

    def stands() -> bool:
        page.reload()
        return text in page.locator("main").inner_text()

    eventually(stands, seconds, f"the page says {text!r}")


def approve(page: Page, amount: str, reason: str) -> None:
    """Fill the card in and send it."""
    page.get_by_label("Amount").fill(amount)
    page.get_by_label("Note (required").fill(reason)
    page.get_by_role("button", name="Approve").click()


def test_a_supervisor_without_javascript_edits_a_transfer_and_sees_it_everywhere(
    desk: Desk, demo: Demo, tmp_path: Path
):
    page = desk.person("supervisor", java_script_enabled=False)
    call = demo.call().asks_to_move(1300)
    request = call.request()
    page.get_by_role("link", name="reload").click()
    page.locator(f"#s-{call.id}").get_by_role("link").click()
    page.get_by_role("link", name="Decide").click()
    expect(page).to_have_url(f"{demo.url}decisions/{request}/#ask")
    expect(page.locator("#said")).to_contain_text("I would like to move $1,300 from savings to checking.")

    desk.complaints.expect("status of 422")
    approve(page, "1,250", "The caller said twelve fifty.")
    differs = page.locator("#differences")
    expect(differs).to_contain_text("You change the amount from $1,300.00 to $1,250.00.")
    expect(differs).to_be_focused()
    assert demo.moved(call.person) == []
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#notes")).to_contain_text("Edited, approved")
    eventually(lambda: demo.moved(call.person), what="a transfer in the legacy database")
    [(amount, receipt)] = demo.moved(call.person)
    assert amount == 125_000
    page.goto(f"/sessions/{call.id}/")
    reload_until(page, receipt)

    bundle = tmp_path / "bundle.zip"
    demo.manage("export", call.id, "--out", str(bundle), "--unmask", "a test")
    verify(bundle, tmp_path / "bundle.zip.vkey")
    assert receipt in report(bundle)


def test_an_edit_that_cannot_be_is_refused_beside_its_field_and_nothing_is_lost(desk: Desk, demo: Demo):
    desk.complaints.expect("status of 422")
    page = desk.person("supervisor", java_script_enabled=False)
    call = demo.call().asks_to_move(1300)
    page.goto(f"/decisions/{call.request()}/")
    row = page.locator("#fields tr", has=page.get_by_label("Amount"))
    for amount, wanted in (("a lot", "This needs"), ("0", "1")):  # not an amount; not one that the tool takes
        approve(page, amount, "As agreed.")
        expect(row).to_contain_text(wanted)
        expect(page.get_by_label("Amount")).to_have_value(amount)
        expect(page.get_by_label("Amount")).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_label("Note (required")).to_have_value("As agreed.")
        expect(page.get_by_role("alert").first).to_contain_text("Nothing was decided yet")
    approve(page, "1,250", "")
    expect(page.locator("#why")).to_contain_text("Type a note: it is needed to edit, reject or pass on.")
    expect(page.get_by_label("Note (required")).to_be_focused()
    expect(page.get_by_label("Note (required")).to_be_in_viewport()
    assert demo.moved(call.person) == []


def test_enter_in_a_field_approves_nothing(desk: Desk, demo: Demo):
    page = desk.person("supervisor", java_script_enabled=False)
    call = demo.call().asks_to_move(1300)
    page.goto(f"/decisions/{call.request()}/")
    page.get_by_label("Amount").press("Enter")
    page.reload()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    assert demo.moved(call.person) == []
