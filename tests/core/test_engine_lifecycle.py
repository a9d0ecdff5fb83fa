"""The lifecycle tables, every status with every move: it is in the table, or it is refused by name."""

from __future__ import annotations

from itertools import product

import pytest

from agentstate.engine import lifecycle as life
from agentstate.engine.lifecycle import CallMove, CallStatus, IllegalMove, SessionMove, SessionStatus, move

# Written out by hand, apart from the tables, so that a change of a table is a change of this too.
CALL = """
proposed: allow ready, gate waiting, refuse refused
waiting: allow ready, reject rejected, respond responded, expire expired, withdraw withdrawn, gate waiting
ready: gate waiting, withdraw withdrawn, refuse refused, intend running, fail failed
running: intend running, return done, retry ready, fail failed, doubt doubted
doubted: return done, retry ready, fail failed
done:
failed: retry ready, return done
refused:
rejected:
responded:
expired:
withdrawn:
"""
GOING_ON = "ask planning, act executing, wait waiting_feedback, rest idle, fail failed, end done, expire expired"
GOING_ON += ", pause paused, cancel cancelled"
SESSION = f"""
idle: {GOING_ON}
expired: {GOING_ON}
planning: {GOING_ON}
executing: {GOING_ON}
waiting_feedback: {GOING_ON}
failed: {GOING_ON}
paused: resume idle, end done, cancel cancelled
done:
cancelled:
"""


def table(text: str) -> dict[tuple[str, str], str]:
    """The written form read: {(status, move): next status}."""
    lines = (line.split(":") for line in text.strip().splitlines())
    steps = ((status, step.split()) for status, row in lines for step in row.split(",") if step.strip())
    return {(status, trigger): after for status, (trigger, after) in steps}


CASES = [
    *((life.CALL, table(CALL), *pair) for pair in product(CallStatus, CallMove)),
    *((life.SESSION, table(SESSION), *pair) for pair in product(SessionStatus, SessionMove)),
]


@pytest.mark.parametrize(("made", "written", "status", "trigger"), CASES)
def test_every_pair_is_in_the_table_or_refused_by_name(made, written, status, trigger):
    after = written.get((status.value, trigger.value))
    if after is not None:
        assert move(made, status, trigger) == after
        return
    with pytest.raises(IllegalMove, match=f"{trigger.value} is not possible when {status.value}"):
        move(made, status, trigger)


def test_the_written_tables_name_every_status():
    assert {line.split(":")[0] for line in CALL.strip().splitlines()} == set(CallStatus)
    assert {line.split(":")[0] for line in SESSION.strip().splitlines()} == set(SessionStatus)


def test_what_has_ended_moves_no_more():
    """But a call that failed for reasons not its own, which a person may take up again."""
    assert life.CALL_ENDED & {status for status, _ in life.CALL} == {CallStatus.FAILED}
    assert not life.SESSION_ENDED & {status for status, _ in life.SESSION}


def test_every_call_that_has_not_ended_can_still_end():
    ends = set(life.CALL_ENDED)
    while more := {before for (before, _), after in life.CALL.items() if after in ends} - ends:
        ends |= more
    assert ends == set(CallStatus)


def test_a_rejected_expired_or_withdrawn_call_reaches_running_by_no_path():
    for status in (CallStatus.REJECTED, CallStatus.EXPIRED, CallStatus.WITHDRAWN, CallStatus.REFUSED):
        assert not [pair for pair in life.CALL if pair[0] is status]
