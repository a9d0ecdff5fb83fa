"""`python -m tests.attacks.filled FOLDER`: an installation on a disk of its own, which is filled and emptied again.

Runs in a mount namespace of its own (`ON_A_DISK`), so that the disk is real and nobody else's. Prints what it saw as a
JSON object, one key a step; the tests in test_disks.py judge it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.live.floor import Floor, Line
from tests.live.watcher import signed_in
from tests.processes import eventually, health

MEGABYTE = 2**20
SIZE = 1024 * MEGABYTE
#: Mounts a file system at "$0" and runs the rest there.
ON_A_DISK = ("unshare", "-rm", "--kill-child", "sh", "-c", f'mount -t tmpfs -o size={SIZE} tmpfs "$0" && exec "$@"')


@contextmanager
def filled(folder: Path, leave: int) -> Iterator[None]:
    """While inside, so many bytes are free."""
    ballast, block = folder / "ballast", b"\0" * MEGABYTE
    with open(ballast, "wb", buffering=0) as file, suppress(OSError):
        while free(folder) > leave:
            file.write(block[: max(1, min(MEGABYTE, free(folder) - leave))])
        while leave == 0:
            file.write(b"\0" * 4096)  # to the last byte
    try:
        yield
    finally:
        ballast.unlink()


def free(folder: Path) -> int:
    """Bytes that are free."""
    told = os.statvfs(folder)
    return told.f_bavail * told.f_frsize


def healthz(floor: Floor) -> tuple[int, list[str]]:
    """The status of /healthz and the disks that it names; (0, []) when nobody answers. It waits for the database."""
    with suppress(httpx.HTTPError, ValueError, KeyError):
        answer = httpx.get(f"{floor.url}healthz", timeout=30, trust_env=False)
        return answer.status_code, list(answer.json()["disks_low"])
    return 0, []


def alerts(admin: Line) -> list[dict[str, Any]]:
    """The open alerts about disks."""
    found = admin.ask("GET", "/alerts?limit=100")["alerts"]
    return [each for each in found if each["name"] == "disk-low" and each["state"] != "closed"]


def page(floor: Floor) -> str:
    """The page of ledger health, as an admin reads it."""
    link = floor.manage("sign_in_link", "admin", "--base", floor.url).strip()
    return httpx.get(f"{floor.url}audit/downtimes/", headers={"Cookie": signed_in(link)}, trust_env=False).text


def nearly_full(floor: Floor, folder: Path, admin: Line) -> dict[str, Any]:
    """Less than 5 % is free, and nothing fails yet."""
    seen: dict[str, Any] = {}
    with filled(folder, SIZE * 4 // 100):
        eventually(lambda: alerts(admin), 60, "an alert")
        seen["alert"] = alerts(admin)[0]
        seen["health"], seen["low"] = healthz(floor)
        seen["page"] = "Nearly full" in page(floor)
        seen["said"] = f"nearly full: {folder}" in floor.up.said
    eventually(lambda: not alerts(admin), 60, "the alert is closed")
    return seen


def full(floor: Floor, folder: Path) -> dict[str, Any]:
    """Not a byte is free while people approve; then there is space again."""
    seen: dict[str, Any] = {}
    calls = floor.waiting_calls(600, 700, 800)
    pages, first = page(floor), calls[0].request["id"]  # a full disk records no reading, so nothing is shown
    with filled(folder, 0):
        with suppress(httpx.HTTPError):
            answer = floor.staff.once("POST", f"/requests/{first}/decisions", DECISION)
            seen["first"] = answer.status_code

        def named() -> bool:
            seen["health"], seen["low"] = healthz(floor)
            return bool(seen["low"])

        eventually(named, 120, "health names the disk")
        seen["page"] = f">{folder}<" in pages
        for name in ("callers", "beat", "worker", "web", "postgres"):  # each must come back by itself
            with suppress(OSError, ValueError):
                os.kill(floor.up.pid(name), signal.SIGTERM)
        time.sleep(20)  # for as long as `up` took to give up, and longer
        seen["alive"] = floor.up.process.poll() is None
    began = time.monotonic()
    eventually(lambda: health(floor.url) == 200, 120, "healthy again by itself")
    seen["seconds"] = round(time.monotonic() - began, 1)
    for call in calls:
        if call.request["state"] == "pending":
            call.approve()
    for call in calls:
        call.finishes(120)
    seen["moved"] = [call.moved() for call in calls]
    floor.all_is_well()
    seen["said"] = f"full: {folder}" in floor.up.said
    return seen


@contextmanager
def told_on_failure(floor: Floor) -> Iterator[None]:
    """Stops the installation in the end. After a failure its logs are printed in part: its disk goes with us."""
    try:
        yield
    except BaseException:
        for log in sorted((floor.state / "log").glob("*.log")):
            print(f"--- {log.name}", *log.read_text(errors="replace").splitlines()[-12:], sep="\n")
        raise
    finally:
        floor.stop()


DECISION = {"decision": "approve", "reason": "", "idempotency_key": "f2a3c8c6-5d0e-4a57-9a0e-3f4a6e3d1c55"}


def main() -> None:
    """Does both, one after the other."""
    folder = Path(sys.argv[1])
    floor = Floor(folder / "state", DEMO_CALLERS="1")
    with told_on_failure(floor):
        admin = Line(floor.url, floor.manage("token", "admin").strip())
        seen = {"nearly_full": nearly_full(floor, folder, admin), "full": full(floor, folder)}
    print(f"\nSEEN {json.dumps(seen)}")


if __name__ == "__main__":
    main()
