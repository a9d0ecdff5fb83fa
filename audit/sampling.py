"""Random samples of entries that anybody can draw again: from a seed and the sizes of logs, by SHA-256 alone.

The population is the list of (log, size), by log id; its digest goes into every draw, so a seed that was named before
the sizes were known cannot be fitted to them. Draw number i is the first 16 bytes of
SHA-256("agentstate/sample/1\\n" digest "\\n" seed "\\n" i "\\n"), taken modulo the number of entries; draws that would
favour the first entries, and entries drawn before, are passed over.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, count
from uuid import UUID

LABEL = b"agentstate/sample/1\n"
WIDTH = 1 << 128


def digest_of(population: Sequence[tuple[UUID, int]]) -> str:
    """SHA-256, in hexadecimal, over a line `<log> <size>` for each log, by log id."""
    lines = "".join(f"{log} {size}\n" for log, size in sorted(population))
    return hashlib.sha256(lines.encode()).hexdigest()


def drawn(population: Sequence[tuple[UUID, int]], seed: str, wanted: int) -> list[tuple[UUID, int]]:
    """`wanted` different entries (log, seq) of the population in the order in which they are drawn; all if it has
    fewer.
    """
    logs = sorted(population)
    ends = list(accumulate(size for _, size in logs))
    total = ends[-1] if ends else 0
    if not total:
        return []
    head = LABEL + digest_of(population).encode() + b"\n" + seed.encode() + b"\n"
    fair = WIDTH - WIDTH % total
    found: dict[int, None] = {}
    for number in count():
        if len(found) >= min(wanted, total):
            break
        draw = int.from_bytes(hashlib.sha256(head + f"{number}\n".encode()).digest()[:16], "big")
        if draw < fair:
            found.setdefault(draw % total)
    return [_entry(logs, ends, place) for place in found]


def _entry(logs: Sequence[tuple[UUID, int]], ends: Sequence[int], place: int) -> tuple[UUID, int]:
    which = bisect_right(ends, place)
    return logs[which][0], place - (ends[which] - logs[which][1])
