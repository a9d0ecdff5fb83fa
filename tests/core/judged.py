"""Writes down what the verifier said of every bundle that a test gave it, so that tests/browser/test_verify_page.py can
have the browser's verifier judge the same. Does nothing unless JUDGED names a file.
"""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from datetime import datetime
from typing import Any

from audit import verify

FILE = os.environ.get("JUDGED", "")
LIMIT = verify.MAX_PAYLOAD
FIRST, THEN = 4, 60  # of one test: how many are written down, and after those every how many
_seen: Counter[str] = Counter()


def note(data: bytes, trusted: str | bytes, now: datetime, demand: verify.Demand, verdict: verify.Verdict) -> None:
    """One line of JSON, as `job` has it, with the test's name and the verdict."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)")
    _seen[test] += 1
    unchanged = verify.MAX_PAYLOAD == LIMIT  # a test may have made it smaller, which the browser does not know
    if FILE and unchanged and len(data) < 4_000_000 and (_seen[test] <= FIRST or _seen[test] % THEN == 0):
        line = job(data, trusted, now, demand) | {"test": test, "verdict": json.dumps(verdict.as_json(), indent=1)}
        with open(FILE, "a") as file:
            file.write(json.dumps(line) + "\n")


def job(data: bytes, trusted: str | bytes, now: datetime, demand: verify.Demand | None = None) -> dict[str, Any]:
    """What the browser's worker is asked, with bytes in base64."""
    demand = demand or verify.Demand()
    asked: dict[str, Any] = {"session": demand.session, "minSize": demand.min_size}
    if demand.held:
        asked["held"] = _text(demand.held)
    if demand.held_proof is not None:
        asked["heldProof"] = _text(b"".join(base64.b64encode(each) + b"\n" for each in demand.held_proof))
    if demand.max_age is not None:
        asked["maxAge"] = demand.max_age.total_seconds()
    if demand.receipt is not None:
        receipt = demand.receipt
        said = {
            "session": receipt.session,
            "size": receipt.size,
            "root": receipt.root.hex(),
            "leaf": receipt.leaf.hex(),
        }
        asked["receipt"] = _text(json.dumps(said).encode())
    trust = {"policy": _text(trusted)} if isinstance(trusted, bytes) else {"vkey": trusted}
    return {"data": _text(data), "now": round(now.timestamp() * 1000), "demand": asked} | trust


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
