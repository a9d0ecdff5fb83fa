"""What is installed: every package pinned with hashes, which pip and uv require; the bill of materials and the list of
licenses say the same as the pins.
"""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINS = ROOT / "requirements"
LOCKED = sorted((PINS / "locked").glob("*.txt"))
NAME = r"[A-Za-z0-9._-]+"
PIN = re.compile(rf"({NAME})==(\S+)(?: ; ([^\\]*?))?((?: \\\n    --hash=sha256:[0-9a-f]{{64}})+)\n")
DIRECT = re.compile(rf"^({NAME})(?:\[[a-z,]*\])?==([^\s;]+)", re.MULTILINE)
#: set of packages -> the files that ask for them
SETS = {
    "core": ["../requirements.txt"],
    "test": ["test.txt", "browser.txt"],
    "load": ["../requirements.txt", "load.txt"],
}
APART = {"peers", "interop", "agmi", "local-model"}  # others' packages, in environments of their own


@cache
def locked(name: str) -> dict[str, tuple[str, str]]:
    """name -> version and marker of every package of a set."""
    return {
        plain(found[1]): (found[2], found[3] or "")
        for found in PIN.finditer((PINS / "locked" / f"{name}.txt").read_text())
    }


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def direct(path: Path) -> dict[str, str]:
    """What a file asks for by name, with the files that it includes."""
    text = path.read_text()
    found = {plain(name): version for name, version in DIRECT.findall(text)}
    for included in re.findall(r"^-r (\S+)", text, re.MULTILINE):
        found |= direct(path.parent / included)
    return found


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.stem)
def test_every_package_of_a_set_has_one_version_and_hashes_and_nothing_else_stands_there(path):
    text = path.read_text()
    assert PIN.sub("", text) == ""
    assert len(PIN.findall(text)) == len(locked(path.stem))


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.stem)
def test_a_set_holds_what_its_files_ask_for(path):
    for file in SETS.get(path.stem, [f"{path.stem}.txt"]):
        asked = direct(PINS / file)
        assert asked
        assert asked == {name: locked(path.stem)[name][0] for name in asked}


def test_every_file_of_requirements_has_its_pins_with_hashes():
    files = {path.stem for path in PINS.glob("*.txt")} - {"constraints", "browser"} | {"core"}
    assert files == {path.stem for path in LOCKED}


@pytest.mark.parametrize("path", [path for path in LOCKED if path.stem not in APART], ids=lambda path: path.stem)
def test_a_package_has_the_same_version_in_every_set(path):
    common = direct(PINS / "constraints.txt")
    assert {name: version for name, (version, _) in locked(path.stem).items()}.items() <= common.items()


def test_make_installs_with_hashes_only():
    text = (ROOT / "Makefile").read_text()
    installs = [line for line in text.splitlines() if re.search(r"pip install (?!uv\))", line)]
    assert len(installs) == 3
    assert all("--require-hashes -r" in line for line in installs)
    needs = re.findall(r"NEEDS := (\S+)", text)
    assert len(needs) == 5
    assert all((ROOT / name).parent == PINS / "locked" for name in needs)


def test_the_bill_of_materials_names_what_is_installed_with_the_same_hashes():
    bill = json.loads((PINS / "bom.cdx.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    named = {plain(each["name"]): each["version"] for each in bill["components"]}
    assert named == {name: version for name, (version, _) in locked("core").items()}
    hashes = {
        one["content"]
        for each in bill["components"]
        for at in each["externalReferences"]
        for one in at.get("hashes", ())
    }
    assert hashes == set(re.findall(r"sha256:([0-9a-f]{64})", (PINS / "locked" / "core.txt").read_text()))


def test_the_list_of_licenses_names_what_is_installed_and_a_license_for_each():
    with (PINS / "licenses.csv").open() as file:
        rows = {plain(row["Name"]): row for row in csv.DictReader(file)}
    wanted = {name: version for name, (version, _) in locked("core").items()}
    elsewhere = {name for name, (_, marker) in locked("core").items() if "python_full_version" in marker}
    assert set(wanted) - elsewhere <= set(rows) <= set(wanted)
    assert {name: row["Version"] for name, row in rows.items()} == {name: wanted[name] for name in rows}
    assert all(row["License"] not in ("", "UNKNOWN") for row in rows.values())
