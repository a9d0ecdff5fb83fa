"""Which version of which schema a session's state is of."""

from __future__ import annotations

import msgspec


class InForce(msgspec.Struct, frozen=True):
    """`version` 0: nothing was declared when the session was opened. `held`: no later version is taken by itself."""

    name: str = ""
    version: int = 0
    held: bool = False

    @property
    def reference(self) -> str:
        """`bank@2`, or nothing."""
        return f"{self.name}@{self.version}" if self.version else ""


def referred(reference: str) -> InForce:
    """The inverse of `reference`."""
    name, _, version = reference.partition("@")
    return InForce(name, int(version)) if version.isdecimal() else InForce()
