"""Who may import whom: the contracts stand in pyproject.toml, import-linter checks them."""

from __future__ import annotations

import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCT = ("agentstate", "audit", "sessions", "demo")
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


def test_no_modules_import_each_other_in_a_circle():
    """Imports in functions and under TYPE_CHECKING count. A package's own modules may be imported by the package."""
    graph = grimp.build_graph(*PRODUCT, cache_dir=None)
    imports = {
        module: {name for name in graph.find_modules_directly_imported_by(module) if not module.startswith(f"{name}.")}
        for module in graph.modules
    }
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle
