"""The tables of an export: what a spreadsheet opens is text, whatever a customer typed."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import verify
from audit.export import tables
from tests.core.tlog_world import chatter, export, unpack

HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "＝1",
    "＋1",
    "－1",
    "＠x",
    "=cmd|' /C calc'!A0",
]


def read(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_begins_a_formula(text):
    ((_, cell),) = read(tables.csv_table(("n", "text"), [{"n": 1, "text": text}]))[1:]
    assert cell == f"'{text}"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_a_cell_is_read_back_as_it_was_but_for_the_apostrophe(text):
    ((cell,),) = read(tables.csv_table(("text",), [{"text": text}]))[1:]
    assert cell in (text, f"'{text}")
    assert not cell.lstrip(" ").startswith(verify.FORMULA)


def test_numbers_are_numbers_and_nothing_is_nothing():
    assert tables.csv_table(("a", "b", "c"), [{"a": -5, "b": None}]).decode().endswith('"-5","",""\r\n')


def test_every_cell_is_quoted_so_that_no_separator_of_another_country_parts_it():
    data = tables.csv_table(("text",), [{"text": 'a;=1,"b"'}])
    assert data == '\ufeff"text"\r\n"a;=1,""b"""\r\n'.encode()


def test_entries_stand_one_a_row_in_the_bundle_for_spreadsheets_and_for_programs():
    ledger = chatter(2)
    ledger.append("message.added", {"role": "customer", "text": "=HYPERLINK()", "v": 1})
    files = unpack(export(ledger))
    titles, *rows = read(files["entries.csv"])
    lines = [json.loads(line) for line in files["entries.jsonl"].splitlines()]
    assert [row[titles.index("seq")] for row in rows] == ["0", "1", "2"]
    assert [line["seq"] for line in lines] == [0, 1, 2]
    assert lines == json.loads(files["report.json"])["entries"]
