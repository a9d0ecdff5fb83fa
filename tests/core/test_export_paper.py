"""The report on paper: the same calls give the same bytes, and any text can be set."""

from __future__ import annotations

import re
import subprocess
import sys

from hypothesis import example, given, settings
from hypothesis import strategies as st

from audit.export.paper import Paper
from audit.export.report import ReportEntry, ReportHead
from sessions.exports import report
from tests import searching
from tests.core.tlog_world import export, transfer_story, unpack

HEAD = ReportHead(log="L", origin="o/s/L", size=3, root="ab" * 32, vkey="k")


def paper(*texts: str) -> bytes:
    made = Paper("Title", "Foot")
    made.heading("Heading")
    for text in texts:
        made.text(text)
    made.table(("A", "B"), (1, 2), [(text, "b") for text in texts])
    return made.done()


def drawn(pdf: bytes) -> str:
    """The words of what is set in Helvetica."""
    return " ".join(part.decode("latin-1") for part in re.findall(rb"\((.*?)(?<!\\)\) Tj", pdf))


def test_the_same_text_gives_the_same_bytes_here_and_in_another_process():
    texts = "Plain words", "Zażółć gęślą jaźń", "Привет"
    code = f"import sys; from tests.core.test_export_paper import paper; sys.stdout.buffer.write(paper(*{texts!r}))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60).stdout
    assert paper(*texts) == other


def test_no_date_and_no_deflated_stream_is_in_it():
    pdf = paper("words")
    assert b"20000101000000" in pdf
    assert b"FlateDecode" not in pdf


@settings(max_examples=searching.drawn(60))
@given(st.text(max_size=300))
@example("\ud800 \x00\x01\u202e")
@example("x" * 3000)
@example("🙂" * 50)
@example("line\n\n\nline")
def test_any_text_can_be_set(text):
    assert paper(text).startswith(b"%PDF-")


def test_hidden_characters_are_drawn_by_name_and_tabs_and_breaks_are_not():
    assert "[U+202E right-to-left override]b" in drawn(paper("a\u202eb\r\nc\td"))
    assert "U+000" not in drawn(paper("a\u202eb\r\nc\td"))


def test_a_long_word_is_cut_where_the_line_ends_and_nothing_is_lost():
    assert drawn(paper("y" * 2000)).count("y") == 4000


def test_a_table_goes_on_over_pages_with_its_titles_on_each():
    pdf = paper(*[f"row {number}" for number in range(300)])
    pages = len(re.findall(rb"/Type /Page\b(?!s)", pdf))
    assert pages > 3
    assert f"page {pages}" in drawn(pdf)


def test_the_report_on_paper_says_who_decided_what_and_how_to_verify():
    entries = [
        ReportEntry(0, "approval.requested", "2026-11-21T03:25:00.000000Z", "agent:bank", -1, "disclosed", ASKED),
        ReportEntry(1, "decision.made", "2026-11-21T03:26:00.000000Z", "user:42", 0, "disclosed", DECIDED),
    ]
    said = drawn(report.render(HEAD, entries).pdf)
    for word in ("Approve: Move $4,800.00", "user:42", "transfer.high", "accounts.0.balance", "verify.py", "Misheard"):
        assert word in said


ASKED = {
    "preview": "Move $4,800.00",
    "rule": "transfer.high",
    "policy": "bank@1",
    "tier": 3,
    "why": "Above.",
    "tool": "transfer",
    "basis": [{"path": "accounts.0.balance", "value": {"minor": 480000, "currency": "USD"}}],
}
DECIDED = {"decision": "approve", "reason": "Misheard", "by": "user:42", "arguments": None}


def test_the_paper_in_a_bundle_is_the_same_bytes_each_time():
    assert unpack(export(transfer_story()))["report.pdf"] == unpack(export(transfer_story()))["report.pdf"]
