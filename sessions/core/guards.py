"""A condition of a person's or a timer's command, which the appending statement itself checks."""

from __future__ import annotations

import msgspec

from agentstate.errors import Refused
from audit import ledger


class Guard(msgspec.Struct, frozen=True):
    """A query that must find a row when the entries are written, and the error of the command when it finds none."""

    query: ledger.Fragment
    failure: Refused
