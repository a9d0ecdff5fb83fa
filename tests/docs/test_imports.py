"""Who may import whom: the contracts stand in pyproject.toml, import-linter checks them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LINT = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"


def test_nothing_imports_upward():
    done = subprocess.run([sys.executable, "-c", LINT], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_the_engine_brings_in_no_framework():
    probe = (
        "import sys, agentstate.engine, audit.tlog.tree; "
        "print({'django', 'celery', 'redis', 'channels', 'psycopg'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
