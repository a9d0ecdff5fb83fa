"""The leaf of the global log that says when sequencer or signer did not run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

TITLE = "agentstate gap/1"
PARTS = ("sequencer", "signer")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z", re.ASCII)


class BadDowntime(ValueError):
    """This is no leaf that states a downtime."""


@dataclass(frozen=True, slots=True)
class Downtime:
    """`part` did not run from `since` to `until` (aware, UTC)."""

    origin: str
    part: str
    since: datetime
    until: datetime

    def body(self) -> bytes:
        """The leaf's bytes."""
        if self.part not in PARTS or not self.origin or "\n" in self.origin:
            raise BadDowntime(f"want a one-line origin and {' or '.join(PARTS)}")
        lines = TITLE, self.origin, self.part, _written(self.since), _written(self.until)
        return "".join(f"{line}\n" for line in lines).encode()


def parse(data: bytes) -> Downtime:
    """Read a leaf; anything that `Downtime.body` would not have written is refused."""
    lines = data.decode("utf-8", "replace").split("\n")
    if len(lines) != 6 or lines[0] != TITLE or not all(_INSTANT.fullmatch(line) for line in lines[3:5]):
        raise BadDowntime(f"want {TITLE!r}, origin, part, from and to, a line each")
    try:
        result = Downtime(lines[1], lines[2], datetime.fromisoformat(lines[3]), datetime.fromisoformat(lines[4]))
    except ValueError:
        raise BadDowntime("an instant is not one") from None
    if result.body() != data:
        raise BadDowntime("not in its canonical spelling")
    return result


def _written(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
