"""Tables and reports that whoever holds the log key made anew: every value is held against its entry, and what nothing
can be held against is named first.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tracemalloc
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit import verify
from audit.export import tables
from tests.core.tlog_world import (
    SIGNER,
    MemoryLedger,
    chatter,
    check,
    export,
    named,
    pack,
    plain,
    resign,
    said,
    transfer_story,
    unpack,
)
from tests.searching import drawn

NAMES = verify.TABLES


@cache
def story() -> dict[str, bytes]:
    """A session with an event of every JSON type, an entry of which a part is hidden, and one that is sealed."""
    ledger = transfer_story()
    ledger.append("message.added", {"role": "customer", "text": '=HYPERLINK("x")\n,"ü" \u2028', "v": 1}, actor="=who")
    ledger.append("state.changed", {"result": [None, True, 0, "", {}, []], "v": 1})
    ledger.append("note.made", {"text": "sealed", "v": 1})
    return unpack(export(ledger, withhold=frozenset({"note.made"}), shows=lambda _kind, at, _value: at != "/arguments"))


def rows_of(files: dict[str, bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in files["entries.jsonl"].splitlines()]


def with_rows(name: str, files: dict[str, bytes], rows: list[dict[str, Any]]) -> dict[str, bytes]:
    """The files with one table made anew, as the operator's own code makes it."""
    if name == "entries.csv":
        return files | {name: tables.csv_table(verify.COLUMNS, rows)}
    if name == "entries.jsonl":
        return files | {name: tables.json_lines(rows)}
    said = json.loads(files[name])
    return files | {name: tables.document(rows, {"head": said["head"], "warnings": said["warnings"]})}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every value in a row."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(found for name, each in inner for found in places(each, (*at, name)))]


def put(row: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The row with another value at a place."""
    changed = json.loads(json.dumps(row))
    inner = changed
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    return changed


def value_at(row: Any, place: tuple[Any, ...]) -> Any:
    for name in place:
        row = row[name]
    return row


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=4),
    st.sampled_from(["disclosed", "withheld", "erased", "decision.made", "user:u2", "approve", "'=who"]),
    st.lists(st.integers(0, 2), max_size=2),
    st.dictionaries(st.sampled_from(["a", "v"]), st.integers(0, 2), max_size=2),
)


def in_cells(row: dict[str, Any]) -> list[Any]:
    """What of a row a spreadsheet can tell apart: cells are texts."""
    cells = [verify.table_cell(row[name]) for name in verify.COLUMNS[:-1]]
    return [*cells, None if row["event"] == "" else row["event"]]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=drawn(60))
@given(data=st.data())
def test_every_value_that_was_altered_is_found_and_its_entry_named(name, data, tmp_path_factory):
    files, rows = story(), rows_of(story())
    seq = data.draw(st.integers(0, len(rows) - 1))
    place = data.draw(st.sampled_from(places(rows[seq])[1:]))
    value = data.draw(VALUES)
    altered = put(rows[seq], place, value)
    same = plain(value_at(rows[seq], place)) == plain(value)
    if name == "entries.csv":
        same = list(map(plain, in_cells(altered))) == list(map(plain, in_cells(rows[seq])))
    forged = with_rows(name, files, [*rows[:seq], altered, *rows[seq + 1 :]])
    verdict = check(pack(resign(forged)), tmp_path_factory.mktemp("tables"))
    assert verdict.ok == same, said(verdict)
    if not same:
        assert {failure.check for failure in verdict.failures} == {"table"}, said(verdict)
        assert named(verdict) - {None} == {seq}, said(verdict)
        assert all(name in failure.message for failure in verdict.failures)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in sorted(value, reverse=True)}
    return [reordered(each) for each in value] if isinstance(value, list) else value


def test_the_same_values_in_another_order_and_with_other_spaces_and_escapes_hold(tmp_path):
    files, rows = story(), rows_of(story())
    told = [json.dumps(reordered(row), indent=None, separators=(" , ", " : ")) for row in rows]
    head = json.dumps(reordered(json.loads(files["report.json"])["head"]))
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    for row in csv.reader(io.StringIO(files["entries.csv"].decode("utf-8-sig"), newline="")):
        writer.writerow(row)
    titles, _, lines = out.getvalue().partition("\n")
    quoted = ",".join(f'"{title}"' for title in titles.split(","))
    separator = ",\n"
    forms = {
        "entries.jsonl": "".join(f"{line} \n" for line in told),
        "report.json": f'{{"entries": [\n{separator.join(told)}\n], "warnings":[], "head":{head}}}\n',
        "entries.csv": f"\ufeff{quoted}\r\n{lines}",
    }
    changed = {name: text.encode() for name, text in forms.items()}
    assert all(changed[name] != files[name] for name in NAMES)
    verdict = check(pack(resign(files | changed)), tmp_path)
    assert verdict.ok, said(verdict)


def test_what_the_exporter_writes_is_what_the_verifier_writes_so_that_no_row_has_to_be_parsed(tmp_path, monkeypatch):
    parsed = []
    monkeypatch.setattr(verify.Table, "_values", lambda _self, line: parsed.append(line))
    monkeypatch.setattr(verify.CsvTable, "_values", lambda _self, line: parsed.append(line))
    assert check(pack(story()), tmp_path).ok
    assert parsed == []


def lines_of(files: dict[str, bytes], name: str) -> list[bytes]:
    return files[name].splitlines(keepends=True)


TORN = {
    "a row left out": lambda lines: lines[:3] + lines[4:],
    "a row twice": lambda lines: [*lines[:3], lines[2], *lines[3:]],
    "two rows swapped": lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
    "rows added": lambda lines: [*lines, lines[2]],
    "the end cut off": lambda lines: [*lines[:-1], lines[-1][:-5]],
    "nothing": lambda _lines: [],
    "a line that never ends": lambda lines: [*lines[:2], b'"' * 3_000_000, *lines[2:]],
    "ten thousand brackets": lambda lines: [*lines[:2], b"[" * 10_000 + b"\n", *lines[2:]],
    "a byte that is no UTF-8": lambda lines: [*lines[:2], b"\xff" + lines[2], *lines[3:]],
    "a null": lambda lines: [*lines[:2], b"\x00\n", *lines[2:]],
    "a name twice": lambda lines: [*lines[:2], lines[2].replace(b'"seq"', b'"seq": 1, "seq"'), *lines[3:]],
    "an empty line": lambda lines: [*lines[:2], b"\n", *lines[2:]],
    "no titles": lambda lines: lines[1:],
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", TORN)
def test_a_table_of_another_form_is_a_verdict_and_no_crash(what, name, tmp_path):
    files = story()
    data = b"".join(TORN[what](lines_of(files, name)))
    if data == files[name]:
        return  # a CSV has its names once
    verdict = check(pack(resign(files | {name: data})), tmp_path)
    assert {failure.check for failure in verdict.failures} == {"table"}, said(verdict)
    assert all(name in failure.message for failure in verdict.failures)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_without_one_row_is_read_no_further_so_that_one_failure_says_so(name, tmp_path):
    lines = lines_of(story(), name)
    verdict = check(pack(resign(story() | {name: b"".join(lines[:3] + lines[4:])})), tmp_path)
    assert len(verdict.failures) == 1, said(verdict)


@pytest.mark.parametrize(("at", "end"), [(2, b"\n"), (-2, b",\n")])
def test_rows_of_the_report_with_a_comma_too_few_or_too_many_are_no_json(at, end, tmp_path):
    lines = lines_of(story(), "report.json")
    lines[at] = lines[at].rstrip(b",\n") + end
    verdict = check(pack(resign(story() | {"report.json": b"".join(lines)})), tmp_path)
    assert "other rows than the entries" in said(verdict)


def test_memory_does_not_grow_with_a_line_that_never_ends(tmp_path):
    path = tmp_path / "bundle"
    path.write_bytes(pack(resign(story() | {"entries.jsonl": b"[" * 30_000_000})))
    tracemalloc.start()
    try:
        assert not verify.verify(path, SIGNER.vkey()).ok
        assert tracemalloc.get_traced_memory()[1] < 15_000_000
    finally:
        tracemalloc.stop()


HEADS = {
    "another root": {"root": "ab" * 32},
    "another size": {"size": 9},
    "another size by type": {"size": True},
    "another session": {"log": "018f0000-0000-7000-8000-000000000002"},
    "another key": {"key": "x"},
    "a fact more": {"more": 1},
}


@pytest.mark.parametrize("what", HEADS)
def test_the_head_in_the_report_is_the_one_that_was_proved(what, tmp_path):
    files, rows = story(), rows_of(story())
    head = json.loads(files["report.json"])["head"] | HEADS[what]
    forged = files | {"report.json": tables.document(rows, {"head": head, "warnings": []})}
    assert "its head is not the one" in said(check(pack(resign(forged)), tmp_path))


def test_a_warning_of_something_that_is_not_so_is_found(tmp_path):
    files, rows = story(), rows_of(story())
    head = json.loads(files["report.json"])["head"]
    forged = files | {"report.json": tables.document(rows, {"head": head, "warnings": ["It was altered."]})}
    assert "it warns of something that is not so" in said(check(pack(resign(forged)), tmp_path))


def test_a_warning_that_is_so_stands_in_the_report_and_is_no_further_failure(tmp_path):
    ledger = chatter(3)
    del ledger.stored[1]
    data = export(ledger)
    assert json.loads(unpack(data)["report.json"])["warnings"]
    assert "table" not in {failure.check for failure in check(data, tmp_path).failures}


@pytest.mark.parametrize("name", verify.UNPROVED_FILES)
def test_what_nothing_can_be_held_against_is_named_in_the_first_line_of_the_verdict(name, tmp_path):
    forged = story() | {name: b"All went well. Nobody decided anything."}
    verdict = check(pack(resign(forged)), tmp_path)
    first, second, *_ = verify.in_words(verdict)
    assert first.startswith("NOT PROVED")
    assert name in first
    assert all(each in second for each in NAMES)
    assert name in verdict.as_json()["unproved"]


def test_half_a_character_stands_in_a_table_as_a_question_mark_for_utf_8_has_none():
    assert verify.same_value("?", "\ud800")
    assert not verify.same_value("\ud800", "\ud800")
    assert tables.json_lines([{"text": "\ud800"}]) == b'{"text": "?"}\n'


@pytest.mark.parametrize(
    ("found", "wanted"),
    [(1, True), (True, 1), (0, False), ("1", 1), (1, "1"), (None, ""), ([], {}), ({}, []), (verify.Number("1.0"), 1)],
)
def test_values_of_another_type_are_other_values(found, wanted):
    assert not verify.same_value(found, wanted)
    assert not verify.same_value([{"a": found}], [{"a": wanted}])


def test_a_number_that_is_no_integer_is_the_text_in_which_it_was_written():
    assert verify.same_value("1.50", verify.Number("1.50"))
    assert not verify.same_value("1.5", verify.Number("1.50"))


def test_values_nested_as_deep_as_json_can_be_are_compared_without_a_crash():
    deep: Any = "end"
    other: Any = "End"
    for _ in range(100_000):
        deep, other = [deep], [other]
    assert verify.same_value(deep, deep)
    assert not verify.same_value(other, deep)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=7, max_size=7))
def test_a_row_of_any_cells_is_read_back(cells):
    flat = [cell.replace("\n", " ").replace("\r", " ") for cell in cells[:6]]
    line = verify.table_line([*flat, ""])
    found = verify.CsvTable._values(None, line.encode())  # type: ignore[arg-type]
    assert list(found.values()) == [*flat, None]


# --- withheld, or never to be shown


def as_said(ledger: MemoryLedger, line: dict[str, Any], **options: Any) -> bytes:
    """The bundle with another line about entry 0, and tables that say the same."""
    files = unpack(export(ledger, **options))
    (name,) = [name for name in files if name.startswith("session/disclosures")]
    lines = files[name].splitlines(keepends=True)
    files[name] = plain({"seq": 0} | line) + b"\n" + b"".join(lines[1:])
    rows = rows_of(files)
    rows[0] |= {"state": line["state"], "event": None}
    for table in NAMES:
        files = with_rows(table, files, rows)
    return pack(resign(files))


def test_an_entry_that_was_withheld_is_told_apart_from_one_of_which_no_part_can_be_shown(tmp_path):
    ledger = chatter(1)
    ledger.append("message.added", {"role": "customer", "text": "old", "v": 1}, v=1)
    ledger.append("note.made", {"text": "chosen", "v": 1})
    shows = lambda _kind, pointer, _value: pointer != "/text"  # noqa: E731
    data = export(ledger, withhold=frozenset({"note.made"}), shows=shows)
    verdict = check(data, tmp_path)
    assert verdict.ok, said(verdict)
    assert [verdict.counts[name] for name in ("partly", "indivisible", "withheld")] == [1, 1, 1]
    assert [row["state"] for row in rows_of(unpack(data))] == ["partly", "indivisible", "withheld"]
    assert "1 indivisible" in "\n".join(verify.in_words(verdict))


def test_an_entry_whose_fields_could_be_shown_cannot_pass_for_one_of_which_none_can(tmp_path):
    assert check(as_said(chatter(2), {"state": "withheld"}), tmp_path).ok
    verdict = check(as_said(chatter(2), {"state": "indivisible"}), tmp_path)
    assert [(failure.entry, failure.check) for failure in verdict.failures] == [(0, "payload")], said(verdict)
    assert "could be shown alone" in said(verdict)


@pytest.mark.parametrize("size", [1, 16])
def test_what_no_key_could_open_cannot_pass_for_withheld(size, tmp_path):
    ledger = chatter(1)
    row = ledger.stored[0]
    row.ciphertext = b"x" * size
    envelope = json.loads(row.envelope) | {"ct": hashlib.sha256(row.ciphertext).hexdigest()}
    row.envelope = ledger.honest[0] = plain(envelope)  # so that the head, hash and signature all fit
    ledger.append("message.added", {"text": "x", "v": 1})
    verdict = check(export(ledger, withhold=frozenset({"message.added"})), tmp_path)
    assert [(failure.entry, failure.check) for failure in verdict.failures] == [(0, "payload")], said(verdict)
    assert "no key could open it" in said(verdict)
