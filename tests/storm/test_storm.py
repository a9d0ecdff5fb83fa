"""Everything at once: kills, a full disk, moved logs and 1,100 half-open connections, while customers call.

The short form lasts 20 seconds, `FULL=1` five minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attacks.filled import ON_A_DISK
from tests.processes import ROOT, environment

SECONDS = 300 if os.environ.get("FULL") else 20


def test_a_storm_loses_and_doubles_nothing_and_ends_by_itself(tmp_path: Path) -> None:
    try:
        subprocess.run([*ON_A_DISK, str(tmp_path), "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here, so the storm is NOT tried: {error}")
    done = subprocess.run(
        [*ON_A_DISK, str(tmp_path), sys.executable, "-m", "tests.storm.storm", str(tmp_path), str(SECONDS)],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    print(done.stdout.partition("SEEN ")[0])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    seen = json.loads(done.stdout.rpartition("\nSEEN ")[2])
    assert (seen["wrong"], seen["twice"]) == ([], 0)
    assert seen["alive"]
    assert set(seen["blows"]) == {"full disk", "moved logs", "1100 half-open connections"}
    assert seen["calls"] > 0
    assert seen["kills"] > 0
