"""How long a wrong password makes the next attempt wait. Pure: levels and seconds in, seconds out.

Each account, each address and each known browser has a level: the number of wrong passwords, of which one is
forgotten every so many seconds. Beyond the first few the wait doubles from one second to `LONGEST`. It never grows
further, and it ends by itself, so nothing is ever locked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

LONGEST = 30.0  # seconds
DOUBLINGS = math.ceil(math.log2(LONGEST))
VALID = 300.0  # seconds for which an attempt may still be made after its wait has ended


@dataclass(frozen=True, slots=True)
class Limit:
    """`free` wrong passwords cost no time; one is forgotten every `forget` seconds."""

    free: int
    forget: float

    @property
    def most(self) -> int:
        """The level beyond which none is counted: more would only take longer to be forgotten."""
        return self.free + 1 + DOUBLINGS

    def after(self, level: float, seconds: float) -> float:
        """What is left of `level` after so many seconds."""
        return max(0.0, level - max(0.0, seconds) / self.forget)

    def wait(self, level: float) -> float:
        """Seconds that an attempt waits at this level."""
        beyond = math.ceil(level) - self.free
        return min(LONGEST, 2.0 ** (beyond - 1)) if beyond > 0 else 0.0

    def raised(self, level: float) -> float:
        """The level after one more wrong password."""
        return min(float(self.most), level + 1.0)


ACCOUNT = Limit(free=4, forget=60.0)  # also of a known browser for its account
ADDRESS = Limit(free=20, forget=15.0)  # many people share one
KEPT = 2 * max(limit.most * limit.forget for limit in (ACCOUNT, ADDRESS))  # seconds; after them a row says nothing


def remaining(opens: float | None, wait: float) -> float | None:
    """Seconds that an attempt has to wait; None when it has no turn yet and must take one.

    `opens`: seconds until this caller's turn for this account, negative once it has come, None without a turn. `wait`:
    what levels ask of an attempt now. A turn belongs to one caller and one account: whatever others do meanwhile, the
    attempt is read when its turn has come.
    """
    if opens is not None and opens > 0:
        return opens
    if wait and (opens is None or opens < -VALID):
        return None
    return 0.0
