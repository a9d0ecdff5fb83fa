"""What the ledger computes without a database: the commitment to an event's fields, against hashing as many bytes
twenty times over, and an update of the head map, against building the map.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable
from statistics import median

from audit.tlog import canonical, fields, headmap
from benchmarks.rows import Goal, Row, against

FIELDS = 10  # of the event
HASHES = 20  # SHA-256 over 65 bytes: what the tree of twenty leaves and nodes costs by itself
CHEAP, LOCAL = Goal(8.0, at_least=False), Goal(0.33, at_least=False)
TURNS = {True: 20, False: 2_000}  # by whether it is the quick run
MAP = {True: (2_000, 20), False: (100_000, 1_000)}  # logs in the map, and how many of them have a new head


def rows(quick: bool, group: str) -> list[Row]:
    """One row each."""
    return [_commitment(TURNS[quick], group), _update(*MAP[quick], group)]


def _commitment(turns: int, group: str) -> Row:
    event = canonical.dumps({f"field{number}": f"value {number}" for number in range(FIELDS)})
    okm, hashed = bytes(range(64)), b"x" * 65

    def hashes() -> None:
        for _ in range(HASHES):
            hashlib.sha256(hashed).digest()

    pairs = [(_microseconds(lambda: fields.commit(okm, event)), _microseconds(hashes)) for _ in range(turns)]
    ours, base = (median(times) for times in zip(*pairs, strict=True))
    return against(group, f"commitment to {FIELDS} fields, beside {HASHES} hashes", ours, "us", base, CHEAP, f"{turns}")


def _update(logs: int, grown: int, group: str) -> Row:
    store, chance = headmap.MemoryMap(), random.Random(1)
    keys = [chance.randbytes(32) for _ in range(logs)]
    whole = _microseconds(lambda: store.set({key: headmap.value_of(1, 1) for key in keys}))
    few = {key: headmap.value_of(5, 5) for key in keys[:grown]}
    ours = _microseconds(lambda: headmap.update(few, store))
    name = f"head map with {grown} new heads of {logs}, beside building it"
    return against(group, name, ours / 1000, "ms", whole / 1000, LOCAL, "1")


def _microseconds(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return 1e6 * (time.perf_counter() - begun)
