"""Tables of an export: CSV that a spreadsheet opens and does not execute, and one JSON object a line for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: what begins a formula in a spreadsheet; the wide forms count too, for some programs read them as the narrow ones
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
BOM = "\ufeff"  # spreadsheets take a file without it for one in the code page of their country


def csv_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """RFC 4180 in UTF-8 with a byte order mark; every cell is quoted, none a formula, one that is missing empty."""
    out = io.StringIO(newline="")
    out.write(BOM)
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(row.get(name)) for name in columns])
    return out.getvalue().encode("utf-8", "replace")


def cell(value: Any) -> str:
    """One cell as text. An apostrophe before what a spreadsheet would take for a formula makes it a text there."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    text = text.replace("\x00", "�")
    return f"'{text}" if text.lstrip(" \u00a0").startswith(FORMULA) else text


def json_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """One JSON object a line, UTF-8, its keys in order."""
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows).encode(
        "utf-8", "replace"
    )
