"""A full disk: a real one, of an installation of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.attacks.filled import ON_A_DISK
from tests.processes import ROOT, environment

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an installation on a small disk went through."""
    folder = tmp_path_factory.mktemp("disk")
    try:
        subprocess.run([*ON_A_DISK, str(folder), "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here, so the full disk is NOT tried: {error}")
    done = subprocess.run(
        [*ON_A_DISK, str(folder), sys.executable, "-m", "tests.attacks.filled", str(folder)],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return json.loads(done.stdout.rpartition("\nSEEN ")[2]) | {"folder": str(folder)}


def test_h4_a_disk_that_is_nearly_full_is_named_before_anything_fails(seen: dict[str, Any]) -> None:
    near = seen["nearly_full"]
    assert (near["alert"]["severity"], near["alert"]["about"]) == ("critical", seen["folder"])
    assert near["health"] == 200
    assert near["low"][0].startswith(seen["folder"])
    assert near["page"]
    assert near["said"]


def test_h4_a_full_disk_is_named_and_survived_without_a_hand(seen: dict[str, Any]) -> None:
    full = seen["full"]
    assert full["low"][0].startswith(seen["folder"])
    assert full["health"] == 503
    assert full["alive"]
    assert full["said"]
    assert full["moved"] == [[600], [700], [800]]  # nothing lost, nothing doubled
