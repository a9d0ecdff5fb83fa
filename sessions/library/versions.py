"""What a team keeps under a name and in versions: triggers, rules, targets, calendars, endpoints. Who changes one says
which version they saw, so that two who change it at a time do not overwrite each other.
"""

from __future__ import annotations

import re
from typing import Protocol

from agentstate.errors import Invalid, Refused

_NAME = re.compile(r"[a-z][a-z0-9-]{0,59}")


class Versioned(Protocol):
    """A row of which each change is a new version, from 1."""

    version: int


class ChangedMeanwhile(Refused):
    """Somebody else has changed this since you saw it."""

    code = "changed_meanwhile"
    remedy = "Read it again."


def must_be_named(name: str) -> None:
    """Return if it is a name. Raises Invalid."""
    if not _NAME.fullmatch(name):
        raise Invalid("want a lower-case word with digits and hyphens", field="name")


def must_be_seen(row: Versioned | None, seen: int) -> None:
    """Return if its author saw the version that stands (0: none, and there is none). Raises ChangedMeanwhile."""
    stands = row.version if row is not None else 0
    if stands != seen:
        raise ChangedMeanwhile(f"it is of version {stands}")
