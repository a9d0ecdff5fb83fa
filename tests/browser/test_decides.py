"""A supervisor decides a transfer in the browser, from the wall to the proof."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.console import Desk, live, was_not_reloaded
from tests.browser.demo import Call, Demo
from tests.browser.proof import report, verify
from tests.processes import eventually


def test_a_one_time_link_signs_in_once(desk: Desk, demo: Demo):
    link, page, other = demo.link("supervisor"), desk.stranger(), desk.stranger()
    page.goto(link)
    page.get_by_role("button", name="Sign in as supervisor").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Live")
    desk.complaints.expect("410")
    assert other.goto(link).status == 410
    expect(other.get_by_role("heading", level=1)).to_have_text("This sign-in link is no longer valid")


def test_the_wall_changes_without_reload(desk: Desk, demo: Demo):
    page = live(desk.person("supervisor"))
    call = demo.call()
    row = page.locator(f"#s-{call.id}")
    expect(row).to_contain_text(call.reference)
    call.say("Hello, how much do I have in checking?")
    expect(row).to_contain_text("There is")
    expect(row).to_contain_text(call.person.name)
    call.api.post(f"/sessions/{call.id}/end", reason="hung up")
    expect(row).to_have_count(0)
    assert was_not_reloaded(page)


def opens_the_transfer(page: Page, call: Call) -> None:
    """From the wall to the session to the card, by what stands there."""
    row = page.locator("#need").locator(f"#s-{call.id}")
    expect(row).to_contain_text("Needs a decision")
    row.get_by_role("link").click()
    expect(page.get_by_role("log")).to_contain_text("move $1,300 from savings")
    page.locator(".stepcard").get_by_role("link", name="Decide").click()
    savings, checking = (call.person.account(kind).last4 for kind in ("savings", "checking"))
    asked = f"Move $1,300.00 from savings ..{savings} to checking ..{checking}"
    expect(page.get_by_role("heading", level=1, name=asked)).to_be_visible()


def approves_less(page: Page) -> None:
    """Edits the amount, sees what that amounts to, says why, and approves."""
    page.get_by_label("Amount").fill("1,250.00")
    expect(page.locator("#fields")).to_contain_text("$50.00 less")
    differs = page.locator("#differences")
    expect(differs).to_contain_text("You change the amount from $1,300.00 to $1,250.00.")
    expect(differs).to_contain_text("Said $1,300.00, sends $1,250.00.")
    page.get_by_label("Note (required").fill("The caller said twelve fifty.")
    page.get_by_role("button", name="Approve $1,250.00").click()
    expect(page.locator("#notes")).to_contain_text("Edited, approved")


def test_a_supervisor_edits_a_transfer_and_sees_it_everywhere(desk: Desk, demo: Demo, tmp_path: Path):
    page = live(desk.person("supervisor"))
    call = demo.call().asks_to_move(1300)
    opens_the_transfer(page, call)
    expect(page.locator("#said")).to_contain_text("I would like to move $1,300 from savings to checking.")
    expect(page.locator("#call")).to_contain_text("130000")

    transcript = page.context.new_page()
    transcript.goto(f"/sessions/{call.id}/")
    live(transcript)
    assert demo.moved(call.person) == []
    approves_less(page)

    eventually(lambda: demo.moved(call.person), what="a transfer in the legacy database")
    [(amount, receipt)] = demo.moved(call.person)
    assert amount == 125_000
    expect(transcript.get_by_role("log")).to_contain_text("$1,250.00 from savings")
    expect(transcript.get_by_role("log")).to_contain_text(receipt)
    told = transcript.get_by_role("log").inner_text()
    assert told.index("edited and approved") < told.index(f"receipt {receipt}")  # not as if it had been done before
    assert was_not_reloaded(transcript)
    exports(transcript, receipt, tmp_path)


def exports(page: Page, receipt: str, folder: Path) -> None:
    """Takes the proof out at the audit page, and checks it."""
    page.get_by_role("link", name="Audit", exact=True).last.click()
    page.get_by_text("With personal values").click()
    page.get_by_label("Personal values").select_option("Shown")
    page.get_by_label("Reason (recorded under your name)").fill("A complaint about the amount.")
    with page.expect_download() as bundle:
        page.get_by_role("button", name="Export").click()
    with page.expect_download() as key:
        page.get_by_role("link", name="Log key").click()
    bundle.value.save_as(folder / "bundle.zip")
    key.value.save_as(folder / "key")
    verify(folder / "bundle.zip", folder / "key")
    told = report(folder / "bundle.zip")
    assert receipt in told
    assert "1,250.00" in told
    assert "The caller said twelve fifty." in told
