"""The verifier in the browser: the verdict of audit/verify.py on everything, without a request, at anybody's desk."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from audit import verify as specification
from audit.verify import end_record, local_header
from tests.browser.console import Desk
from tests.browser.demo import Demo
from tests.browser.test_pages import faults
from tests.browser.verifying import Forging, judged, opened, peak_of_renderers, verdict_of, verify
from tests.core import tlog_world as world
from tests.core.judged import job
from tests.searching import FULL

KEY = world.SIGNER.vkey()
NOW = datetime(2026, 11, 22, tzinfo=UTC)
SIZES = (0, 1, 2, 255, 256, 257, 600)
SEAL = "#verdict"


@pytest.fixture(scope="module", autouse=True)
def forging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forging]:
    """Started before the demo, wanted at the end."""
    running = Forging(tmp_path_factory.mktemp("forging"))
    yield running
    running.stop()


@pytest.fixture
def page(desk: Desk) -> Page:
    """The page, at the desk of a stranger."""
    return opened(desk.stranger())


def bundle(folder: Path, data: bytes, name: str = "A1B2C3.zip") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def specified(data: bytes, folder: Path) -> str:
    """What audit/verify.py says."""
    return json.dumps(world.check(data, folder, now=NOW).as_json(), indent=1)


def differing(page: Page, jobs: list[dict[str, Any]], specified: list[str]) -> list[tuple[int, str, str]]:
    """Where the two verifiers do not say the same, but for the wording of what failed."""
    both = zip(judged(page, jobs), specified, strict=True)
    return [
        (at, ours[:600], theirs[:600])
        for at, (ours, theirs) in enumerate(both)
        if ours != theirs and without_wording(ours) != without_wording(theirs)
    ]


def without_wording(verdict: str) -> Any:
    try:
        said = json.loads(verdict)
    except ValueError:
        return verdict
    return said | {"failures": [failure | {"message": ""} for failure in said["failures"]]}


# --- the same verdict


def test_honest_bundles_of_many_sizes_verify_here_as_there(page: Page, tmp_path: Path):
    masked = world.export(world.transfer_story(), shows=lambda _kind, pointer, _value: pointer != "/text")
    sealed = world.export(world.transfer_story(), withhold=frozenset({"message.added"}))
    bundles = [world.export(world.chatter(size)) for size in SIZES] + [
        world.export(world.transfer_story()),
        masked,
        sealed,
    ]
    verdicts = [specified(data, tmp_path) for data in bundles]
    assert all(json.loads(each)["ok"] for each in verdicts)
    assert judged(page, [job(data, KEY, NOW) for data in bundles]) == verdicts


def wounded(chance: random.Random, data: bytes) -> bytes:
    """One byte changed, left out or put in, or the end cut off."""
    at = chance.randrange(len(data))
    kind = chance.choice(("flip", "flip", "flip", "set", "drop", "add", "cut"))
    middle = {"flip": bytes([data[at] ^ 1 << chance.randrange(8)]), "set": bytes([chance.randrange(256)]), "drop": b""}
    if kind == "cut":
        return data[:at]
    return data[:at] + middle.get(kind, data[at : at + 1] + chance.randbytes(1)) + data[at + 1 :]


def test_random_wounds_anywhere_are_judged_here_as_there(page: Page, tmp_path: Path):
    """In the archive as it is; in a file of it, packed to fit; and in one that the log key signed anew."""
    chance = random.Random(11)
    whole = [world.export(world.chatter(3)), world.export(world.transfer_story())]
    bundles = [wounded(chance, chance.choice(whole)) for _ in range(110)]
    for number in range(220):
        files = world.unpack(chance.choice(whole))
        name = chance.choice(sorted(files))
        files[name] = wounded(chance, files[name]) if files[name] else b"x"
        fits = number % 2 and not name.startswith("manifest")
        bundles.append(world.pack(world.resign(files) if fits else files))
    verdicts = [specified(data, tmp_path) for data in bundles]
    assert Counter(json.loads(each)["ok"] for each in verdicts)[False] > 250
    assert differing(page, [job(data, KEY, NOW) for data in bundles], verdicts) == []


LOGS = (world.LOG, world.OTHER_LOG, world.THIRD_LOG)


def many() -> dict[str, bytes]:
    """The files of an export of three sessions; a fourth went with its data subject."""
    log, ledgers = world.GlobalLog(), [world.chatter(size, log=each) for size, each in enumerate(LOGS, 1)]
    heads = [log.add_head(ledger.log, ledger.honest) for ledger in ledgers]
    at = log.add_map()
    files = {"README.txt": b"", "log/checkpoint": log.checkpoint(), "policy": log.policy(), "sessions.csv": b""}
    rows: list[dict[str, Any]] = [{"session": str(ledger.log), "entries": ledger.size()} for ledger in ledgers]
    rows.append({"session": str(world.KID), "status": "erased"})
    for ledger, head in zip(ledgers, heads, strict=True):
        files[f"sessions/{ledger.log}.zip"] = world.export(ledger, evidence=log.evidence(ledger.log, head, at))
    return signed(files | {"sessions.jsonl": b"".join(world.plain(row) + b"\n" for row in rows)})


def signed(files: dict[str, bytes], **changes: Any) -> dict[str, bytes]:
    """With a manifest that fits them, as somebody with the log key would make it."""
    rest = {name: data for name, data in files.items() if not name.startswith("manifest.")}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in rest.items()}
    said = {"entries": 6, "files": digests, "format": specification.EXPORTS_FORMAT, "sessions": 4} | changes
    raw = world.plain(said)
    digest = base64.b64encode(hashlib.sha256(raw).digest()).decode()
    note = world.SIGNER.sign_text(f"{specification.EXPORTS_TITLE}\n{world.ORIGIN}\n{digest}\n")
    return dict(sorted((rest | {"manifest.json": raw, "manifest.note": note}).items()))


def test_exports_of_many_sessions_are_judged_here_as_there(page: Page, tmp_path: Path):
    chance, files = random.Random(3), many()
    first, second, _ = (f"sessions/{each}.zip" for each in LOGS)
    forged = [signed({name: data for name, data in files.items() if name != left_out}) for left_out in sorted(files)]
    forged += [signed(files | {first: files[second]}), signed(files | {first: world.export(world.chatter(1))})]
    forged += [
        signed(files, entries=7),
        signed(files, sessions=True),
        signed(files, format="x"),
        files | {"more": b"x"},
    ]
    for _ in range(40):
        name = chance.choice(sorted(files))
        forged.append(files | {name: wounded(chance, files[name] or b"x")})
    bundles = [world.pack(dict(sorted(each.items()))) for each in (files, *forged)]
    verdicts = [specified(data, tmp_path) for data in bundles]
    assert (json.loads(verdicts[0])["ok"], json.loads(verdicts[0])["sessions"]) == (True, 4)
    assert sum(not json.loads(each)["ok"] for each in verdicts) > 45
    assert differing(page, [job(data, KEY, NOW) for data in bundles], verdicts) == []


VALUES = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**60,
    "",
    "r1",
    "approve",
    "edit",
    " 2 ",
    "é\u2028'\"\\",
    [],
    ["r1"],
    {},
    {"a": 1},
)


def test_events_with_fields_of_any_type_are_judged_here_as_there(page: Page, tmp_path: Path):
    """Somebody with every key may write what they like; two verifiers must still agree on what is wrong with it."""
    chance, bundles = random.Random(5), []
    for _ in range(100):
        ledger = world.MemoryLedger()
        events = [
            ("approval.requested", world.requested(), -1),
            ("decision.made", world.decided(), 0),
            ("request.ended", {"request": "r1", "outcome": "approved", "because": "", "v": 1}, 0),
            ("tool.intended", world.intended(), 0),
            ("tool.returned", world.returned(), 3),
        ]
        for kind, event, ref in events:
            for name in chance.sample(sorted(event), chance.randrange(3)):
                event[name] = chance.choice(VALUES)
            if chance.random() < 0.2:
                event.pop(chance.choice(sorted(event)))
            ledger.append(kind, event, ref, actor=event.get("by") if event.get("by") == "user:u1" else "system")
        bundles.append(world.export(ledger))
    verdicts = [specified(data, tmp_path) for data in bundles]
    assert differing(page, [job(data, KEY, NOW) for data in bundles], verdicts) == []


# --- by the form


def test_a_sound_bundle_is_verified_offline_and_without_a_single_request(page: Page, tmp_path: Path):
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    data = world.export(world.transfer_story())
    verify(page, bundle(tmp_path, data), KEY)
    expect(page.locator(SEAL)).to_have_text("Every check holds.")
    expect(page.locator(SEAL)).to_be_focused()
    expect(page.locator("#reason")).to_contain_text("No witness that you trust cosigned")
    expect(page.locator("#entries tbody tr")).to_have_count(7)
    expect(page.locator("#entries tbody tr").nth(5)).to_contain_text("Tool intended")
    verdict = verdict_of(page)
    assert verdict["key"].pop("source") == "given on the page"
    theirs = json.loads(specified(data, tmp_path))
    del theirs["key"]["source"]
    assert verdict == theirs
    assert [url for url in asked if not url.startswith("blob:")] == []


def test_neither_the_page_nor_its_worker_could_send_anything(desk: Desk):
    desk.complaints.expect("connect-src|Content Security Policy|violates")
    page = opened(desk.stranger())
    send = "fetch('/healthz').then(() => 'sent', () => 'refused')"
    assert page.evaluate(send) == "refused"
    assert page.workers[0].evaluate(send) == "refused"


def test_a_bundle_that_was_altered_is_refused_with_the_entry_named(page: Page, tmp_path: Path):
    ledger = world.transfer_story()
    ledger.stored[3].envelope = ledger.stored[3].envelope.replace(b"user:u1", b"user:u2")
    verify(page, bundle(tmp_path, world.export(ledger)), KEY)
    expect(page.locator(SEAL)).to_contain_text("Do not rely on this bundle")
    expect(page.locator("#failures tbody")).to_contain_text("decision.made")
    expect(page.locator("#entries")).to_be_hidden()


def test_a_key_that_lies_beside_the_bundle_is_used_and_marked(page: Page, tmp_path: Path):
    forged = [bundle(tmp_path, world.export(world.chatter(2), world.STRANGER)), tmp_path / "A1B2C3.zip.vkey"]
    forged[1].write_text(world.STRANGER.vkey() + "\n")
    verify(page, forged)
    expect(page.locator(SEAL)).to_have_text("Every check holds, if the key is genuine.")
    expect(page.get_by_text("Compare it with your own copy before")).to_be_visible()
    assert verdict_of(page)["key"]["source"] == "taken from A1B2C3.zip.vkey, beside the bundle"
    verify(page, forged, KEY)
    expect(page.locator(SEAL)).to_contain_text("Do not rely on this bundle")


def test_a_policy_and_a_held_head_are_held_against_it(page: Page, tmp_path: Path):
    policy, held = tmp_path / "policy", tmp_path / "held"
    witness = world.Witness()
    policy.write_text(f"log {KEY}\nwitness w {witness.vkey()}\nquorum w\n")
    held.write_bytes(world.GlobalLog(leaves=[b"another history"]).checkpoint())
    page.get_by_label("Or a key file").set_input_files(policy)
    page.get_by_text("3. Additional checks").click()
    page.get_by_label("An older head of the log").set_input_files(held)
    verify(page, bundle(tmp_path, world.export(world.chatter(1))))
    expect(page.locator("#failures tbody")).to_contain_text("the policy asks for w")
    expect(page.locator("#failures tbody")).to_contain_text("the bundle holds no proof from the head of 1 entries")


def test_what_is_missing_is_said_beside_its_field(page: Page, tmp_path: Path):
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.get_by_text("Choose the exported file first.")).to_be_visible()
    expect(page.get_by_label("The exported file")).to_be_focused()
    verify(page, bundle(tmp_path, b"x"))
    expect(page.get_by_text("A key is required.")).to_be_visible()
    expect(page.get_by_label("Log key")).to_be_focused()


def test_an_export_of_many_sessions_lists_them_and_a_proof_is_told_from_an_export(page: Page, tmp_path: Path):
    verify(page, bundle(tmp_path, world.pack(many())), KEY)
    expect(page.locator(SEAL)).to_have_text("Every check holds.")
    expect(page.locator("#sessions tbody tr")).to_have_count(3)
    verify(page, bundle(tmp_path, b"{}", "one.proof.json"), KEY)
    expect(page.locator(SEAL)).to_have_text("This is a proof, not an export.")


def test_a_bundle_is_verified_by_keyboard_alone(page: Page, tmp_path: Path):
    path = bundle(tmp_path, world.export(world.chatter(2)))
    with page.expect_file_chooser() as chooser:
        page.get_by_label("The exported file").press("Enter")
    chooser.value.set_files(path)
    page.keyboard.press("Tab")
    page.keyboard.type(KEY)
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Verify", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(SEAL)).to_have_text("Every check holds.")


def test_files_are_taken_when_they_are_dropped_anywhere_on_the_page(page: Page):
    page.evaluate("""() => {
      const dropped = new DataTransfer();
      dropped.items.add(new File(["PK"], "A1B2C3.zip"));
      document.querySelector("h1").dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true }));
    }""")
    expect(page.locator("#bundle-is")).to_contain_text("A1B2C3.zip")


# --- files made to hurt


def hostile(folder: Path) -> dict[str, bytes]:
    """Bombs, absurd sizes, truncation, depth."""
    files = world.unpack(world.export(world.chatter(2)))
    bomb = folder / "bomb"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(name, bytes(10_000_000))
    unpacking = world.MemoryLedger()
    unpacking.append("message.added", {"text": "a" * 40_000_000, "v": 1}, v=1)
    deep = b"[" * 10_000 + b"]" * 10_000
    count = world.plain({"entries": 2**52, "files": {}, "format": specification.FORMAT})
    return {
        "zip bomb": bomb.read_bytes(),
        "a payload that unpacks to 40 MB": world.export(unpacking),
        "promises 4 GB": local_header("README.txt", 0, 2**32 - 1),
        "65,535 files of nothing": b"PK\x03\x04" * 60_000 + end_record(65535, 2**32 - 1, 0),
        "10,000 deep": world.pack(world.resign(files | {"log/headmap.json": deep})),
        "a manifest 10,000 deep": world.pack(files | {"manifest.json": deep}),
        "2^52 entries": world.pack(files | {"manifest.json": count}),
        "many entries announced": world.pack(world.resign(files, entries=2**22 if FULL else 2**18)),
        "a frame of 4 GB": world.pack(world.resign(files | {"session/payload/000.p/2": struct.pack(">I", 2**32 - 1)})),
        "cut off": world.export(world.chatter(2))[:5_000],
        "nothing": b"",
    }


def test_files_made_to_hurt_end_in_the_same_verdict_and_the_page_lives_on(page: Page, tmp_path: Path):
    for number, (name, data) in enumerate(hostile(tmp_path).items()):
        page.locator("#result").evaluate("(result) => { result.hidden = true; }")
        verify(page, bundle(tmp_path, data, f"{number}.zip"), KEY)
        expect(page.locator(SEAL), name).to_contain_text("Do not rely on this bundle", timeout=30_000)
        ours, theirs = verdict_of(page), json.loads(specified(data, tmp_path))
        assert [brief(each) for each in ours["failures"]] == [brief(each) for each in theirs["failures"]], name
    verify(page, bundle(tmp_path, world.export(world.chatter(2))), KEY)
    expect(page.locator(SEAL)).to_have_text("Every check holds.")


def brief(failure: dict[str, Any]) -> tuple[Any, ...]:
    return failure["entry"], failure["kind"], failure["check"]


def test_memory_does_not_grow_with_the_file_and_a_long_verification_can_be_cancelled(
    browser: Browser, page: Page, tmp_path: Path
):
    session = browser.new_browser_cdp_session()
    before = peak_of_renderers(session)
    verify(page, padded(tmp_path, 60), KEY)
    expect(page.locator(SEAL)).to_have_text("Every check holds.", timeout=60_000)
    small = peak_of_renderers(session) - before
    path = padded(tmp_path, 240)
    verify(page, path, KEY)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(SEAL)).to_have_text("Cancelled.")
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.locator(SEAL)).to_have_text("Every check holds.", timeout=60_000)
    large = peak_of_renderers(session) - before
    assert large < 2.5 * small  # of a file four times as large; held whole it would be 3.7 times


def padded(folder: Path, megabytes: int) -> Path:
    """A sound bundle of that size, most of it one file."""
    files = world.unpack(world.export(world.chatter(2)))
    zeros = {"report.pdf": bytes(megabytes * 1_000_000)}
    return bundle(folder, world.pack(world.resign(files | zeros)), f"{megabytes}.zip")


# --- how it looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_and_its_results_are_readable_at_every_width(scheme: Any, desk: Desk, demo: Demo, tmp_path: Path):
    page = opened(desk.stranger(width=1440, scheme=scheme))
    found = list(faults(page, "the form"))
    broken = world.transfer_story()
    broken.stored[3].envelope = broken.stored[3].envelope.replace(b"user:u1", b"user:u2")
    for ledger, verdict in ((world.transfer_story(), "Every check holds."), (broken, "Do not rely on this bundle")):
        verify(page, bundle(tmp_path, world.export(ledger)), KEY)
        expect(page.locator(SEAL)).to_contain_text(verdict)
        found += faults(page, verdict)
    assert found == []


# --- everything that the core's tests forge


def test_every_forgery_of_the_core_tests_is_judged_here_as_there(page: Page, forging: Forging):
    known = forging.judged()
    refused = [each for each in known if not json.loads(each["verdict"])["ok"]]
    assert len(refused) > 300
    assert {failure["check"] for each in refused for failure in json.loads(each["verdict"])["failures"]} >= {
        *("archive", "bundle", "chunk", "envelope", "head", "log", "manifest", "payload", "place", "receipt", "story"),
        *("tail", "timestamp", "tree"),
    }
    told = differing(page, known, [each["verdict"] for each in known])
    assert [(known[at]["test"], ours, theirs) for at, ours, theirs in told] == []
