"""The calls of callers who are gone: after a restart nobody is on their lines any more."""

from __future__ import annotations

import sys
from typing import Any, Protocol

from demo.callers.api import Refused

WHY = "the line was cut"


class Line(Protocol):
    """What is used of the product's API."""

    async def sessions(self) -> list[dict[str, Any]]: ...
    async def end(self, session: str, reason: str) -> None: ...


async def hang_up_former(line: Line) -> int:
    """Ends every session of the bank's agent that is open. Returns how many. Runs before the first call is made."""
    left = [each for each in await line.sessions() if is_on_a_line(each)]
    return sum([await _hung_up(line, str(each["id"])) for each in left])


def is_on_a_line(session: dict[str, Any]) -> bool:
    """Whether a customer is in the session: the task of another session and a fork have none."""
    alone = session["parent"] is None and session["fork_of"] is None
    return bool(session["agent"] == "bank" and session["ended_at"] is None and alone)


async def _hung_up(line: Line, session: str) -> bool:
    try:
        await line.end(session, WHY)
    except Refused as error:  # a colleague has ended it meanwhile
        print(f"callers: {session}: {error}", file=sys.stderr, flush=True)
        return False
    return True
