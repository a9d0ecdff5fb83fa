"""What matters, for how long, what is kept, and what is said of the rest: each noun of memory by itself."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import model_request
from agentstate.engine.advance import next_action
from agentstate.engine.conversation import LONGEST, Item, ItemCall
from agentstate.engine.decide.memory import BeingSummarised
from agentstate.engine.memory import correction, remembering, summaries
from agentstate.engine.memory.decay import decayed, seconds_between
from agentstate.engine.memory.groups import grouped
from agentstate.engine.memory.importance import DEFAULT_RULES, Rule, importance, matches
from agentstate.engine.memory.lines import facts, told
from agentstate.engine.memory.pins import MOST_PINS, NotHeld, NotPinned, TooManyPins
from agentstate.engine.memory.remembering import BadMemory, Remembering
from agentstate.engine.memory.scene import Frame
from agentstate.engine.memory.sight import result_without
from agentstate.engine.memory.summaries import MOST
from agentstate.engine.memory.tokens import ESTIMATE
from agentstate.engine.scratchpad import BadPath
from agentstate.engine.scratchpad.private import visible
from agentstate.engine.state.evolution import fold
from sessions.agents import definition
from tests.core import memory_world, worlds
from tests.core.made import values
from tests.core.memory_world import agent
from tests.core.memory_world import remembering as under
from tests.core.worlds import World, proposed
from tests.searching import drawn

json = msgspec.json.Encoder(decimal_format="number")
CALL = ItemCall("c1", "transfer", {"amount": {"minor": 430_000, "currency": "USD"}, "to": "A-2"}, "state.transfer")


def said(text: str, role: str = "customer", seq: int = 0, turn: int = 0) -> Item:
    return Item(seq, role, text, turn=turn, at="2026-11-21T03:00:00.000000Z")  # type: ignore[arg-type]


def result(text: str, seq: int = 2) -> Item:
    return Item(seq, "tool", text, by="transfer", call="c1")


def rules_of(item: Item) -> set[str]:
    return {rule.name for rule in DEFAULT_RULES if matches(rule, item)}


def points(item: Item, **given: object) -> int:
    now = {"rating": 0, "pinned": False, "turn": 0, "at": item.at, "half_life_turns": 12, "half_life_seconds": 3600}
    return importance(item, DEFAULT_RULES, **{**now, **given}).points  # type: ignore[arg-type]


# Importance and decay


@pytest.mark.parametrize(
    ("item", "rules"),
    [
        (said("Hm."), {"customer"}),
        (said("Move $4,300.00, please."), {"customer", "money"}),
        (said("Never call me before ten."), {"customer", "constraint"}),
        (said("I only have the card ending 2207."), {"customer", "constraint", "account"}),
        (said("He lonely said nothing."), {"customer"}),
        (said("Ask Ada Lovelace on Monday.", "note"), {"colleague", "name", "date"}),
        (result('{"status":"rejected","reason":"limit"}'), {"result", "decision"}),
        (result('{"status":"ok","result":{"minor":5}}'), {"result", "money"}),
        (result('{"status":"error","error":"away"}'), {"result", "failure"}),
        (Item(1, "agent", "", calls=(ItemCall("c", "remember", {}),)), {"agent", "remembered"}),
    ],
)
def test_rules_find_what_matters(item: Item, rules: set[str]):
    assert rules_of(item) == rules


def test_what_mattered_is_half_after_a_half_life_and_nothing_in_the_end():
    assert [decayed(1_000, age, 10) for age in (0, 5, 10, 20, 30, 1_000)] == [1_000, 750, 500, 250, 125, 0]
    assert decayed(1_000, 10**9, 0) == 1_000


@given(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(1, 500))
def test_decay_never_grows_and_stays_near_the_exponential(full: int, age: int, half: int):
    left = decayed(full, age, half)
    assert decayed(full, age + 1, half) <= left <= full
    exact = full * 2.0 ** -(age / half)
    assert exact - 1 <= left <= exact * 1.0625 + 1


def test_importance_decays_with_turns_and_with_time_and_a_pin_stops_both():
    item = said("Move $4,300.00, please.")
    assert (points(item), points(item, turn=12), points(item, at="2026-11-21T04:00:00.000000Z")) == (160, 80, 80)
    assert points(item, turn=12, at="2026-11-21T04:00:00.000000Z") == 40
    assert points(item, turn=99, at="2027-11-21T04:00:00.000000Z", pinned=True) == 160
    assert seconds_between("", item.at) == 0


def test_what_people_said_of_an_item_counts():
    item = said("Hm.")
    assert points(item, rating=2) - points(item) == points(item) - points(item, rating=-2) + 20 == 120


# Pins


def test_calling_remember_pins_what_is_to_be_remembered():
    world = worlds.opened().asked(proposed("remember", what="Call after ten"))
    (pin,) = world.state.memory.pins
    assert (pin.how, pin.by) == ("agent", "rule:remembered")


def test_a_rule_makes_room_for_a_newer_pin_but_never_at_the_cost_of_a_persons():
    pins = Rule("limit", 10, roles=("customer",), says=("never",), pin="rule")
    world = under(World(), agent(rules=(pins,))).after(core.Open("C-1", "team", "bank", "phone"))
    world = world.after(core.Say("customer", "Never ever.", "customer"), core.Pin(1, "sue"))
    world = world.after(*[core.Say("customer", f"Never {number}.", "customer") for number in range(MOST_PINS + 9)])
    kept = [pin.seq for pin in world.state.memory.pins]
    assert len(kept) == MOST_PINS
    assert 1 in kept
    assert world.state.items[-1].seq in kept


def test_pins_are_few_and_only_of_what_is_held():
    world = worlds.opened().after(*[core.Say("customer", "Hello", "customer") for _ in range(MOST_PINS)])
    world = world.after(*[core.Pin(item.seq, "sue") for item in world.state.items[:MOST_PINS]])
    with pytest.raises(TooManyPins):
        world.after(core.Pin(world.state.items[-1].seq, "sue"))
    with pytest.raises(NotHeld):
        world.after(core.Pin(0, "sue"))
    with pytest.raises(NotPinned):
        world.after(core.Unpin(world.state.items[-1].seq, "sue"))


def talked(world: World, turns: int) -> World:
    for _ in range(turns):
        world = world.after(core.Say("customer", "And then? " * 9, "customer"))
        world = memory_world.asked(world, agent(600), text="Yes.")
    return world


def test_a_pinned_message_survives_a_long_talk_and_goes_when_unpinned():
    world = talked(under(worlds.opened(), agent(600)).after(core.Pin(1, "sue")), 40)
    assert world.state.items[0].seq == 1
    world = talked(world.after(core.Unpin(1, "sue")), 12)
    assert any(summary.covers_item(1) for summary in world.state.memory.summaries)


# Groups and summaries


def test_a_call_and_its_results_are_one_group_however_late_they_come():
    items = (Item(1, "agent", "", calls=(CALL,)), said("Hm.", seq=3), result("{}", seq=9))
    assert [sorted(group.seqs) for group in grouped(items)] == [[1, 9], [3]]


def test_a_summary_tells_who_asked_what_was_done_with_what_outcome_and_what_was_decided():
    items = (
        said("Please move $4,300.00.", seq=1),
        Item(2, "agent", "", calls=(CALL,)),
        result('{"status":"rejected","reason":"too much","final":"x"}', seq=3),
    )
    assert told(grouped(items), (), 4_000) == [
        "1 customer: Please move $4,300.00.",
        "2 decided: transfer(amount USD 4300.00, to A-2) → rejected: reason too much",
    ]


def test_amounts_outlive_the_words_around_them():
    (line,) = told(grouped([said("word " * 400 + "$1,200.00", seq=1)]), (), 10)
    assert line.endswith("… [$1,200.00]")


def test_where_there_is_no_room_talk_goes_before_decisions():
    talk = [said("We talk. " * 9, seq=seq) for seq in range(4, 40)]
    items = [Item(2, "agent", "", calls=(CALL,)), result('{"status":"rejected","reason":"no"}', seq=3), *talk]
    text = summaries.written(grouped(items), (), (), ESTIMATE, 120)
    assert "2 decided: transfer" in text
    assert ESTIMATE.count(text) <= 120


@settings(max_examples=drawn(60))
@given(values)
def test_facts_of_any_json_are_one_bounded_line(value: object):
    assert isinstance(facts(value), str)
    answer = json.encode({"status": "ok", "result": value}).decode()
    (line,) = told(grouped([Item(1, "agent", "", calls=(CALL,)), result(answer)]), (), 9)
    assert "\n" not in line
    assert len(line) < 400


# What is private


def test_a_private_path_is_in_no_scratchpad_and_in_no_result_that_wrote_it():
    pad = {"customer": {"pin": "1", "name": "Ada", "cards": [{"pin": "2", "last4": "2207"}]}}
    private = ("state.customer.pin", "state.customer.cards.pin")
    assert visible(pad, private) == {"customer": {"name": "Ada", "cards": [{"last4": "2207"}]}}
    shown = result_without('{"status":"ok","result":{"pin":"1","name":"Ada"}}', "state.customer", private)
    assert msgspec.json.decode(shown) == {"status": "ok", "result": {"name": "Ada"}}
    whole = result_without('{"status":"ok","result":"1"}', "state.customer.pin", private)
    assert "1" not in msgspec.json.decode(whole)["result"]


def test_what_is_private_is_in_no_summary():
    items = (Item(2, "agent", "", calls=(CALL,)), result('{"status":"ok","result":{"pin":"9137","ok":true}}', seq=3))
    text = summaries.written(grouped(items), (), ("state.transfer.pin",), ESTIMATE, 300)
    assert "9137" not in text
    assert "ok yes" in text


# Tokens and what the provider counted


def test_the_factor_moves_towards_what_was_counted_and_stays_within_bounds():
    corrections: tuple[correction.Correction, ...] = ()
    for counted in (1_200, 1_200, 99_999_999, 1):
        corrections = correction.learned(corrections, "m", 1_000, counted)
        assert 500 <= correction.factor_for(corrections, "m") <= 2_000
    assert correction.factor_for(corrections, "other") == 1_000
    assert correction.learned((), "m", 10, 999) == ()


def test_what_the_provider_counts_changes_the_room_of_the_next_request():
    of = agent(1_000)
    world = under(worlds.opened(), of)
    for turn in range(30):
        world = world.after(core.Say("customer", f"Turn {turn}: and then? " * 4, "customer"))
        world = memory_world.asked(world, of, text="Yes.", counted=10_000)
    assert correction.factor_for(world.state.memory.corrections, "model") == 2_000
    shown = world.events(ev.ModelRequested)[-1].shown
    assert (shown.factor, shown.tokens <= 500) == (2_000, True)


def test_what_was_counted_of_another_state_is_counted_again():
    of = agent(1_000)
    world = under(worlds.opened(), of)
    for turn in range(40):
        world = world.after(core.Say("customer", f"Turn {turn}: and then? " * 4, "customer"))
    request = definition.build(of, "model", world.state)
    parts = model_request.frame(request, ESTIMATE)
    counted = model_request.frame(request, ESTIMATE, world.state.seq)
    stale = msgspec.structs.replace(counted, messages=1, summaries=0, seq=world.state.seq - 1)
    made = [world.after(core.Fit("model", frame)).history[len(world.history) :] for frame in (parts, counted, stale)]
    assert made[0] == made[1] == made[2] != []


# Settings


@settings(max_examples=drawn(150))
@given(st.dictionaries(st.sampled_from(Remembering.__struct_fields__), values, max_size=4))
def test_settings_of_any_json_are_taken_or_refused_by_name(given_settings: dict[str, object]):
    data = json.encode(given_settings)
    with suppress(BadMemory, BadPath):
        assert isinstance(remembering.load(data), Remembering)


@pytest.mark.parametrize("wrong", [{"budget": 5}, {"half_life_turns": -1}, {"counter": 1}, {"colour": "red"}])
def test_settings_that_are_wrong_name_the_field(wrong: dict[str, object]):
    with pytest.raises(BadMemory, match=next(iter(wrong)).split("_")[0]) as refused:
        remembering.load(msgspec.json.encode(wrong))
    assert refused.value.code == "bad_memory"


# Histories from before there were summaries


def test_a_history_without_summaries_folds_bounded_and_names_what_was_let_go():
    opened: list[ev.AnyEvent] = [ev.SessionOpened("C-1", "team", "bank", "phone")]
    said_then: list[ev.AnyEvent] = [ev.MessageAdded("customer", f"Words {number}") for number in range(2_000)]
    state = fold((event, "2026-11-21T03:00:00.000000Z") for event in [*opened, *said_then])
    assert len(state.items) <= LONGEST
    summaries = state.memory.summaries
    assert {(summary.method, summary.text) for summary in summaries} == {("none", "")}
    assert len(summaries) <= MOST
    covered = [seq for summary in summaries for seq in range(summary.first, summary.last + 1)]
    assert sorted([*covered, *(item.seq for item in state.items)]) == list(range(1, 2_001))


# Summaries that a model writes


def to_be_summarised() -> World:
    """A talk whose next request is too long, under an agent whose model writes the summaries."""
    world = under(worlds.opened(), agent(600, summaries="model"))
    return world.after(*[core.Say("customer", "And then? " * 30, "customer") for _ in range(9)])


FRAME = Frame(20, 0, 20)


def test_a_model_is_asked_for_the_summary_and_its_words_stand_for_the_range():
    world = to_be_summarised().after(core.Fit("small", FRAME, "s1", "d"))
    wanted = world.state.memory.wanted
    assert (wanted.step, next_action(world.state, "9").again) == ("s1", False)
    world = world.after(core.Summarise("s1", "She asks\nand asks again."))
    (summary,) = world.state.memory.summaries
    assert (summary.method, summary.covers) == ("model:small", wanted.covers)
    assert summary.text.splitlines()[0] == f"{summary.first} summary: She asks"


def test_a_lost_answer_is_asked_for_again_and_the_old_one_is_outdated():
    world = to_be_summarised().after(core.Fit("small", FRAME, "s1"), core.Fit("small", FRAME, "s2"))
    first, second = world.events(ev.SummaryRequested)
    assert (first.covers, first.digest) == (second.covers, second.digest)
    with pytest.raises(core.Outdated):
        world.after(core.Summarise("s1", "Late."))
    assert world.after(core.Summarise("s2", "In time.")).state.memory.summaries


@pytest.mark.parametrize(("text", "because"), [("", "away"), ("word " * 5_000, "")])
def test_what_a_model_cannot_say_in_the_room_there_is_is_said_by_rules(text: str, because: str):
    world = to_be_summarised().after(core.Fit("small", FRAME, "s1"), core.Summarise("s1", text, because))
    (made,) = world.events(ev.SummaryMade)
    assert made.method == "rules/1"
    assert made.because
    assert ESTIMATE.count(made.text) <= world.events(ev.SummaryRequested)[0].limit


def test_what_is_being_summarised_cannot_be_pinned_just_now():
    world = to_be_summarised().after(core.Fit("small", FRAME, "s1"))
    with pytest.raises(BeingSummarised):
        world.after(core.Pin(world.state.memory.wanted.first, "sue"))
