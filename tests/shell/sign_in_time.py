"""Time for tests of waiting: it stands still within a test, and passes when the test says so."""

from __future__ import annotations

import pytest
from django.db import connection

from agentstate.people import attempts


def stand_still(patch: pytest.MonkeyPatch) -> None:
    """Lets the counters read the instant at which their transaction, which is the whole test's, began."""
    for name in ("LOCK", "SET", "PRUNE"):
        patch.setattr(attempts, name, getattr(attempts, name).replace("clock_timestamp()", "now()"))


def later(seconds: float) -> None:
    """So many seconds pass: the rows move into the past."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE people_signindelay SET at = at - make_interval(secs => %(s)s),"
            " opens = opens - make_interval(secs => %(s)s)",
            {"s": seconds},
        )
