"""What a team sees of the retention schedule, and what its changes do to others: pure rules, checked at random."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from audit.retention import Class, Rule, Schedule, changes_for, shortened

OURS, THEIRS = UUID(int=1), UUID(int=2)
NAMES, AGENTS, CHANNELS = ("a", "b", "c"), ("", "bank"), ("", "phone", "chat")

rules = st.builds(
    Rule,
    retention=st.sampled_from(NAMES),
    team=st.sampled_from(["", str(OURS), str(THEIRS)]),
    agent=st.sampled_from(AGENTS),
    channel=st.sampled_from(CHANNELS),
)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    days = {name: draw(st.integers(1, 5)) for name in NAMES}
    return Schedule(tuple(Class(name, each) for name, each in days.items()), tuple(draw(st.lists(rules, max_size=6))))


def terms(schedule: Schedule, team: UUID) -> list[int | None]:
    """By brute force: for each agent and channel, named or not, the days."""
    found = []
    for agent in ("bank", "another"):
        for channel in ("phone", "chat", "another"):
            term = schedule.of(team, agent, channel)
            found.append(None if term is None else term.days)
    return found


@given(schedules())
def test_who_changes_nothing_of_what_they_see_changes_nothing_for_anybody(schedule: Schedule) -> None:
    again = schedule.with_part(schedule.seen_by({OURS}), {OURS})
    assert again.rules == schedule.rules or not changes_for(schedule, again, THEIRS)
    assert not changes_for(schedule, again, OURS)
    assert not changes_for(schedule, again, THEIRS)


@given(schedules(), st.lists(rules.filter(lambda rule: rule.team == str(OURS)), max_size=4), st.integers(1, 5))
def test_what_a_team_does_with_its_own_rules_alone_leaves_others_as_they_were(schedule, own, days) -> None:
    mine = "mine"
    seen = schedule.seen_by({OURS})
    common = tuple(rule for rule in seen.rules if not rule.team)
    wanted = Schedule((*seen.classes, Class(mine, days)), (*(Rule(mine, *_rest(rule)) for rule in own), *common))
    assert not changes_for(schedule, schedule.with_part(wanted, {OURS}), THEIRS)


def _rest(rule: Rule) -> tuple[str, str, str]:
    return rule.team, rule.agent, rule.channel


@given(schedules(), schedules())
def test_a_term_is_shortened_exactly_where_some_session_is_kept_for_less(before: Schedule, after: Schedule) -> None:
    pairs = zip(terms(before, OURS), terms(after, OURS), strict=True)
    less = {new for old, new in pairs if new is not None and (old is None or new < old)}
    assert set(shortened(before, after, OURS)) == less


@given(schedules(), schedules())
def test_what_changes_no_rule_of_a_team_changes_no_term_of_it(before: Schedule, after: Schedule) -> None:
    if not changes_for(before, after, OURS):
        assert terms(before, OURS) == terms(after, OURS)


@given(schedules())
def test_a_team_sees_no_rule_of_another_and_no_class_of_another_alone(schedule: Schedule) -> None:
    seen = schedule.seen_by({OURS})
    assert all(rule.team in ("", str(OURS)) for rule in seen.rules)
    assert terms(seen, OURS) == terms(schedule, OURS)
    theirs = {rule.retention for rule in schedule.rules} - {rule.retention for rule in seen.rules}
    assert theirs.isdisjoint(each.name for each in seen.classes)
