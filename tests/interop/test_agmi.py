"""`agmi-check` measures whether stores of agents' memories notice edits: on our ledger, nine of nine are reported."""

from __future__ import annotations

import importlib
import json
import sys

import pytest

from tests.interop import tools

pytestmark = pytest.mark.django_db(transaction=True)
EDITS = ["T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9"]


@pytest.fixture
def agmi(monkeypatch):
    """The package on the path of this process, since our adapter needs Django and the test's own servers."""
    try:
        monkeypatch.syspath_prepend(str(tools.agmi()))
    except tools.Absent as absent:
        pytest.skip(f"A VERIFIER IS ABSENT: {absent}")
    before = set(sys.modules)
    yield importlib.import_module("agmi.check")
    for name in set(sys.modules) - before:
        if name.startswith(("agmi", "tests.interop.agmi_adapter")):
            del sys.modules[name]


def checked(agmi, database, out) -> tuple[int, list[dict[str, str]]]:
    """The exit code of `agmi-check`, and its rows."""
    adapter = importlib.import_module("tests.interop.agmi_adapter").LedgerAdapter
    adapter.database = database
    code = agmi.main(["--adapter", "tests.interop.agmi_adapter:LedgerAdapter", "--json", str(out)])
    return code, json.loads(out.read_text())["edits"]


def test_agmi_check_has_nine_of_nine_edits_reported(agmi, test_database, tmp_path):
    code, rows = checked(agmi, test_database, tmp_path / "rows.json")
    assert [(row["edit"][:2], row["verdict"]) for row in rows] == [(edit, "REPORTED") for edit in EDITS], rows
    assert code == 0


def test_agmi_check_would_say_so_if_nobody_looked(agmi, test_database, tmp_path, monkeypatch):
    """The same adapter without an auditor has every edit accepted: the nine are the auditor's."""
    adapter = importlib.import_module("tests.interop.agmi_adapter")
    monkeypatch.setattr(adapter, "found_by", lambda _held, _folder: set())
    code, rows = checked(agmi, test_database, tmp_path / "rows.json")
    assert {row["verdict"] for row in rows} == {"ACCEPTED"}, rows
    assert code == 1
