"""The pages of tools in a browser: what an admin accepts of an MCP server, with the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.console import Desk
from tests.browser.test_pages import faults, visit


def test_the_pages_of_tools_and_a_servers_offers(desk: Desk):
    page = desk.person("admin")
    found = visit(page, "/tools/", "/tools/transfer/", "/tools/servers/crm/")
    page.get_by_role("button", name="Refresh tools").click()
    expect(page.get_by_role("heading", name="lookup")).to_be_visible()
    found += faults(page, "what a server offers")
    page.get_by_role("button", name="Accept lookup, version 1").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Accepted by")).to_be_visible()
    found += faults(page, "an accepted tool")
    page.goto("/tools/")
    expect(page.get_by_role("link", name="crm__lookup")).to_be_visible()
    assert found == []
