"""The difference of two states: a patch that makes one of the other, and changes that can be said."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import decide as core
from agentstate.engine.merge.values import same
from agentstate.engine.schemas.refusals import BreaksSchema
from agentstate.engine.state.session import SessionState
from agentstate.engine.versions.difference import MAX_STEPS, Voice, applied, difference, patch, sentences, view
from tests.core import worlds
from tests.core.made import objects, values
from tests.searching import drawn

likely = st.recursive(
    st.sampled_from([0, 1, True, False, None, "", "a", Decimal("1.0"), Decimal("1.00")]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab/~0"), inner, max_size=3),
    max_leaves=10,
)
READ, WRITE = msgspec.json.Decoder(float_hook=Decimal), msgspec.json.Encoder(decimal_format="number")
PLAIN = Voice(lambda name: name, str)


views = objects | st.dictionaries(st.sampled_from("abc"), likely)


@settings(max_examples=drawn(300))
@given(before=views, after=views)
def test_applying_the_patch_to_one_gives_the_other(before, after):
    found = difference(before, after)
    assert same(applied(found.patch, before), after)
    assert bool(found.patch) == bool(found.changes) == (not same(before, after))


@settings(max_examples=drawn(100))
@given(before=values, after=values)
def test_the_patch_is_one_that_others_understand(before, after):
    steps = READ.decode(WRITE.encode(patch({"v": before}, {"v": after})))
    assert all(step["op"] in {"add", "remove", "replace", "move"} for step in steps)
    assert same(jsonpatch.apply_patch({"v": before}, steps), {"v": after})


def test_a_difference_of_everything_is_one_step():
    many = {str(number): number for number in range(MAX_STEPS + 1)}
    assert patch({}, many) == [{"op": "replace", "path": "", "value": many}]
    assert same(applied(patch({}, many), {}), many)


def test_a_step_of_a_session_is_told_place_by_place():
    before = worlds.waiting()
    after = before.after(worlds.decision(before, "approve", "sue"))
    found = difference(view(before.state), view(after.state))
    call, request = before.call("transfer").id, before.request.asked.request
    assert {".".join(change.path) for change in found.changes} == {
        f"calls.{call}.status",
        f"requests.{request}.status",
        "status",
    }
    assert f"calls.{call}.status: ready, was waiting" in sentences(found, PLAIN)


def test_money_is_one_value():
    was, now = {"limit": {"minor": 1, "currency": "USD"}}, {"limit": {"minor": 2, "currency": "USD"}}
    (change,) = difference(was, now).changes
    assert change.path == ("limit",)
    assert sentences(difference(was, {}), PLAIN) == ["limit: removed, was {'minor': 1, 'currency': 'USD'}"]
    assert sentences(difference({}, now), PLAIN) == ["limit: {'minor': 2, 'currency': 'USD'}, new"]


def test_words_are_counted_and_never_shown():
    before = worlds.opened()
    after = before.after(core.Say("customer", "My secret", "customer"))
    assert "secret" not in str(difference(view(before.state), view(after.state)))
    assert view(after.state)["messages"] == 2


def test_a_state_that_is_too_deep_to_compare_is_refused():
    deep: Any = 1
    for _ in range(500):
        deep = {"a": deep}
    with pytest.raises(BreaksSchema, match="max_depth"):
        view(msgspec.structs.replace(SessionState(), pad=deep))
