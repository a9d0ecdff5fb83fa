"""When what could not be delivered is tried again. Pure: a number of tries and a draw in, seconds out.

For webhooks the pauses that the Standard Webhooks specification suggests (https://www.standardwebhooks.com): tries over
three days. Mail servers are asked over two, as RFC 5321 section 4.5.4.1 has senders go on for days.
"""

from __future__ import annotations

WEBHOOK = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
EMAIL = (60.0, 300.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 28_800.0, 43_200.0, 72_000.0)
SPREAD = 0.2  # of a pause, so that what failed together does not come back together


def pause(pauses: tuple[float, ...], tries: int, draw: float, asked: float = 0.0) -> float | None:
    """Seconds to wait after so many tries, at least as many as the other side `asked` for; None when it is given up.
    `draw` is a random number from 0 to 1.
    """
    if tries > len(pauses):
        return None
    found = pauses[tries - 1]
    return max(found * (1 - SPREAD / 2 + SPREAD * draw), asked)
