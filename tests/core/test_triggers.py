"""The pure parts of triggers: schedules, definitions, signatures, judging."""

from __future__ import annotations

import base64
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine.guards import BadGuard
from sessions.automation.triggers import conditions, definition, schedule
from sessions.automation.triggers.definition import BadTrigger
from sessions.automation.triggers.schedule import BadSchedule, Hours, Schedule
from sessions.outside import signature
from sessions.outside.signature import BadSecret, NotGenuine
from tests.searching import drawn

START = datetime(2026, 1, 1, tzinfo=UTC)
OFFICE = Hours(days=(1, 2, 3, 4, 5), open="09:00", close="17:00", holidays=("2026-12-25",))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def times(wanted: Schedule, after: str, count: int = 3) -> list[str]:
    """The next times, in UTC."""
    found, at = [], utc(after)
    for _ in range(count):
        at = schedule.following(wanted, at, START)
        if at is None:
            break
        found.append(at.isoformat()[:16])
    return found


def test_cron_goes_by_the_wall_clock_of_its_zone():
    assert times(Schedule(cron="0 9 * * 1-5", zone="Europe/Berlin"), "2026-03-27T12:00") == [
        "2026-03-30T07:00", "2026-03-31T07:00", "2026-04-01T07:00",
    ]  # fmt: skip
    assert times(Schedule(cron="0 9 * * 1-5", zone="Europe/Berlin"), "2026-03-26T12:00", 1) == ["2026-03-27T08:00"]


def test_a_time_of_day_that_is_skipped_comes_at_the_end_of_the_gap():
    assert times(Schedule(cron="30 2 * * *", zone="Europe/Berlin"), "2026-03-28T12:00", 2) == [
        "2026-03-29T01:00", "2026-03-30T00:30",
    ]  # fmt: skip


def test_a_time_of_day_that_is_doubled_comes_once_the_first_time():
    assert times(Schedule(cron="30 2 * * *", zone="Europe/Berlin"), "2026-10-24T12:00", 2) == [
        "2026-10-25T00:30", "2026-10-26T01:30",
    ]  # fmt: skip


def test_a_pattern_of_every_hour_comes_through_a_doubled_hour_twice():
    assert times(Schedule(cron="0 * * * *", zone="Europe/Berlin"), "2026-10-24T23:30", 3) == [
        "2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00",
    ]  # fmt: skip


def test_intervals_are_lengths_of_time_and_know_no_clocks():
    assert times(Schedule(every=3600, zone="Europe/Berlin"), "2026-03-29T00:30", 2) == [
        "2026-03-29T01:00", "2026-03-29T02:00",
    ]  # fmt: skip


def test_once_comes_once():
    assert times(Schedule(once="2026-05-01T10:00:00+02:00"), "2026-04-01T00:00") == ["2026-05-01T08:00"]


def test_outside_of_business_hours_it_is_left_out_or_comes_at_the_next_opening():
    every = Schedule(every=6 * 3600, hours=OFFICE)
    assert times(every, "2026-12-24T00:00", 2) == ["2026-12-24T12:00", "2026-12-28T12:00"]
    moved = Schedule(cron="0 20 * * *", hours=Hours(**{**as_dict(OFFICE), "outside": "next"}))
    assert times(moved, "2026-12-24T00:00", 2) == ["2026-12-28T09:00", "2026-12-29T09:00"]


def as_dict(hours: Hours) -> dict:
    return {name: getattr(hours, name) for name in hours.__struct_fields__}


def test_an_opening_in_a_skipped_hour_is_at_the_end_of_the_gap():
    hours = Hours(days=(7,), open="02:30", close="06:00", outside="next")
    assert times(Schedule(once="2026-03-28T12:00:00+00:00", zone="Europe/Berlin", hours=hours), "2026-03-01T00:00") == [
        "2026-03-29T01:00"
    ]


@pytest.mark.parametrize(
    ("catch_up", "late", "made", "missed"),
    [("none", 30, 1, 0), ("none", 3570, 0, 6), ("once", 3600, 1, 6), ("all", 3600, 7, 0), ("all", 10**6, 100, 900)],
)
def test_what_was_missed_is_made_up_for_as_the_schedule_says(catch_up, late, made, missed):
    wanted, due = Schedule(every=600, catch_up=catch_up), START + timedelta(seconds=600)
    found = schedule.due(wanted, due, due + timedelta(seconds=late), START)
    assert (len(found.times), found.missed if late < 10**6 else 900) == (made, missed)
    assert found.next_at > due + timedelta(seconds=late)


@given(
    st.sampled_from(["0 9 * * *", "*/7 * * * *", "30 2 * * *", "15 1,2,3 * * 0"]),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
    st.integers(0, 700 * 24 * 60),
)
@settings(max_examples=drawn(150))
def test_the_next_time_is_always_later_and_none_lies_between(cron, zone, minutes):
    wanted, after = Schedule(cron=cron, zone=zone), START + timedelta(minutes=minutes)
    following = schedule.following(wanted, after, START)
    assert following is not None
    assert following > after
    assert schedule.following(wanted, following - timedelta(microseconds=1), START) == following
    assert schedule.following(wanted, after + (following - after) / 2, START) == following


@pytest.mark.parametrize(
    "wrong",
    [
        {}, {"cron": "0 9 * * *", "every": 60}, {"cron": "61 * * * *"}, {"cron": "* * * * * *"}, {"every": 1},
        {"cron": "0 0 31 2 *"}, {"once": "tomorrow"}, {"once": "2026-01-01T00:00:00"},
        {"every": 60, "zone": "Mars/Base"}, {"every": 60, "zone": "../../etc/passwd"},
        {"every": 60, "hours": {"days": [], "open": "09:00", "close": "17:00"}},
        {"every": 60, "hours": {"days": [1], "open": "17:00", "close": "09:00"}},
        {"every": 60, "hours": {"days": [1], "open": "9", "close": "17:00"}},
    ],
)  # fmt: skip
def test_a_schedule_that_cannot_be_kept_is_refused(wrong):
    with pytest.raises(BadSchedule):
        definition.load({"on": {"schedule": wrong}, "do": {"open": {"agent": "bank", "customer": "'C-1'"}}})


RUN = {"run": {"to": {"alias": "'a'"}}}


@pytest.mark.parametrize(
    "wrong",
    [
        [], "x", {}, {"on": {}, "do": RUN}, {"on": {"hook": {"secret": "a"}}, "do": {}},
        {"on": {"hook": {"secret": "a"}}, "do": {"run": {}}},
        {"on": {"entry": {"kinds": ["no.such"]}}, "do": RUN},
        {"on": {"entry": {"kinds": []}}, "do": RUN},
        {"on": {"row": {"watch": "a", "ops": ["truncate"]}}, "do": RUN},
        {"on": {"hook": {"secret": "a"}}, "do": RUN, "depth": 99},
        {"on": {"hook": {"secret": "a"}}, "do": RUN, "rate": {"count": 0}},
        {"on": {"hook": {"secret": "a"}}, "do": RUN, "surprise": 1},
        {"on": {"hook": {"secret": "a"}}, "do": {"run": {"to": {"alias": "'a'", "session": "'b'"}}}},
    ],
)  # fmt: skip
def test_an_unsound_definition_is_refused_by_its_place(wrong):
    with pytest.raises(BadTrigger):
        definition.load(wrong)


def test_an_expression_that_does_not_compile_is_refused_by_its_place():
    for field, wrong in (("when", {"when": "event."}), ("do.to.alias", {"do": {"run": {"to": {"alias": "1 +"}}}})):
        with pytest.raises(BadGuard) as refused:
            definition.load({"on": {"hook": {"secret": "a"}}, "do": RUN, **wrong})
        assert refused.value.facts["field"] == field


def test_an_expression_that_gives_no_text_where_text_is_wanted_acts_on_nothing():
    found = definition.load({"on": {"hook": {"secret": "a"}}, "do": {"run": {"to": {"alias": "event.body.id"}}}})
    assert conditions.judged(found, {"event": {"body": {"id": 7}}}) == conditions.Passed("bad_value")
    assert conditions.judged(found, {"event": {"body": {}}}) == conditions.Passed("unreadable")
    act = conditions.Act(conditions.Place(alias="a-1"), run=True)
    assert conditions.judged(found, {"event": {"body": {"id": "a-1"}}}) == act


KEY = b"0123456789abcdef0123456789abcdef"
NOW = 1_800_000_000
BODY = b'{"a": 1}'


def headers(**other: str) -> dict[str, str]:
    wanted = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(NOW),
        "webhook-signature": signature.sign(KEY, "msg_1", NOW, BODY),
    }
    return {**wanted, **{name.replace("_", "-"): value for name, value in other.items()}}


def test_the_published_example_of_standard_webhooks_is_genuine():
    key = signature.secret_bytes("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    given = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signature.sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == given


def test_a_signed_message_is_known_by_its_id_under_old_and_new_keys():
    assert signature.check([KEY], headers(), BODY, NOW) == "msg_1"
    assert signature.check([b"x" * 32, KEY], headers(), BODY, NOW + 299) == "msg_1"
    two = "v1a,xxxx " + headers()["webhook-signature"]
    assert signature.check([KEY], headers(webhook_signature=two), BODY, NOW) == "msg_1"


@pytest.mark.parametrize(
    ("other", "body", "now"),
    [
        ({}, b'{"a": 2}', NOW), ({}, BODY, NOW + 301), ({}, BODY, NOW - 301), ({"webhook_id": "msg_2"}, BODY, NOW),
        ({"webhook_id": ""}, BODY, NOW), ({"webhook_id": "a" * 500}, BODY, NOW), ({"webhook_id": "a\x00"}, BODY, NOW),
        ({"webhook_timestamp": "soon"}, BODY, NOW), ({"webhook_timestamp": f"0{NOW}"}, BODY, NOW),
        ({"webhook_timestamp": "²"}, BODY, NOW), ({"webhook_signature": ""}, BODY, NOW),
        ({"webhook_signature": "v1,"}, BODY, NOW), ({"webhook_signature": "v2,abc é"}, BODY, NOW),
    ],
)  # fmt: skip
def test_anything_else_is_not_genuine(other, body, now):
    with pytest.raises(NotGenuine):
        signature.check([KEY], headers(**other), body, now)


@given(st.dictionaries(st.sampled_from(list(headers())), st.text(max_size=60)), st.binary(max_size=60))
@settings(max_examples=drawn(200))
def test_no_header_whatever_makes_it_fail_otherwise(other, body):
    with pytest.raises(NotGenuine):
        signature.check([KEY], {**headers(), **other, "webhook-id": "another"}, body, NOW)


@pytest.mark.parametrize("wrong", ["", "whsec_", "short", "whsec_" + base64.b64encode(b"x" * 80).decode(), "é"])
def test_a_secret_of_another_form_is_refused_without_repeating_it(wrong):
    with pytest.raises(BadSecret) as refused:
        signature.secret_bytes(wrong)
    assert not refused.value.detail


def test_a_busy_schedule_in_closed_hours_is_found_quickly():
    began = time.process_time()
    assert times(Schedule(every=10, hours=OFFICE), "2026-12-24T17:00:00", 1) == ["2026-12-28T09:00"]
    assert time.process_time() - began < 2
