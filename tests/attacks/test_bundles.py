"""Attacks on who reads a bundle: whoever holds the log key makes it anew, signs it, and changes what people read."""

from __future__ import annotations

import io
import json
from pathlib import Path

from audit import verify
from audit.export import tables
from tests.core.tlog_world import SIGNER, export, pack, resign, transfer_story, unpack

OK = "OK: every check holds."


def bundle() -> dict[str, bytes]:
    """The files of an export: user:u1 approved $4,300.00."""
    return unpack(export(transfer_story()))


def told(files: dict[str, bytes], folder: Path) -> tuple[list[str], str]:
    """The verdict of the auditor on the bundle signed anew, and the page of what was proved; no page if it fails."""
    path = folder / "bundle.zip"
    path.write_bytes(pack(resign(files)))
    page, out = verify.Page(), io.BytesIO()
    verdict = verify.verify(path, SIGNER.vkey(), page=page)
    if verdict.ok:
        page.write(out, verdict)
    return list(verify.in_words(verdict)), out.getvalue().decode()


def is_named_as_not_proved(name: str, forged: bytes, folder: Path) -> None:
    """The lie is in the file, the first line warns of the file, and the page from the verifier tells the truth."""
    files = bundle()
    assert files[name] != forged
    lines, page = told(files | {name: forged}, folder)
    assert lines[0].startswith("NOT PROVED")
    assert name in lines[0]
    assert "user:u1" in page
    assert "430000" in page
    assert "user:u9" not in page


def is_refused(name: str, forged: bytes, column: str, entry: int, folder: Path) -> None:
    """The verdict is not OK, and names the entry, the file and the column."""
    files = bundle()
    assert files[name] != forged
    lines, page = told(files | {name: forged}, folder)
    assert OK not in lines
    assert page == ""
    failures = [line for line in lines if line.startswith("FAIL")]
    assert [f"entry {entry} " in line and f"{name}: its {column} is not" in line for line in failures] == [True], lines


def test_v1_a_pdf_with_another_approver_is_named_as_not_proved(tmp_path):
    honest = bundle()["report.pdf"]
    is_named_as_not_proved("report.pdf", honest.replace(b"user:u1", b"user:u9"), tmp_path)


def test_v1_a_pdf_that_is_no_pdf_is_named_as_not_proved(tmp_path):
    is_named_as_not_proved("report.pdf", b"<script>document.write('approved by user:u9')</script>", tmp_path)


def test_v1_a_page_with_another_approver_is_named_as_not_proved(tmp_path):
    honest = bundle()["report.html"]
    is_named_as_not_proved("report.html", honest.replace(b"user:u1", b"user:u9"), tmp_path)


def test_v1_a_page_that_says_it_was_verified_is_named_as_not_proved(tmp_path):
    lie = b"<h1>OK: every check holds. report.html is proved: approved by user:u9</h1>"
    is_named_as_not_proved("report.html", lie, tmp_path)


def test_v1_a_csv_with_another_amount_is_refused(tmp_path):
    honest = bundle()["entries.csv"]
    lines = honest.splitlines(keepends=True)
    lines[6] = lines[6].replace(b"430000", b"430")  # the intent: entry 5, behind the titles
    is_refused("entries.csv", b"".join(lines), "event", 5, tmp_path)


def test_v1_a_csv_in_which_the_approver_is_a_formula_is_refused(tmp_path):
    honest = bundle()["entries.csv"]
    forged = honest.replace(b'"user:u1","decision.made"', b'"=HYPERLINK(""http://x"")","decision.made"')
    is_refused("entries.csv", forged, "actor", 3, tmp_path)


def test_v1_json_in_which_another_person_approved_is_refused(tmp_path):
    files = bundle()
    whole = json.loads(files["report.json"])
    whole["entries"][3]["event"]["by"] = "user:u9"
    facts = {name: whole[name] for name in ("head", "warnings")}
    is_refused("report.json", tables.document(whole["entries"], facts), "event", 3, tmp_path)


def test_v1_json_in_which_the_decision_was_made_later_is_refused(tmp_path):
    rows = [json.loads(line) for line in bundle()["entries.jsonl"].splitlines()]
    rows[3]["at"] = rows[3]["at"].replace("03:00:03", "03:59:03")
    is_refused("entries.jsonl", tables.json_lines(rows), "at", 3, tmp_path)
