"""`python -m tests.attacks.exhausted FOLDER`: an installation on a disk with bytes to spare that takes no more files.

Runs in a mount namespace of its own (`WITH_FEW_FILES`). Prints what it saw as filled.py does; test_disks.py judges it.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.attacks.filled import SIZE, alerts, healthz, page, told_on_failure
from tests.live.floor import Floor, Line
from tests.processes import eventually, health

FILES = 20_000
LEFT = 3  # files that still fit: fewer than PostgreSQL needs to start
#: Mounts a file system at "$0" and runs the rest there.
WITH_FEW_FILES = (
    *("unshare", "-rm", "--kill-child", "sh", "-c"),
    f'mount -t tmpfs -o size={SIZE},nr_inodes={FILES} tmpfs "$0" && exec "$@"',
)


@contextmanager
def exhausted(folder: Path, leave: int) -> Iterator[None]:
    """While inside, the disk takes so many more files: what others delete is taken at once."""
    ballast, over = folder / "ballast", threading.Event()
    ballast.mkdir()
    numbers = itertools.count()

    def take() -> None:
        for _ in range(os.statvfs(folder).f_favail - leave):
            with suppress(OSError):
                (ballast / str(next(numbers))).touch()

    def keep_taking() -> None:
        while not over.wait(0.01):
            take()

    take()
    thread = threading.Thread(target=keep_taking)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        shutil.rmtree(ballast)


def nearly_exhausted(floor: Floor, folder: Path, admin: Line) -> dict[str, Any]:
    """Less than 5 % of the files are free, and nothing fails yet."""
    seen: dict[str, Any] = {}
    with exhausted(folder, FILES * 4 // 100):
        eventually(lambda: alerts(admin), 60, "an alert")
        seen["about"] = alerts(admin)[0]["about"]
        seen["health"], seen["low"] = healthz(floor)
        text = page(floor)
        seen["page"] = "Nearly full" in text and f"of {FILES} files" in text
        seen["said"] = f"nearly full: {folder}" in floor.up.said
    eventually(lambda: not alerts(admin), 60, "the alert is closed")
    return seen


def fully_exhausted(floor: Floor, folder: Path) -> dict[str, Any]:
    """So few files fit that a program which is killed cannot start; then there is space again."""
    calls = floor.waiting_calls(600, 700)
    seen: dict[str, Any] = {}
    with exhausted(folder, LEFT):
        eventually(lambda: f"disk full: {folder}" in floor.up.said, 60, "up says so")
        seen["health"], seen["low"] = healthz(floor)
        for name in ("worker", "web", "postgres"):
            with suppress(OSError, ValueError):
                os.kill(floor.up.pid(name), signal.SIGKILL)
        time.sleep(75)  # longer than the minute in which deaths are counted
        seen["alive"] = floor.up.process.poll() is None
    eventually(lambda: health(floor.url) == 200, 120, "healthy again by itself")
    for call in calls:
        call.approve()
        call.finishes(120)
    seen["moved"] = [call.moved() for call in calls]
    floor.all_is_well()
    return seen


def main() -> None:
    """Does both, one after the other."""
    folder = Path(sys.argv[1])
    floor = Floor(folder / "state")
    with told_on_failure(floor):
        admin = Line(floor.url, floor.manage("token", "admin").strip())
        seen = {"nearly": nearly_exhausted(floor, folder, admin), "full": fully_exhausted(floor, folder)}
    print(f"\nSEEN {json.dumps(seen)}")


if __name__ == "__main__":
    main()
