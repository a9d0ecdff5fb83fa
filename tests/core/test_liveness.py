"""When a child counts as one that no longer serves, and how probes read answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.stack.liveness import MAX_SILENCE, MAX_STEP, MAX_STOPPING, Answer, Probe, Silence

SERVES, STOPS, NONE = Answer.SERVES, Answer.STOPS, Answer.NONE
POSTGRES = Probe("/socket", b"", (b"R", b"E"), b"shutting down")
answers = st.sampled_from([None, *Answer])


def after(*answers: Answer | None, step: float = MAX_STEP) -> Silence:
    """The silence of a child that was looked at so often, `step` seconds apart."""
    silence = Silence()
    for count, answer in enumerate(answers):
        silence.note(count * step, answer)
    return silence


def looks(seconds: float) -> int:
    """How many looks take so many seconds."""
    return int(seconds / MAX_STEP)


def test_a_child_that_has_served_is_given_up_after_the_whole_silence_and_no_sooner():
    assert not after(SERVES, *[NONE] * (looks(MAX_SILENCE) - 1)).is_too_long
    assert after(SERVES, *[NONE] * looks(MAX_SILENCE)).is_too_long
    assert after(SERVES, *[None] * looks(MAX_SILENCE)).is_too_long, "an answer that never comes is none"


def test_one_answer_ends_the_silence():
    almost = [NONE] * (looks(MAX_SILENCE) - 1)
    assert not after(SERVES, *almost, SERVES, *almost).is_too_long


def test_a_child_that_is_told_to_stop_by_others_is_given_up_sooner():
    assert not after(SERVES, *[STOPS] * (looks(MAX_STOPPING) - 1)).is_too_long
    assert after(SERVES, *[STOPS] * looks(MAX_STOPPING)).is_too_long
    assert after(SERVES, STOPS, *[None] * looks(MAX_STOPPING)).is_too_long


@given(st.lists(st.sampled_from([None, STOPS, NONE]), max_size=200))
def test_a_child_that_has_never_served_is_starting_however_long_it_takes(heard):
    assert not after(*heard).is_too_long


@given(st.lists(st.tuples(st.floats(0, 1e6), answers), max_size=50))
def test_a_frozen_supervisor_counts_one_step_however_long_it_was_frozen(moves):
    silence, now, steps = Silence(), 0.0, 0
    for seconds, answer in moves:
        now += seconds
        silence.note(now, answer)
        steps = 0 if answer is SERVES else steps + 1
        assert silence.seconds <= steps * MAX_STEP


@pytest.mark.parametrize(
    ("heard", "answer"),
    [
        (b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0", SERVES),
        (b"E..SFATAL\0C57P03\0Mthe database system is starting up\0", SERVES),
        (b"E..SFATAL\0C53300\0Msorry, too many clients already\0", SERVES),
        (b"E..SFATAL\0C57P03\0Mthe database system is shutting down\0", STOPS),
        (b"", NONE),
        (b"HTTP/1.1 200 OK", NONE),
    ],
)
def test_a_database_that_recovers_serves_and_one_that_shuts_down_does_not(heard: bytes, answer: Answer):
    assert POSTGRES.read(heard) is answer
