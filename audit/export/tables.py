"""Tables of an export: CSV that a spreadsheet opens and does not execute, and one JSON object a line for programs.

Their form is that of the verifier (audit/verify.py), which holds the tables of a session against its entries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from audit.verify import table_cell, table_line

BOM = "\ufeff"  # spreadsheets take a file without it for one in the code page of their country


def csv_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """RFC 4180 in UTF-8 with a byte order mark; every cell is quoted, none a formula, one that is missing empty."""
    lines = [table_line(columns), *(table_line(table_cell(row.get(name)) for name in columns) for row in rows)]
    return (BOM + "".join(f"{line}\r\n" for line in lines)).encode("utf-8", "replace")


def json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """One JSON object a line, UTF-8, its keys in order."""
    return "".join(f"{_json(row)}\n" for row in rows).encode("utf-8", "replace")


def document(rows: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> bytes:
    """One JSON object of the rows, named `entries`, a row a line, and of the facts, whose names come behind."""
    lines = ",".join(f"\n{_json(row)}" for row in rows)
    return f'{{"entries": [{lines}\n], {_json(facts)[1:]}\n'.encode("utf-8", "replace")


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
