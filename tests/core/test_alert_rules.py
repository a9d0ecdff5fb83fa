"""Alert rules: what makes each kind hit, what ends its alerts, and what no rule may say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.guards import BadGuard
from agentstate.engine.instants import parse, stamp
from sessions.automation.alerts import definition, documents, matches, phrases
from sessions.automation.alerts.definition import BadRule, Definition
from sessions.automation.alerts.view import COUNTED, Level, Told, View
from tests.core import worlds
from tests.core.worlds import World, decision, transfer


def rule(on: dict[str, Any], **more: Any) -> Definition:
    return definition.load({"on": on, **more})


def view(world: World, *, since: int = 0, later: float = 0, **more: Any) -> View:
    """The session so many seconds after its last entry; fresh are its entries from `since` on."""
    told = tuple(Told(n, at, ev.kind_of(event), "x", event) for n, (event, at) in enumerate(world.history))
    now = parse(world.history[-1][1]) + timedelta(seconds=later)
    counted = tuple(each for each in told if each.kind in COUNTED)
    return View("s", world.state, now, told[since:], counted, **more)


def hit(on: dict[str, Any], seen: View, **more: Any) -> list[tuple[str, str]]:
    return [(each.about, each.why) for each in matches.found(rule(on, **more), seen)]


def said(*texts: str) -> World:
    return worlds.opened().after(*(core.Say("customer", text, "customer") for text in texts))


# --- phrases ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words", "match", "found"),
    [
        ("I will call my LAWYER!", ["lawyer"], "any", True),
        ("lawyers are fine", ["lawyer"], "any", False),
        ("Das ist eine Beschwérde.", ["beschwerde"], "any", True),
        ("close -- my,\naccount", ["close my account"], "any", True),
        ("my account, close it", ["close my account"], "any", False),
        ("a fraud and a scam", ["fraud", "scam"], "all", True),
        ("a fraud", ["fraud", "scam"], "all", False),
        ("Stop!", ["stop"], "exact", True),
        ("please stop", ["stop"], "exact", False),
        ("STRASSE", ["straße"], "any", True),
        ("", ["x"], "any", False),
    ],
)
def test_words_are_heard_as_whole_words_whatever_their_case_and_accents(text, words, match, found):
    assert phrases.heard(text, words, match) is found


@given(text=st.text(max_size=200), phrase=st.text(min_size=1, max_size=30))
def test_a_phrase_is_heard_in_every_text_that_holds_it_between_spaces(text, phrase):
    if phrases.folded(phrase):
        assert phrases.heard(f"{text} {phrase} {text}", [phrase], "any")


def test_a_phrase_of_the_customer_hits_once_for_each_message_and_nobody_elses_words_do():
    world = said("I want to complain", "hello", "a complaint")
    on = {"phrase": {"words": ["complain", "complaint"]}}
    assert len(matches.found(rule(on), view(world))) == 2
    assert hit({"phrase": {"words": ["complain"], "by": ["agent"]}}, view(world)) == []
    assert hit(on, view(world), when="session.channel == 'fax'") == []
    assert hit(on, view(world), when="event.data.text.contains('want')") == [("", "phrase")]


def test_a_condition_that_cannot_be_read_is_no_yes():
    assert hit({"phrase": {"words": ["hello"]}}, view(said("hello")), when="state.nothing.there > 3") == []


def test_a_rule_of_other_agents_or_channels_sees_nothing():
    seen, on = view(said("hello")), {"phrase": {"words": ["hello"]}}
    agent = seen.state.opened.agent
    assert hit(on, seen, agents=[agent])
    assert hit(on, seen, agents=["other"]) == hit(on, seen, channels=["fax"]) == []


# --- time ---------------------------------------------------------------------------------------------------


def test_silence_is_somebodys_whose_turn_it_is_and_ends_with_their_words():
    ours, theirs = {"silence": {"seconds": 60}}, {"silence": {"seconds": 60, "whose": "customer"}}
    world = said("hello")
    assert hit(ours, view(world, later=59)) == []
    assert hit(ours, view(world, later=60)) == [("", "silence")]
    assert hit(theirs, view(world, later=600)) == []
    answered = world.asked(text="Good morning")
    assert matches.over(rule(ours), "", -1, view(answered)) == "spoke_again"
    assert matches.next_due(rule(ours), view(world)) == parse(stamp(view(world).now)) + timedelta(seconds=60)


def test_a_paused_or_ended_session_is_not_silent():
    world = said("hello")
    for after in (world.after(core.Pause("wait", "user:sue")), world.after(core.End("bye", "customer"))):
        assert hit({"silence": {"seconds": 1}}, view(after, later=999)) == []


def test_a_request_near_its_deadline_hits_until_it_is_decided():
    world = worlds.waiting()
    request = next(iter(world.state.requests.values()))
    left = (parse(request.asked.expires_at) - parse(request.at)).total_seconds()
    on, about = {"deadline": {"percent": 25}}, request.asked.request
    due = matches.next_due(rule(on), view(world))
    assert due == parse(request.at) + timedelta(seconds=left * 0.75)
    assert hit(on, view(world, later=left * 0.75 - 1)) == []
    assert hit(on, view(world, later=left * 0.75 + 1)) == [(about, "deadline_near")]
    assert hit({"deadline": {"seconds": int(left) + 99}}, view(world)) == [(about, "deadline_near")]
    assert hit({"deadline": {"seconds": 60, "tiers": [1]}}, view(world, later=left - 1)) == []
    decided = world.after(decision(world, "approve", "ann"))
    assert matches.over(rule(on), about, -1, view(decided)) == "decided"


def test_a_request_that_nobody_decided_hits_once_it_has_expired():
    world = worlds.waiting()
    request = next(iter(world.state.requests))
    assert hit({"expired": {}}, view(world.after(core.Expire(request)))) == [(request, "expired")]
    assert hit({"expired": {"tiers": [0]}}, view(world.after(core.Expire(request)))) == []


def test_a_customer_who_asks_for_a_person_hits_until_one_comes():
    world = worlds.opened().after(core.AskForPerson("api", "customer", "pressed the button"))
    on = {"person": {"seconds": 30}}
    assert hit(on, view(world)) == []
    assert hit(on, view(world, later=30)) == [("", "wants_person")]
    taken = world.after(core.TakeOver("user:sue"))
    assert matches.over(rule(on), "", -1, view(taken)) == "taken_over"
    assert matches.over(rule(on), "", -1, view(world.after(core.NoPersonNeeded("x", "customer")))) == "withdrawn"


# --- what goes wrong ----------------------------------------------------------------------------------------


def failed_calls(times: int) -> World:
    world = worlds.opened()
    for _ in range(times):
        world = world.asked(worlds.proposed("load_customer", "state.customer"))
        call = list(world.state.calls.values())[-1]
        world = world.after(core.Begin(call.id), core.Fail(call.id, call.attempt + 1, "no such service", False))
    return world


def test_a_tool_that_fails_again_and_again_hits_from_the_last_of_so_many_on():
    on = {"tool": {"count": 2, "seconds": 600}}
    assert hit(on, view(failed_calls(1))) == []
    assert hit(on, view(failed_calls(2))) == [("load_customer", "tool_failed")]
    assert hit({"tool": {"count": 2, "seconds": 1}}, view(failed_calls(2))) == []
    assert hit({"tool": {"tool": "transfer", "count": 1}}, view(failed_calls(2))) == []


def test_what_was_looked_at_before_is_counted_and_hits_no_more():
    world = failed_calls(2)
    assert hit({"tool": {"count": 2}}, view(world, since=len(world.history))) == []


def test_a_call_that_failed_for_good_hits_once_the_agent_is_at_rest_and_ends_when_the_tool_works():
    world = failed_calls(1).asked(text="I cannot find you").after(core.Rest("customer"))
    on = {"unrecovered": {"seconds": 30}}
    call = next(iter(world.state.calls))
    assert hit(on, view(world, later=29)) == []
    assert hit(on, view(world, later=30)) == [(call, "not_recovered")]
    again = world.after(core.Say("customer", "try again", "customer"))
    again = again.asked(worlds.proposed("load_customer", "state.customer")).ran_last({"name": "Jane"})
    assert matches.over(rule(on), call, -1, view(again)) == "went_on"


def test_refusals_and_rejections_are_counted_together():
    world = worlds.waiting()
    rejected = world.after(decision(world, "reject", "ann"))
    again = rejected.asked(transfer(100_000))
    assert hit({"refused": {"count": 2}}, view(again)) == [("", "refused_often")]
    assert hit({"refused": {"count": 3}}, view(again)) == []


def test_refusals_of_one_code_are_counted_by_themselves():
    world = worlds.waiting().after(decision(worlds.waiting(), "reject", "ann"))
    world = world.asked(transfer(100_000)).asked(worlds.proposed("authorize", _delegate="anonymous"))
    assert hit({"refused": {"count": 1, "codes": ["not_offered"]}}, view(world)) == [("", "refused_often")]
    assert hit({"refused": {"count": 2, "codes": ["not_offered"]}}, view(world)) == []
    assert hit({"refused": {"count": 2, "codes": ["not_offered", "refused_before"]}}, view(world)) == [
        ("", "refused_often")
    ]


def test_what_is_stuck_hits_and_ends_with_it():
    seen = view(said("hello"), stalled="failing KeyError", stalled_at=worlds.START, later=90)
    assert hit({"stuck": {"seconds": 60}}, seen) == [("stalled", "stuck")]
    assert hit({"stuck": {"reasons": ["doubted"]}}, seen) == []
    assert matches.over(rule({"stuck": {}}), "stalled", -1, view(said("hello"))) == "went_on"


def test_a_service_level_hits_when_it_is_at_risk_and_when_it_is_missed():
    world = said("hello")
    now = view(world).now
    level = Level("l", "first", "", 2, now - timedelta(seconds=1), now + timedelta(seconds=9))
    assert hit({"level": {"at": "risk"}}, view(world, levels=(level,))) == [("l", "sla_at_risk")]
    assert hit({"level": {}}, view(world, levels=(level,))) == []
    assert hit({"level": {}}, view(world, levels=(level,), later=9)) == [("l", "sla_missed")]
    assert matches.over(rule({"level": {}}), "l", -1, view(world)) == "settled"


def test_any_entry_hits_under_a_condition():
    on = {"entry": {"kinds": ["session.opened"]}}
    assert hit(on, view(said("x")), when="event.data.customer == 'C-1'") == [("", "condition")]


def test_a_rule_that_does_not_close_leaves_it_to_people():
    world = said("x").after(core.End("bye", "customer"))
    on = {"phrase": {"words": ["x"]}}
    assert matches.over(rule(on), "", 1, view(world)) == "ended"
    assert matches.over(rule(on, closes=False), "", 1, view(world)) == ""


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", definition.KINDS)
def test_every_kind_of_rule_is_written_as_it_was_read(kind):
    on = {
        "phrase": {"words": ["x"]},
        "silence": {"seconds": 5},
        "deadline": {"seconds": 5},
        "entry": {"kinds": ["session.opened"]},
    }
    found = rule({kind: on.get(kind, {})})
    assert definition.load(definition.dump(found)) == found


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"on": {}},
        {"on": {"loop": {}, "stuck": {}}},
        {"on": {"phrase": {"words": []}}},
        {"on": {"phrase": {"words": ["!!!"]}}},
        {"on": {"phrase": {"words": ["x"] * 101}}},
        {"on": {"phrase": {"words": ["a b c d e f g h i j k l m"]}}},
        {"on": {"phrase": {"words": ["x"], "by": []}}},
        {"on": {"phrase": {"words": ["x"], "match": "regex"}}},
        {"on": {"silence": {"seconds": 0}}},
        {"on": {"silence": {"seconds": 10**9}}},
        {"on": {"deadline": {}}},
        {"on": {"deadline": {"percent": 100}}},
        {"on": {"deadline": {"seconds": 5, "tiers": [9]}}},
        {"on": {"tool": {"count": 0}}},
        {"on": {"entry": {"kinds": ["alert.raised"]}}},
        {"on": {"entry": {"kinds": ["no.such"]}}},
        {"on": {"loop": {"circles": False, "stops": False}}},
        {"on": {"stuck": {"reasons": []}}},
        {"on": {"loop": {}}, "more": 1},
        {"on": {"loop": {}}, "severity": "panic"},
        {"on": {"loop": {}}, "to": []},
        {"on": {"loop": {}}, "to": ["everybody"]},
        {"on": {"loop": {}}, "to": ["role:king"]},
        {"on": {"loop": {}}, "to": ["user:a b"]},
        {"on": {"loop": {}}, "chain": [{"after": 60, "to": ["owner"]}, {"after": 60, "to": ["owner"]}]},
        {"on": {"loop": {}}, "chain": [{"after": 60, "to": []}]},
        {"on": {"loop": {}}, "cool_down": -1},
        {"on": {"loop": {}}, "agents": ["x" * 61]},
        {"on": {"phrase": {"words": ["x" * 200] * 99}}},
        [],
        "loop",
        7,
    ],
)
def test_a_hostile_rule_is_refused(bad):
    with pytest.raises(BadRule) as refused:
        definition.load(bad)
    assert refused.value.code == "bad_alert_rule"


@pytest.mark.parametrize("when", ["1 + 1", "event.", "nobody.knows", "x" * 3000])
def test_a_condition_that_is_no_question_is_refused(when):
    with pytest.raises(BadGuard):
        definition.load({"on": {"loop": {}}, "when": when})


def test_what_is_shipped_is_sound():
    found = documents.shipped()
    assert {what for what, _, _ in found} == {"rule", "target", "calendar"}
    assert all(documents.checked(what, data) for what, _, data in found)
