"""`verify.py --report`: the page that people read, made from what was proved, whatever the bundle says of itself."""

from __future__ import annotations

import html
import html.parser
import io
import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import verify
from tests.core.proof_world import World
from tests.core.test_verify_many import many
from tests.core.tlog_world import SIGNER, MemoryLedger, chatter, export, pack, resign, transfer_story, unpack

ALLOWED = set(
    re.findall(r"[a-z0-9]+", "html head meta title style body h1 h2 p pre table thead tbody tr th td dl dt dd a")
)
ROOT = Path(__file__).parents[2]


def page_of(data: bytes, folder: Path) -> str:
    """The page of a bundle that holds."""
    path = folder / "bundle"
    path.write_bytes(data)
    page, out = verify.Page(), io.BytesIO()
    verdict = verify.verify(path, SIGNER.vkey(), page=page)
    assert verdict.ok, "\n".join(verify.in_words(verdict))
    page.write(out, verdict)
    return out.getvalue().decode()


class Texts(html.parser.HTMLParser):
    """The texts of a page by the tag around them, and all tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.found: list[tuple[str, str]] = []
        self._tag = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "style")]
        self.tags.add(tag)
        self._tag = tag

    def handle_data(self, data):
        self.found.append((self._tag, data))


def said_by(*texts: str, actor: str = "system") -> bytes:
    ledger = MemoryLedger()
    for text in texts:
        ledger.append("message.added", {"role": "customer", "text": text, "v": 1}, actor=actor)
    return export(ledger)


def test_the_page_has_every_entry_with_what_was_recorded_and_the_verdict(tmp_path):
    page = page_of(export(transfer_story()), tmp_path)
    assert len(re.findall(r'<tr id="s[0-9a-f-]+-[0-9]+">', page)) == 7
    assert "<dt>/arguments/amount/minor<dd>430000" in page
    assert "NOT PROVED  README.txt, report.html, report.pdf" in page
    assert "OK: every check holds." in page
    decided = page.partition("What people decided")[2].partition("All entries")[0]
    assert "user:u1" in decided
    assert "<dt>/decision<dd>approve" in decided


def test_the_page_says_what_was_proved_whatever_the_report_in_the_bundle_says(tmp_path):
    files = unpack(export(transfer_story()))
    lie = files["report.html"].replace(b"user:u1", b"user:u2").replace(b"430000", b"100")
    assert lie != files["report.html"]
    page = page_of(pack(resign(files | {"report.html": lie, "report.pdf": b"%PDF"})), tmp_path)
    assert page == page_of(export(transfer_story()), tmp_path)
    assert "user:u2" not in page


def test_what_a_stranger_wrote_is_text_and_the_page_may_load_nothing(tmp_path):
    hostile = "<script>alert(1)</script>", "</dd></table><img src=x onerror=alert(1)>", "&lt;b&gt;", "<!--"
    page = page_of(said_by(*hostile, actor='"><script>x</script>'), tmp_path)
    texts = Texts(page)
    assert texts.tags <= ALLOWED
    assert [text for tag, text in texts.found if tag == "dd" and text in hostile] == list(hostile)
    assert "default-src 'none'" in page


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_hidden_character_reaches_the_page_and_none_is_lost(text):
    shown = html.unescape(verify.shown_text(text))
    back = re.sub(r"\[U\+([0-9A-F]{4,6}) [^\]]+\]", lambda found: chr(int(found[1], 16)), shown)
    if not re.search(r"\[U\+[0-9A-F]{4,6} ", text):
        assert back == text
    hidden = [char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Co", "Zl", "Zp") and char != "\n"]
    assert not hidden


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u202eevil", "pay[U+202E RIGHT-TO-LEFT OVERRIDE]evil"),
        ("a\u200bb", "a[U+200B ZERO WIDTH SPACE]b"),
        ("\u2066x\u2069", "[U+2066 LEFT-TO-RIGHT ISOLATE]x[U+2069 POP DIRECTIONAL ISOLATE]"),
        ("\x1b[2J", "[U+001B control character][2J"),
        ("\u3164", "[U+3164 HANGUL FILLER]"),
        ("x\ufe0f", "x[U+FE0F VARIATION SELECTOR-16]"),
        ("\U000e0041", "[U+E0041 TAG LATIN CAPITAL LETTER A]"),
        ("\ue000", "[U+E000 no name]"),
        ("Żółć שלום مرحبا 你好\nb", "Żółć שלום مرحبا 你好\nb"),
    ],
)
def test_hidden_and_bidirectional_characters_are_named_and_letters_stay(text, shown, tmp_path):
    assert verify.shown_text(text) == shown
    assert f"<dd>{shown}" in page_of(said_by(text), tmp_path)


def test_half_a_character_and_what_is_nested_deeply_end_on_the_page(tmp_path):
    deep: object = "end"
    for _ in range(90):
        deep = [deep]
    ledger = MemoryLedger()
    ledger.append("message.added", {"deep": deep, "empty": {}, "a/b~": [], "v": 1})
    page = page_of(export(ledger), tmp_path)
    assert f"<dt>/deep{'/0' * 90}<dd>end" in page
    assert "<dt>/a~1b~0<dd>[]" in page
    out = io.BytesIO()
    verify.Page()._put(out, verify.shown_text("a\ud800"))
    assert out.getvalue() == b"a[U+D800 no name]"


def test_the_page_of_many_sessions_has_the_entries_of_each(tmp_path):
    page = page_of(pack(many()), tmp_path)
    assert len(re.findall(r">Session [0-9a-f-]{36}</tr>", page)) == 3
    assert len(re.findall(r'<tr id="s[0-9a-f-]+-[0-9]+">', page)) == 12
    assert "sessions.csv, sessions.jsonl" in page


# --- on the command line


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "audit" / "verify.py"), *map(str, arguments), "--key", SIGNER.vkey()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_page_is_written_to_a_new_file_and_only_if_all_holds(tmp_path):
    good, bad, out = (tmp_path / name for name in ("good.zip", "bad.zip", "page.html"))
    good.write_bytes(export(chatter(3)))
    files = unpack(export(chatter(3)))
    bad.write_bytes(pack(resign(files | {"entries.csv": files["entries.csv"].replace(b"message 1", b"message 7")})))
    refused = run(bad, "--report", out)
    assert refused.returncode == 1
    assert not out.exists()
    done = run(good, "--report", out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "message 1" in out.read_text()


@pytest.mark.parametrize("where", ["good.zip", "missing/page.html"])
def test_a_page_that_cannot_be_written_is_said_and_overwrites_nothing(where, tmp_path):
    good = tmp_path / "good.zip"
    good.write_bytes(export(chatter(3)))
    before = good.read_bytes()
    done = run(good, "--report", tmp_path / where, "--json")
    assert done.returncode == 1, done.stderr
    assert [failure["check"] for failure in json.loads(done.stdout)["failures"]] == ["report"]
    assert good.read_bytes() == before


def test_no_page_is_written_of_a_proof(tmp_path):
    proof, out = tmp_path / "proof.json", tmp_path / "page.html"
    proof.write_bytes(World().entry())
    done = run(proof, "--report", out, "--json")
    assert [failure["check"] for failure in json.loads(done.stdout)["failures"]] == ["report"], done.stdout
    assert not out.exists()
