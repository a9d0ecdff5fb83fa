"""docs/ledger.md names every field, file and leaf that the verifier knows, and for each threat a test that there is."""

from __future__ import annotations

import re
from pathlib import Path

from audit import verify
from tests.attacks import table
from tests.docs.test_claims import functions_of

ROOT = Path(__file__).parents[2]

TEXT = (ROOT / "docs" / "ledger.md").read_text("utf-8")


def section(title: str) -> str:
    return TEXT.split(f"### {title}", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]


def first_cells(text: str) -> list[str]:
    rows = [line.split("|")[1] for line in text.split("\n") if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def test_the_table_of_an_entry_has_exactly_the_fields_of_an_envelope():
    assert first_cells(section("Entry: the envelope")) == sorted(verify._ENVELOPE)


def test_the_table_of_an_export_has_every_file_that_a_bundle_may_hold():
    said = first_cells(section(f"Export: `{verify.FORMAT}`"))
    forms = [
        re.escape(name)
        .replace("<N>", ".+")
        .replace("<level>", "[0-9]")
        .replace("<NNN>", "[0-9]{3}")
        .replace("<key>", "[0-9a-f-]{36}")
        for name in said
    ]
    forms = [form.replace("<size>", "[0-9]+").replace(r"\*", ".+") for form in forms]
    erasure = f"log/erasures/{verify.STAFF_LOGS}.json"
    optional = ["log/heads", "log/checkpoint.tsr", "log/keys/000.tlog-proof", "log/consistency/5", erasure]
    assert all(verify.OPTIONAL.fullmatch(name) for name in optional)
    for name in (*verify.layout(70_000), *optional):
        assert any(re.fullmatch(form, name) for form in forms), name
    names = [*verify.layout(70_000), *optional]
    assert all(any(re.fullmatch(form, name) for name in names) for form in forms)


def test_the_titles_and_the_labels_are_those_of_the_code():
    for word in (
        verify.MAP_TITLE,
        verify.KEY_TITLE,
        verify.MANIFEST_TITLE,
        "agentstate/fields/v1",
        "agentstate/entry/v1",
    ):
        assert f"`{word}`" in TEXT


def promises() -> list[str]:
    """The lines of both lists of promises: what is promised, and what is not."""
    held, limits = TEXT.split("## What is promised, and against whom", 1)[1].split("## What is not promised", 1)
    rows = [line.split("|")[4] for line in held.split("\n") if line.startswith("| ")][2:]
    return [*rows, *limits.split("\n## ", 1)[0].split("\n- ")[1:]]


def named(text: str) -> list[str]:
    """The attacks, and the other tests with their files, that a text names."""
    return re.findall(r"`((?:tests/\S+::)?test_\w+)`", text)


def test_every_threat_names_a_test_that_there_is_or_says_that_it_is_not_tried():
    there = {name for names in table.attacks().values() for name in names}
    lines = promises()
    assert len(lines) > 20
    for line in lines:
        assert bool(named(line)) != ("Not tried" in line), line
    for name in named(TEXT):
        file, _, test = name.rpartition("::")
        assert test in (functions_of(ROOT / file) if file else there), name


def test_every_finding_about_the_record_stands_in_the_table_of_threats():
    attacks = {name.split("_")[1] for name in named(TEXT) if "::" not in name}
    assert {"c1", "h1", "h2", "h8", "m1", "m5", "v1"} <= attacks
