"""The laws of a profile over random lives: anything said, done, agreed, refused and forgotten, in any order."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import profile
from agentstate.engine.instants import stamp
from agentstate.engine.profile import Happening
from agentstate.engine.profile import commands as ask
from agentstate.engine.profile import events as ev
from agentstate.engine.profile.learned import PRIOR, confidences, kept
from agentstate.engine.profile.state import MOST_NAMES, MOST_RECORDS, MOST_SOURCES, MOST_VALUES, Preference, Source
from agentstate.errors import Refused
from tests.core.made import objects, values
from tests.core.profile_world import START, Customer, heard, moment, paid
from tests.searching import drawn

names = st.sampled_from(["answers", "usual_source", "own_limit", "careful_with_payees", "seat"])
purposes = st.sampled_from(["personalisation", "personalisation", "analytics", "service"])
accounts = st.sampled_from(["A-1", "A-2", "A-3"])
some = st.sampled_from(["brief", "full", "A-1", "A-2", True, {"minor": 5, "currency": "USD"}]) | values
CUSTOMER = "customer"


@st.composite
def learning(draw: Any) -> Any:
    """A session teaches: transfers, wishes, and entries that say nothing; `ago` minutes late."""
    session, ago, seq = draw(st.sampled_from("abc")), draw(st.integers(0, 3)), draw(st.integers(0, 30))
    what = draw(st.sampled_from(["pay", "pay", "shorter", "longer", "odd"]))
    source, odd = draw(accounts), draw(objects)

    def command(minute: float) -> ask.Learn:
        made = {
            "pay": paid(minute - ago, source, seq, new_payee=True),
            "shorter": heard(minute - ago, "Shorter!", seq),
            "longer": heard(minute - ago, "Tell me more.", seq),
            "odd": Happening(seq, moment(minute - ago), "tool.returned", odd, "transfer", odd, odd),
        }[what]
        return ask.Learn(session, 30, (made,))

    return command


commands = st.one_of(
    learning(),
    learning(),
    st.builds(ask.Agree, purposes, st.just(CUSTOMER)),
    st.builds(ask.Withdraw, purposes, st.just(CUSTOMER)),
    st.builds(ask.Prefer, names, some, st.just(CUSTOMER)),
    st.builds(ask.Clear, names, st.just(CUSTOMER)),
    st.builds(ask.Rate, names, some, st.booleans(), st.just(CUSTOMER)),
    st.builds(ask.Correct, names, some, st.just(CUSTOMER)),
    st.builds(ask.Refuse, names, st.just(CUSTOMER), st.none() | some),
    st.builds(ask.Allow, names, st.just(CUSTOMER), st.none() | some),
    st.builds(
        ask.Forget,
        st.sampled_from(["preference", "setting", "history", "everything"]),
        st.just(CUSTOMER),
        names | st.just("") | st.just("transfers"),
    ),
)
lives = st.lists(commands, max_size=25)
free_lives = st.lists(commands.filter(lambda step: not isinstance(step, ask.Refuse)), max_size=25)


def lived(life: list[Any], customer: Customer | None = None) -> Customer:
    """A customer after all of it; a refused command changes nothing."""
    customer = customer or Customer().agrees()
    for step in life:
        before = customer.state
        try:
            customer.does(step(customer.minute + 1) if callable(step) else step)
        except Refused:
            assert customer.state == before
    return customer


@settings(max_examples=drawn(150))
@given(lives, st.integers(0, 40))
def test_a_profile_is_the_fold_of_its_stored_events(life, at):
    customer = lived(life)
    stored = [(ev.decode(ev.encode(event)), when) for event, when in customer.log]
    assert profile.fold(stored[at:], profile.fold(stored[:at])) == customer.state
    assert profile.fold(stored) == customer.state
    assert customer.state.seq == len(stored)
    assert profile.from_snapshot(profile.to_snapshot(customer.state)) == customer.state


@settings(max_examples=drawn(150))
@given(lives, lives)
def test_what_was_said_beats_what_was_learned_in_any_order(before, after):
    customer = lived([*before, ask.Agree("personalisation", CUSTOMER), ask.Prefer("answers", "full", CUSTOMER)])
    taught = [step for step in after if callable(step)]
    assert lived(taught, customer).counts("answers") == "full"


@settings(max_examples=drawn(150))
@given(lives, lives)
def test_what_was_refused_stays_refused(before, after):
    customer = lived([*before, ask.Refuse("usual_source", CUSTOMER)])
    others = [step for step in after if not isinstance(step, ask.Allow)]
    assert "usual_source" not in lived(others, customer).state.preferences


@settings(max_examples=drawn(150))
@given(lives, lives)
def test_without_consent_nothing_is_held_or_used(before, after):
    customer = lived([*before, ask.Withdraw("personalisation", CUSTOMER)])
    state = lived([step for step in after if not isinstance(step, ask.Agree)], customer).state
    held = [*state.preferences.values(), *state.settings.values(), *state.histories.values()]
    assert [item for item in held if item.purpose == "personalisation"] == []
    assert {"answers", "usual_source"}.isdisjoint(customer.adapted().view.get("preferences", {}))


@settings(max_examples=drawn(150))
@given(free_lives)
def test_forgetting_leaves_no_trace(life):
    """A word that only the forgotten preference holds is nowhere in the state after."""
    customer = lived(life).agrees()
    customer.does(ask.Rate("usual_source", "Zebrafinch", True, CUSTOMER))
    assert b"Zebrafinch" in profile.to_snapshot(customer.state)
    customer.does(ask.Forget("preference", CUSTOMER, "usual_source"))
    assert b"Zebrafinch" not in profile.to_snapshot(customer.state)
    assert "usual_source" not in customer.state.preferences


@settings(max_examples=drawn(150))
@given(free_lives)
def test_forgetting_a_preference_is_as_if_it_had_never_been_learned(life):
    """The other parts of the state are those of a life in which nothing ever spoke of it."""
    customer = lived(life).agrees()
    customer.does(ask.Rate("usual_source", "A-1", True, CUSTOMER))
    customer.does(ask.Forget("preference", CUSTOMER, "usual_source"))
    assert profile.to_snapshot(customer.state) == profile.to_snapshot(_without("usual_source", customer))


def _without(name: str, customer: Customer) -> profile.ProfileState:
    log = []
    for event, at in customer.log:
        if isinstance(event, ev.ProfileLearned):
            left = tuple(item for item in event.observed if item.name != name)
            event = msgspec.structs.replace(event, observed=left)
        if isinstance(event, ev.FeedbackGiven) and event.name == name:
            event = ev.ProfileLearned("nowhere", 0)  # an entry stands in its place: entries are counted
            log.append((event, at))
            continue
        log.append((event, at))
    state = profile.fold(log)
    marks = {key: mark for key, mark in state.marks.items() if key != "nowhere"}
    return msgspec.structs.replace(state, marks=marks)


@settings(max_examples=drawn(100))
@given(lives)
def test_a_profile_stays_bounded(life):
    state = lived(life * 4).state
    assert max(len(state.settings), len(state.preferences), len(state.histories), len(state.refused)) <= MOST_NAMES
    for preference in state.preferences.values():
        assert 0 < len(preference.learned) <= MOST_VALUES
        assert all(0 < len(item.sources) <= MOST_SOURCES for item in preference.learned)
    assert all(len(history.records) <= MOST_RECORDS for history in state.histories.values())


instants = st.integers(0, 2_000).map(lambda hours: stamp(START + timedelta(hours=hours)))
weights = st.integers(-5, 5).filter(bool)
sources = st.builds(Source, st.sampled_from("abcd"), st.integers(0, 50), instants, st.just("rule"), weights)
evidence = st.lists(
    st.tuples(accounts, sources), min_size=1, max_size=MOST_SOURCES, unique_by=lambda each: each[1].place
)


def believed(pairs: list[tuple[str, Source]], half_life: int = 30) -> Preference:
    learned: Any = ()
    for value, source in pairs:
        learned = kept(learned, value, source)
    return Preference("personalisation", half_life, learned)


@settings(max_examples=drawn(200))
@given(evidence, st.integers(1, 400), st.lists(st.integers(0, 100_000), min_size=2, max_size=5))
def test_confidence_lies_between_0_and_1_and_only_falls_while_nothing_new_comes(pairs, half_life, hours):
    preference = believed(pairs, half_life)
    rows = [confidences(preference, stamp(START + timedelta(hours=hour))) for hour in sorted(hours)]
    for row in rows:
        assert all(0 <= confidence < 1 for confidence in row)
        assert sum(row) <= 1
    for earlier, later in pairwise(rows):
        assert all(after <= before for before, after in zip(earlier, later, strict=True))


@settings(max_examples=drawn(200))
@given(evidence, st.integers(1, 400), st.integers(2_001, 9_000))
def test_confidence_is_the_share_that_its_definition_says(pairs, half_life, hours):
    """The same by floating point, source by source, as the text has it."""
    preference, now = believed(pairs, half_life), START + timedelta(hours=hours)

    def weighs(source: Source) -> float:
        age = (now - datetime.fromisoformat(source.at)) / timedelta(days=half_life)
        return abs(source.weight) * 2.0**-age

    pros = [sum(weighs(s) for s in item.sources if s.weight > 0) for item in preference.learned]
    cons = [sum(weighs(s) for s in item.sources if s.weight < 0) for item in preference.learned]
    found = confidences(preference, stamp(now))
    for pro, con, confidence in zip(pros, cons, found, strict=True):
        assert abs(float(confidence) - pro / (sum(pros) + con + PRIOR)) <= 0.0011


@settings(max_examples=drawn(200))
@given(evidence, st.randoms(use_true_random=False))
def test_sources_teach_the_same_in_any_order(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert believed(shuffled) == believed(pairs)


@settings(max_examples=drawn(200))
@given(evidence, accounts, st.integers(1, 5))
def test_a_new_source_for_a_value_never_makes_it_less_sure(pairs, value, weight):
    at = stamp(START + timedelta(hours=2_001))
    before, after = believed(pairs), believed([*pairs, (value, Source("new", 1, at, "rule", weight))])
    assert _sure(after, value, at) >= _sure(before, value, at) or len(pairs) == MOST_SOURCES


def _sure(preference: Preference, value: str, at: str) -> Decimal:
    found = zip(preference.learned, confidences(preference, at), strict=True)
    return next((confidence for item, confidence in found if item.value == value), Decimal(0))
