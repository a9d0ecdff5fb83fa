"""docs/auditors.md: what it tells auditors to type is typed, on a real export and on altered ones."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from audit import monitor
from tests.interop import tools
from tests.interop.test_verifiers import Exported, flipped, needs
from tests.processes import ROOT

PAGE = ROOT / "docs" / "auditors.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def desk(exported: Exported, tmp_path: Path) -> Path:
    """An auditor's folder, with what the page says that one needs."""
    needs(tools.python_packages)
    needs(tools.openssl)
    shutil.copy(exported.bundle, tmp_path / "bundle.zip")
    shutil.copy(exported.authority, tmp_path / "root.pem")
    (tmp_path / "log.vkey").write_text(f"{exported.key.vkey}\n")
    for name in ("verify.py", "monitor.py"):
        shutil.copy(ROOT / "audit" / name, tmp_path / name)
    programs = tmp_path / "bin"
    programs.mkdir()
    own = tools.python_packages()
    for name, words in {
        "python3": "",
        "tlog-tiles": own.parent / "tlog-tiles",
        "scitt-cose": own.parent / "scitt-cose",
    }.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{own}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    return tmp_path


def typed(block: str, desk: Path, url: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{desk / 'bin'}:{os.environ['PATH']}", "URL": url, "HOME": str(desk), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        ["sh", "-eu"], input=block, cwd=desk, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_every_command_of_the_page_goes_through(exported, desk):
    assert len(BLOCKS) == 8
    for block in BLOCKS:
        result = typed(block, desk, exported.url)
        assert result.returncode == 0, f"{block}\n{result.stdout}\n{result.stderr}"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(("log/checkpoint", 1), ("session/checkpoint", 1), ("manifest.json", 2), ("session/tile/entries/000", 3)),
        *(("log/head.tlog-proof", 4), ("receipts/head.cbor", 5), ("log/checkpoint", 6), ("log/checkpoint", 7)),
    ],
)
def test_what_looks_at_a_part_of_a_bundle_fails_where_that_was_altered(name, number, exported, desk):
    unpack, rest = BLOCKS[1].split("\n", 1)
    for block in (unpack, *BLOCKS[1:6]):
        typed(block, desk, exported.url)
    altered = desk / "bundle" / name
    altered.write_bytes(flipped(altered.read_bytes(), 40))
    assert typed(rest if number == 1 else BLOCKS[number], desk, exported.url).returncode != 0


def test_the_page_names_every_alarm_of_the_monitor():
    source = Path(monitor.__file__).read_text(encoding="utf-8")
    kinds = set(re.findall(r'(?:Lie|super\(\).__init__)\(\s*"([a-z]+)"', source))
    assert {"fork", "lie", "stranger"} <= kinds
    assert set(re.findall(r"^\| `([a-z]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)) == kinds
