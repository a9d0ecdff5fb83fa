"""`make screenshots`: the pages of a running demo, at three widths, light and dark.

A few of them are the pictures of the README and the documents (docs/pictures, small); all of them go, as they are,
into the folder given by --all, or a temporary one, for somebody who wants to look at every page. What they show
happened: callers call, and a transfer was edited and made before the pictures are taken.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser.console import Desk, Scheme, chromium_browser
from tests.browser.demo import Demo
from tests.processes import ROOT, eventually

SIZES = {1440: 1000, 1024: 768, 390: 844}
PICTURES = ROOT / "docs" / "pictures"
KEPT = {
    "live-1440-light": "live",
    "live-1440-dark": "live-dark",
    "decision-1440-light": "decision",
    "decision-390-light": "decision-phone",
    "session-1440-light": "session",
    "ledger-1440-light": "ledger",
}
Colour = tuple[int, int, int]
CLOSE = 40  # as `apart` counts: nobody sees it
MISHEARD = 50_000  # minor units by which the demo's agent mishears an amount spoken in hundreds


@dataclass(frozen=True)
class Story:
    """What the pictures show: a session whose transfer was edited and made, and a request that still waits."""

    session: str
    request: str
    amount: str  # what the caller of the request said, to be typed in place of what the agent heard


def main() -> None:
    """Run a demo of its own, wait until it is lively, take the pictures, stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", type=Path, metavar="DIR", help="where every picture goes")
    folder = parser.parse_args().all or Path(tempfile.mkdtemp(prefix="agentstate-pictures-"))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as state, chromium_browser() as browser:
        demo = Demo(Path(state) / "state", callers=True)
        try:
            take_all(browser, demo, folder)
        finally:
            demo.stop()
    print(f"{len(list(PICTURES.glob('*.png')))} pictures in {PICTURES}, all in {folder}")


def take_all(browser: Browser, demo: Demo, folder: Path) -> None:
    """Every page at every size in both schemes."""
    desk = Desk(browser, demo)
    page = desk.person("supervisor")
    eventually(lambda: is_lively(page), 180, "enough callers on the wall")
    told = prepare(page)
    visitor = desk.stranger()
    state = page.context.storage_state()
    for width, height in SIZES.items():
        for scheme in ("light", "dark"):
            size: dict[str, Scheme | int] = {"width": width, "height": height, "scheme": scheme}
            pictures(desk.stranger(storage_state=state, **size), told, folder, f"{width}-{scheme}")
            visitor.set_viewport_size({"width": width, "height": height})
            visitor.emulate_media(color_scheme=scheme)
            visitor.goto("/sign-in/")
            take(visitor, folder, f"door-{width}-{scheme}")
    desk.close()
    assert desk.complaints.unexpected() == []


def is_lively(page: Page) -> bool:
    """Whether enough happens on the wall to be worth a picture: also a misheard amount, twice."""
    page.wait_for_timeout(1000)
    waiting, calm = (page.locator(f"#{group} tr[data-session]").count() for group in ("need", "calm"))
    return waiting >= 5 and calm >= 3 and page.locator("#need .tier.k3").count() >= 2


def prepare(page: Page) -> Story:
    """Edit a large transfer, as a supervisor would, and find the request of the pictures."""
    page.goto("/decisions/")
    mine = page.locator("#queue a.item", has_not_text="new payee")
    asked = [(link.inner_text(), link.get_attribute("href") or "") for link in mine.all()]
    tier3 = mine.first.get_attribute("href") or ""
    text, address = next((text, href) for text, href in asked if href != tier3)
    amount = re.search(r"\$([\d,]+)\.00", text)
    assert amount
    page.goto(address)
    session = page.locator("#card-h a[href*=sessions]").get_attribute("href") or ""
    page.get_by_label("Amount").fill(f"{int(amount[1].replace(',', '')) - 100:,}.00")
    expect(page.locator("#differences")).to_contain_text("You change the amount")
    page.get_by_label("Note (required").fill("A hundred less, as the caller said at the end.")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("#notes")).to_contain_text("Edited, approved")
    page.goto(session)
    expect(page.get_by_role("log")).to_contain_text("receipt")
    page.goto(tier3)
    proposed = int(page.get_by_label("Amount").get_attribute("data-proposed") or "0")
    return Story(session, tier3, f"{(proposed - MISHEARD) // 100:,}.00")


def pictures(page: Page, told: Story, folder: Path, suffix: str) -> None:
    """Each page once, as it is after it has connected."""
    for name, address in (("live", "/live/"), ("decision", told.request), ("session", told.session)):
        page.goto(address)
        if name == "decision":
            page.get_by_label("Amount").fill(told.amount)
            page.get_by_label("Note (required").fill("The caller said it three times.")
        take(page, folder, f"{name}-{suffix}")
    for name, address in (
        ("decided", "/decisions/?view=decided"),
        ("sessions", "/sessions/"),
        ("audit", "/audit/"),
        ("ledger", f"{told.session}audit/"),
    ):
        page.goto(address)
        take(page, folder, f"{name}-{suffix}")


def take(page: Page, folder: Path, name: str) -> None:
    """One picture; a small copy for the documents if it is one of theirs."""
    if page.locator("#conn").count():
        expect(page.locator("#conn")).to_contain_text("Live")
    page.evaluate("document.activeElement?.blur()")
    page.evaluate("scrollTo(0, 0); document.querySelector('.card-b')?.scrollTo(0, 0)")
    file = folder / f"{name}.png"
    page.screenshot(path=file, animations="disabled")
    if name in KEPT:
        small(file, PICTURES / f"{KEPT[name]}.png")


def small(source: Path, target: Path) -> None:
    """The picture in 256 of its colours, which flat pages hardly miss: a third of the bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as opened:
        picture = opened.convert("RGB")
    counted: list[tuple[int, Colour]] = picture.getcolors(picture.width * picture.height)
    colours = [colour for _, colour in sorted(counted, reverse=True)]
    palette = chosen(colours)
    places = {colour: min(range(len(palette)), key=lambda at: apart(palette[at], colour)) for colour in colours}
    flat = Image.frombytes("P", picture.size, bytes(places[colour] for colour in picture.get_flattened_data()))
    flat.putpalette([part for colour in palette for part in colour])
    flat.save(target, optimize=True)


def chosen(colours: list[Colour]) -> list[Colour]:
    """Those of `colours`, frequent ones first, that are not close to one chosen before; at most 256."""
    palette: list[Colour] = []
    for colour in colours:
        if len(palette) < 256 and all(apart(colour, other) > CLOSE for other in palette):
            palette.append(colour)
    return palette


def apart(one: Colour, other: Colour) -> int:
    """How far two colours are from each other, as the square of a length."""
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
    main()
