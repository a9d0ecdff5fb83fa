"""A full disk: a real one, of an installation of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.exhausted import WITH_FEW_FILES
from tests.attacks.filled import ON_A_DISK
from tests.processes import ROOT, environment

pytestmark = pytest.mark.alone


def seen_on(disk: tuple[str, ...], program: str, folder: Path) -> dict[str, Any]:
    """What an installation went through on a small disk that is mounted this way."""
    try:
        subprocess.run([*disk, str(folder), "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here, so the full disk is NOT tried: {error}")
    done = subprocess.run(
        [*disk, str(folder), sys.executable, "-m", program, str(folder)],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return json.loads(done.stdout.rpartition("\nSEEN ")[2]) | {"folder": str(folder)}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A disk whose bytes are used up."""
    return seen_on(ON_A_DISK, "tests.attacks.filled", tmp_path_factory.mktemp("disk"))


@pytest.fixture(scope="module")
def without_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A disk that has bytes to spare and takes no more files."""
    return seen_on(WITH_FEW_FILES, "tests.attacks.exhausted", tmp_path_factory.mktemp("files"))


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


def test_h4_a_disk_that_takes_few_more_files_is_named_with_their_number(without_files: dict[str, Any]) -> None:
    near = without_files["nearly"]
    assert near["about"] == without_files["folder"]
    assert near["health"] == 200
    assert "of 20,000 files" in near["low"][0]
    assert near["page"]
    assert near["said"]


def test_h4_a_disk_that_takes_no_more_files_is_named_and_survived_without_a_hand(
    without_files: dict[str, Any],
) -> None:
    full = without_files["full"]
    assert full["health"] == 503
    assert full["low"][0].startswith(without_files["folder"])
    assert "of 20,000 files" in full["low"][0]
    assert full["alive"]
    assert full["moved"] == [[600], [700]]  # nothing lost, nothing doubled
