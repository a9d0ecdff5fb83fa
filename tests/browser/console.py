"""A person at the console: a real Chromium, signed in or not, and everything the browser complained of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.demo import Demo

Scheme = Literal["light", "dark"]
TELL = """document.addEventListener("securitypolicyviolation", (event) =>
  window.violated(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));"""
expect.set_options(timeout=15_000)


@contextmanager
def chromium_browser() -> Iterator[Browser]:
    """A Chromium of its own. While it runs, this thread runs an event loop: keep away from Django's ORM."""
    found = chromium.find()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.path, env={**os.environ, **found.environment}, args=list(found.arguments)
        )
        yield browser
        browser.close()


class Complaints:
    """What browsers reported: broken content security policy, errors on the console, uncaught exceptions."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._expected: list[str] = []

    def listen(self, context: BrowserContext) -> None:
        """Hear everything of `context`, from its first page on."""
        context.expose_binding("violated", lambda _, told: self.heard.append(f"CSP: {told}"))
        context.add_init_script(TELL)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.heard.append(f"uncaught: {error.error}"))

    def expect(self, pattern: str) -> None:
        """A complaint that matches is part of this test: a refusal's status, a server that was killed."""
        self._expected.append(pattern)

    def unexpected(self) -> list[str]:
        """All others."""
        return [told for told in self.heard if not any(re.search(pattern, told) for pattern in self._expected)]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.heard.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")


class Desk:
    """Opens browsers for people, each with cookies of its own, and closes them all."""

    def __init__(self, browser: Browser, demo: Demo) -> None:
        self.browser, self.demo, self.complaints = browser, demo, Complaints()
        self._contexts: list[BrowserContext] = []

    def stranger(self, width: int = 1280, height: int = 900, scheme: Scheme = "light", **wishes: Any) -> Page:
        """A page of somebody who has not signed in. `java_script_enabled=False` and the like are Playwright's."""
        context = self.browser.new_context(
            base_url=self.demo.url, viewport={"width": width, "height": height}, color_scheme=scheme, **wishes
        )
        self._contexts.append(context)
        self.complaints.listen(context)
        return context.new_page()

    def person(self, username: str, **wishes: Any) -> Page:
        """A page of `username`, who has signed in at the door, by the one-time link, and is at the wall."""
        page = self.stranger(**wishes)
        page.goto(self.demo.link(username) if username == "caller" else "/sign-in/")
        if username != "caller":  # which has no password
            page.get_by_label("User name").fill(username)
            page.get_by_label("Password").fill(self.demo.password(username))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Live")
        return page

    def close(self) -> None:
        """End every browser."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()


def live(page: Page) -> Page:
    """The page once it is connected. From here on `was_not_reloaded` tells whether it is the same document."""
    expect(page.locator("#conn")).to_contain_text("Live")
    page.evaluate("window.loadedOnce = true")
    return page


def was_not_reloaded(page: Page) -> bool:
    """Whether this is still the document that `live` saw."""
    return bool(page.evaluate("window.loadedOnce === true"))
