"""Concurrent change: what two who did not know of each other wrote becomes one state, or a refusal that says where."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from agentstate.engine.merge import three_way
from agentstate.engine.merge.rules import NO_RULES, BadMergeRule, PathRule, Rules, checked, declared_by
from agentstate.engine.merge.three_way import BadChange, Merge, PathChange, Versions, written
from agentstate.engine.merge.types import MAX_ELEMENTS, NotMergeable
from agentstate.engine.schemas.declared import declare
from agentstate.engine.schemas.refusals import BreaksSchema
from agentstate.engine.scratchpad import BadPath

USD = "USD"
DECLARED = Rules(
    (
        PathRule("state.used", merge="counter"),
        PathRule("state.flags", merge="set"),
        PathRule("state.notes", merge="list"),
        PathRule("state.highest", merge="maximum"),
        PathRule("state.earliest", merge="minimum"),
        PathRule("state.nickname", merge="last"),
        PathRule("state.limits", clash="vote", quorum=3),
        PathRule("state.limits.daily", clash="arbiter"),
    )
)


def change(path: str, value: Any) -> PathChange:
    return PathChange(f"state.{path}", value)


def merged(base: dict, now: dict, *changes: PathChange, rules: Rules = DECLARED, marks: Any = {}) -> Merge:  # noqa: B006
    return three_way.merge(changes, "c-1", Versions(base, now, 4, 9, marks), rules)


def after(base: dict, now: dict, *changes: PathChange) -> dict:
    outcome = merged(base, now, *changes)
    assert not outcome.clashes
    return written(now, outcome.writes)


def money(minor: int) -> dict:
    return {"minor": minor, "currency": USD}


def test_what_nobody_else_touched_is_as_it_was_wanted():
    assert after({"a": 1}, {"a": 1, "b": 5}, change("a", 2)) == {"a": 2, "b": 5}


def test_two_fill_in_one_form():
    base = {"address": {"city": "Oslo", "street": "Havnegata 1"}}
    now = {"address": {"city": "Bergen", "street": "Havnegata 1"}}
    wanted = change("address", {"city": "Oslo", "street": "Havnegata 2"})
    assert after(base, now, wanted) == {"address": {"city": "Bergen", "street": "Havnegata 2"}}


def test_two_begin_the_same_form():
    assert after({}, {"address": {"city": "Oslo"}}, change("address", {"street": "Havnegata 2"})) == {
        "address": {"city": "Oslo", "street": "Havnegata 2"}
    }


def test_both_wanted_the_same():
    assert merged({"a": 1}, {"a": 2}, change("a", 2)) == Merge()


def test_a_clash_without_a_rule_is_refused_and_names_all_three_values():
    (clash,) = merged({"a": 1}, {"a": 2}, change("a", 3)).clashes
    assert (clash.path, clash.base, clash.ours, clash.theirs) == ("state.a", (1,), (3,), (2,))
    assert clash.becomes.rule == "refuse"


def test_one_and_true_are_two_values():
    assert merged({"a": 1}, {"a": True}, change("a", 2)).clashes
    assert after({"a": 1}, {"a": 1}, change("a", True)) == {"a": True}


def test_removing_what_another_changed_is_a_clash():
    (clash,) = merged({"a": 1}, {"a": 2}, PathChange("state.a", remove=True)).clashes
    assert (clash.ours, clash.theirs) == ((), (2,))
    assert written({"a": 1, "b": 2}, merged({"a": 1}, {"a": 1}, PathChange("state.a", remove=True)).writes) == {"b": 2}


def test_a_value_that_now_stands_where_an_object_was_is_a_clash():
    (clash,) = merged({"a": {}}, {"a": 7}, change("a.b", 1)).clashes
    assert (clash.path, clash.theirs) == ("state.a.b", (7,))


def test_the_nearest_rule_says_what_becomes_of_a_clash():
    now = {"limits": {"daily": 2, "weekly": 2}}
    clashes = merged({}, now, change("limits", {"daily": 3, "weekly": 3})).clashes
    assert {clash.path: (clash.becomes.rule, clash.becomes.quorum) for clash in clashes} == {
        "state.limits.daily": ("arbiter", 2),
        "state.limits.weekly": ("vote", 3),
    }


def test_a_counter_adds_what_each_added():
    assert after({"used": 5}, {"used": 8}, change("used", 6)) == {"used": 9}
    assert after({"used": money(500)}, {"used": money(800)}, change("used", money(400))) == {"used": money(700)}
    assert after({"used": Decimal("0.10")}, {"used": Decimal("0.30")}, change("used", 1)) == {"used": Decimal("1.20")}


def test_two_who_count_the_same_thing_are_both_counted():
    assert after({"used": 5}, {"used": 6}, change("used", 6)) == {"used": 7}


def test_a_set_keeps_what_either_added_and_drops_what_either_saw_and_removed():
    assert after({"flags": ["a", "b"]}, {"flags": ["a", "b", "c"]}, change("flags", ["a", "d"])) == {
        "flags": ["a", "c", "d"]
    }


def test_what_was_added_again_after_it_was_seen_is_not_removed():
    first = merged({"flags": []}, {"flags": []}, change("flags", ["vip"]))
    again = {"state.flags": first.writes[0].marks}
    removal = three_way.merge(
        [change("flags", [])], "c-2", Versions({"flags": ["vip"]}, {"flags": ["vip"]}, 9, 12, again), DECLARED
    )
    assert not removal.writes  # it had seen nine entries, and the addition is the tenth
    later = three_way.merge(
        [change("flags", [])], "c-2", Versions({"flags": ["vip"]}, {"flags": ["vip"]}, 10, 12, again), DECLARED
    )
    assert later.writes[0].value == []


def test_a_list_takes_what_both_appended_and_nothing_else():
    assert after({"notes": ["a"]}, {"notes": ["a", "b"]}, change("notes", ["a", "c"])) == {"notes": ["a", "b", "c"]}
    with pytest.raises(NotMergeable, match=r"state\.notes is a list: elements are appended"):
        merged({"notes": ["a"]}, {"notes": ["a"]}, change("notes", ["b"]))


def test_the_greater_and_the_smaller_win_and_the_other_is_told():
    (write,) = merged({"highest": 1}, {"highest": 5}, change("highest", 3)).writes
    assert (write.value, write.lost) == (5, (3,))
    (write,) = merged({"earliest": "2026-05"}, {"earliest": "2026-03"}, change("earliest", "2026-01")).writes
    assert (write.value, write.lost) == ("2026-01", ("2026-03",))


def test_the_last_writer_is_who_had_seen_more():
    one = merged({}, {"nickname": "Bo"}, change("nickname", "Bob"))
    assert (one.writes[0].value, one.writes[0].lost) == ("Bob", ("Bo",))
    marks = {"state.nickname": one.writes[0].marks}
    late = three_way.merge(
        [change("nickname", "Robert")], "c-0", Versions({}, {"nickname": "Bob"}, 2, 12, marks), DECLARED
    )
    assert (late.writes[0].value, late.writes[0].lost) == ("Bob", ("Robert",))


@pytest.mark.parametrize(
    ("path", "base", "value"),
    [
        ("used", 1, "two"),
        ("used", 1, True),
        ("used", {"minor": 1, "currency": "EUR"}, {"minor": 1, "currency": "USD"}),
        ("used", Decimal("1E+400"), Decimal("1.1")),
        ("flags", ["a"], "a"),
        ("flags", [], list(range(MAX_ELEMENTS + 1))),
        ("notes", [], list(range(MAX_ELEMENTS + 1))),
        ("highest", 1, "two"),
        ("highest", {"minor": 1, "currency": "EUR"}, {"minor": 1, "currency": "USD"}),
    ],
)
def test_what_does_not_fit_its_type_is_refused_with_path_and_rule(path, base, value):
    with pytest.raises(NotMergeable) as refused:
        merged({path: base}, {path: base}, change(path, value))
    assert refused.value.facts["path"] == f"state.{path}"
    assert refused.value.facts["rule"] == DECLARED.kind_of(f"state.{path}")


def test_what_merges_is_not_removed():
    with pytest.raises(NotMergeable, match="cannot be removed"):
        merged({"used": 1}, {"used": 1}, PathChange("state.used", remove=True))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ([], BadChange),
        ([change("a", 1), change("a.b", 2)], BadChange),
        ([change("a", 1), change("a", 2)], BadChange),
        ([change(f"p{n}", n) for n in range(201)], BadChange),
        ([PathChange("nowhere", 1)], BadPath),
        ([PathChange("state." + ".".join("a" * 40), 1)], BadPath),
        ([change("a", 0.5)], BreaksSchema),
        ([change("a", Decimal("NaN"))], BreaksSchema),
        ([change("a", {1: 2})], BreaksSchema),
        ([change("a", "\ud800")], BreaksSchema),
        ([change("a", [0] * 30_000)], BreaksSchema),
    ],
)
def test_a_malformed_change_is_refused(changes, error):
    with pytest.raises(error):
        three_way.merge(changes, "c", Versions({}, {}, 0, 0), DECLARED)


def test_a_value_of_ten_thousand_levels_is_refused():
    deep: Any = 1
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(BreaksSchema, match="max_depth"):
        merged({}, {}, change("a", deep))


def test_an_amount_that_two_added_to_is_the_same_in_every_order():
    def arrival(order: tuple[int, ...]) -> dict:
        pad: dict = {"used": money(100)}
        for number in order:
            outcome = three_way.merge(
                [change("used", money(100 + number))], f"c{number}", Versions({"used": money(100)}, pad, 0, 0), DECLARED
            )
            pad = written(pad, outcome.writes)
        return pad

    assert {arrival(order)["used"]["minor"] for order in permutations([1, 10, 1000])} == {1111}


def test_a_schema_declares_how_its_fields_merge():
    schema = {
        "type": "object",
        "properties": {
            "used": {"type": "integer", "x-merge": "counter"},
            "limits": {
                "type": "object",
                "x-merge": {"clash": "vote", "quorum": 3},
                "additionalProperties": {"$ref": "#/$defs/limit"},
            },
        },
        "$defs": {"limit": {"properties": {"tags": {"type": "array", "x-merge": "set"}}}},
    }
    rules = declared_by(declare("bank", 1, schema))
    assert rules.kind_of("state.used") == "counter"
    assert rules.kind_of("state.limits.any.tags") == "set"
    assert rules.clash_of("state.limits.any.name") == rules.clash_of("state.limits")
    assert rules.clash_of("state.limits").quorum == 3
    assert declared_by(declare("bank", 1, {"type": "object"})) == NO_RULES


@pytest.mark.parametrize(
    "word", ["average", {"clash": "fight"}, {"clash": "vote", "quorum": 0}, {"merge": ["set"]}, {"x": 1}]
)
def test_a_rule_that_nobody_knows_is_refused(word):
    with pytest.raises(BadMergeRule, match=r"state\.a"):
        declared_by(declare("bank", 1, {"type": "object", "properties": {"a": {"x-merge": word}}}))


def test_a_path_is_declared_once():
    with pytest.raises(BadMergeRule, match="twice"):
        checked((PathRule("state.a", merge="set"), PathRule("state.a", merge="list")))
