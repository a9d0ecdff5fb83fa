"""What an auditor does with a bundle: runs the verifier, and reads the report in it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.processes import ROOT


def verify(bundle: Path, key: Path) -> str:
    """What the verifier prints of a bundle that it accepts: a process of its own, without server or database."""
    command = [sys.executable, "-m", "audit.verify", str(bundle), "--key", str(key)]
    done = subprocess.run(command, cwd=ROOT, env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def report(bundle: Path) -> str:
    """The report that people read in a bundle."""
    with zipfile.ZipFile(bundle) as archive:
        name = next(name for name in archive.namelist() if name.endswith("report.html"))
        return archive.read(name).decode()
