"""Notifications without a database: what a rule may say, when nobody is disturbed, when what failed is tried again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine.guards import BadGuard
from sessions.automation.notifications import definition, matching, quiet_hours, retries
from sessions.automation.notifications.definition import BadRule
from sessions.automation.notifications.quiet_hours import BadQuiet, Quiet
from tests.searching import drawn

STEP = {"to": ["role:supervisor"], "by": ["in_app"]}
RULE = {"on": {"kinds": ["approval.requested"]}, "steps": [STEP]}


def test_a_rule_comes_out_as_it_went_in_with_its_defaults():
    found = definition.load(RULE)
    assert definition.load(definition.dump(found)) == found
    assert (found.severity, found.until, found.window, found.steps[0].how) == ("info", "seen", 300, "all")


@pytest.mark.parametrize("name", definition.shipped())
def test_every_shipped_rule_is_sound(name):
    assert definition.load(definition.shipped()[name]).steps


@pytest.mark.parametrize(
    "change",
    [
        {"on": {"kinds": []}}, {"on": {"kinds": ["nothing.happened"]}}, {"steps": []}, {"steps": [STEP] * 7},
        {"steps": [{"by": ["in_app"]}]}, {"steps": [{**STEP, "by": []}]}, {"steps": [{**STEP, "by": ["fax"]}]},
        {"steps": [{**STEP, "by": ["webhook:"]}]}, {"steps": [{**STEP, "to": ["everybody"]}]},
        {"steps": [{**STEP, "to": ["user:\nBcc: x@example.com"]}]}, {"steps": [{**STEP, "after": -1}]},
        {"steps": [{**STEP, "after": 604801}]}, {"window": -1}, {"digest": 86401}, {"severity": "worst"},
        {"severity": "critical", "digest": 60}, {"title": "a\nBcc: x@example.com"}, {"title": "x" * 81},
        {"until": "never"}, {"more": 1}, {"key": "x" * 17000}, {"on": {"kinds": ["approval.requested"], "of": "x"}},
    ],
)  # fmt: skip
def test_an_unsound_rule_is_refused(change):
    with pytest.raises(BadRule) as refused:
        definition.load({**RULE, **change})
    assert refused.value.code == "bad_notice_rule"


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("alert.raised", "stuck", True),
        ("alert.raised", "asks-for-a-person", False),
        ("alert.escalated", "asks-for-a-person", True),
    ],
)
def test_who_asks_for_a_person_is_told_of_once_by_the_shipped_rules(kind, name, told):
    """The rule `asks-for-a-person` tells of the request itself; that of alerts only once nobody has seen to it."""
    event = {"kind": kind, "data": {"severity": "critical", "name": name}}
    found = matching.judged(definition.load(definition.shipped()["alerts"]), {"event": event}, "else")
    assert isinstance(found, str) is told


@pytest.mark.parametrize("change", [{"when": "1 + 1"}, {"when": "open("}, {"key": "event.("}, {"when": "unknown.x"}])
def test_an_expression_that_does_not_compile_is_refused(change):
    with pytest.raises(BadGuard):
        definition.load({**RULE, **change})


def judged(when: str, key: str = "", data: object = None):
    return matching.judged(definition.load({**RULE, "when": when, "key": key}), {"event": {"data": data or {}}}, "else")


def test_what_cannot_be_read_is_never_taken_for_a_yes():
    assert judged("event.data.tier >= 3", data={"tier": 3}) == "else"
    assert judged("event.data.tier >= 3", data={"tier": 2}) == matching.Passed("condition_false")
    assert judged("event.data.tier >= 3") == matching.Passed("unreadable")
    assert judged("true", "event.data.tier", {"tier": 3}) == matching.Passed("bad_value")
    assert judged("true", "event.data.tool", {"tool": "transfer"}) == "transfer"


NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = st.builds(lambda h, m: f"{h:02d}:{m:02d}", st.integers(0, 23), st.sampled_from([0, 15, 30, 45]))
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"])
HOURS = st.builds(
    Quiet, start=TIMES, end=TIMES, zone=ZONES, days=st.lists(st.integers(1, 7), min_size=1, max_size=7).map(tuple)
).filter(lambda each: each.start != each.end)
INSTANTS = st.integers(0, 365 * 24 * 60).map(
    lambda minute: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
)


def shown(at: datetime, hours: Quiet) -> bool:
    """Whether the clock on the wall lies within, day by day."""
    wall = at.astimezone(ZoneInfo(hours.zone))
    text, day, before = wall.strftime("%H:%M"), wall.isoweekday(), (wall - timedelta(days=1)).isoweekday()
    if hours.start < hours.end:
        return day in hours.days and hours.start <= text < hours.end
    return (day in hours.days and text >= hours.start) or (before in hours.days and text < hours.end)


@given(INSTANTS, HOURS)
@settings(max_examples=drawn(300))
def test_quiet_hours_are_those_that_the_clock_on_the_wall_shows(at, hours):
    assert (quiet_hours.until(at, [hours]) is not None) == shown(at, hours)


@given(INSTANTS, st.lists(HOURS, max_size=3))
@settings(max_examples=drawn(300))
def test_quiet_hours_end_when_nobodys_are_quiet_any_more(at, several):
    until = quiet_hours.until(at, several)
    assert (until is None) == all(quiet_hours.until(at, [each]) is None for each in several)
    if until is not None:
        assert at < until
        alone = [end for each in several if (end := quiet_hours.until(at, [each])) is not None]
        assert until >= max(alone)
        if len(several) == 1:
            assert quiet_hours.until(until - timedelta(seconds=1), several) is not None


def test_quiet_hours_over_a_change_of_clocks_end_at_their_time_of_day():
    hours = Quiet("22:00", "07:00", "Europe/Berlin")
    summer = quiet_hours.until(datetime(2026, 3, 28, 23, tzinfo=UTC), [hours])  # the night in which an hour is skipped
    winter = quiet_hours.until(datetime(2026, 10, 24, 23, tzinfo=UTC), [hours])  # and in which one is doubled
    assert (summer, winter) == (datetime(2026, 3, 29, 5, tzinfo=UTC), datetime(2026, 10, 25, 6, tzinfo=UTC))


@pytest.mark.parametrize(
    "wrong",
    [{"start": "22:00", "end": "22:00"}, {"start": "24:00", "end": "07:00"}, {"start": "9:00", "end": "17:00"},
     {"start": "22:00", "end": "07:00", "zone": "Mars/Olympus"}, {"start": "22:00", "end": "07:00", "days": []},
     {"start": "22:00", "end": "07:00", "days": [8]}, {"start": "22:00"}, {"start": "22:00", "end": "07:00", "x": 1},
     {"start": "22:00", "end": "07:00", "zone": "../../etc/passwd"}],
)  # fmt: skip
def test_quiet_hours_that_cannot_be_kept_are_refused(wrong):
    with pytest.raises(BadQuiet):
        quiet_hours.load(wrong)


def test_webhooks_are_tried_over_three_days_as_the_specification_suggests():
    pauses = [retries.pause(retries.WEBHOOK, tries, 0.5) for tries in range(1, 10)]
    assert pauses == list(retries.WEBHOOK)
    assert timedelta(days=3) < timedelta(seconds=sum(retries.WEBHOOK)) < timedelta(days=4)
    assert retries.pause(retries.WEBHOOK, 10, 0.5) is None


@given(st.integers(1, 9), st.floats(0, 1), st.floats(0, 3600))
def test_a_pause_is_spread_and_never_shorter_than_the_other_side_asks(tries, draw, asked):
    found = retries.pause(retries.WEBHOOK, tries, draw, asked)
    plain = retries.WEBHOOK[tries - 1]
    assert found is not None
    assert max(0.9 * plain, asked) <= found + 1e-9
    assert found <= max(1.1 * plain, asked) + 1e-9
