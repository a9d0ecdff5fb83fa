"""Recorded data that lies beside the checkout and is no part of the project: tests that read it skip, loudly, where it
is absent, and such a skip fails no run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "shared" / "data"
ABSENT = "SHARED DATA IS ABSENT"


def shared_data(*parts: str) -> Path:
    """The file or folder of that name. Skips the test where it is absent."""
    path = ROOT.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{ABSENT}: {path}")
    return path
