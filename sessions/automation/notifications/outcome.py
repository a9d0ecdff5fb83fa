"""How one try to send a message ended."""

from __future__ import annotations

import msgspec

MAX_ANSWER = 200  # characters of what the other side said that are kept


class Outcome(msgspec.Struct, frozen=True):
    """`why` is one word, empty when it went well; `final`: no other try would help; `asked`: the other side wants us to
    wait so many seconds; `gone`: it wants nothing any more; `down`: it is not this message's fault.
    """

    why: str = ""
    status: int = 0
    answer: str = ""
    final: bool = False
    asked: float = 0.0
    gone: bool = False
    down: bool = False

    @property
    def well(self) -> bool:
        """Whether it arrived."""
        return not self.why


def plain(data: bytes | str) -> str:
    """The beginning of what somebody outside said, without what could do harm in a page or a terminal."""
    text = data.decode("ascii", "replace") if isinstance(data, bytes) else data
    return "".join(each if each.isascii() and each.isprintable() else " " for each in text[:MAX_ANSWER]).strip()
