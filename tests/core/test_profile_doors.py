"""What comes in from outside: stored bytes, declarations, entries, values. Bad input is refused by name, quickly."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import profile
from agentstate.engine.profile import Happening
from agentstate.engine.profile import commands as ask
from agentstate.engine.profile import events as ev
from agentstate.engine.profile import refusals as no
from agentstate.engine.profile.declared import BadDeclaration
from agentstate.engine.profile.values import BadValue
from agentstate.errors import Refused
from tests.core.made import objects, record, values
from tests.core.profile_world import BANK, Customer, moment
from tests.searching import drawn

STORED = (Path(__file__).parent.parent / "vectors" / "profile_events.jsonl").read_bytes().splitlines()
MEMBERS = get_args(ev.AnyProfileEvent)
names = st.sampled_from([kind.name for kind in BANK.preferences]) | st.text(max_size=5)
parts: dict[str, Any] = msgspec.to_builtins(BANK)
_encoder = msgspec.json.Encoder(decimal_format="number")


@pytest.mark.parametrize("stored", STORED)
def test_stored_bytes_are_read_and_written_back_the_same(stored):
    assert ev.encode(ev.decode(stored)) == stored


def test_every_kind_has_stored_bytes():
    assert {json.loads(stored)["kind"] for stored in STORED} == set(ev.KINDS)
    assert len(ev.KINDS) == len(set(ev.KINDS)) == len(MEMBERS)


@pytest.mark.parametrize("member", MEMBERS)
@settings(max_examples=drawn(30))
@given(data=st.data())
def test_every_kind_is_read_back_as_it_was_written(member, data):
    event = data.draw(record(member))
    assert ev.decode(ev.encode(event)) == event


@pytest.mark.parametrize(
    "stored", [b"nothing", b"7", b"[]", b"{}", b'{"kind":"profile.burnt"}', b'{"kind":"tool.returned"}']
)
def test_what_is_no_event_of_a_profile_is_refused(stored):
    with pytest.raises(msgspec.DecodeError):
        ev.decode(stored)


@settings(max_examples=drawn(300))
@given(st.data())
def test_a_declaration_with_anything_in_it_is_loaded_or_refused(data):
    """One part of the bank's own is replaced, at any depth."""
    made = json.loads(json.dumps(parts))
    place: Any = made
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            place[key] = data.draw(values)
            break
        place = place[key]
    with suppress(BadDeclaration):
        profile.load(_encoder.encode(made))


@settings(max_examples=drawn(200))
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_bytes_of_any_kind_are_no_declaration(data):
    with pytest.raises(BadDeclaration):
        profile.load(data)


@settings(max_examples=drawn(200))
@given(
    st.sampled_from(sorted(BANK.kinds())),
    objects,
    objects,
    st.sampled_from(["transfer", "", "other"]),
    st.integers(0, 5),
)
def test_an_entry_with_anything_in_it_teaches_or_says_nothing(kind, event, arguments, tool, seq):
    customer = Customer().agrees().agrees("analytics")
    entry = Happening(seq, moment(customer.minute + 1), kind, event, tool, arguments, event)
    customer.does(ask.Learn("session", 9, (entry,)), 2)
    profile.adapt(customer.state, BANK, customer.now)
    assert profile.from_snapshot(profile.to_snapshot(customer.state)) == customer.state


@settings(max_examples=drawn(300))
@given(st.sampled_from([ask.Prefer, ask.Rate, ask.Correct, ask.Refuse, ask.Allow]), names, values)
def test_a_value_of_any_form_is_taken_or_refused_by_name(kind, name, value):
    customer = Customer().agrees()
    fields = {"preference": name, "value": value, "by": "customer", **({"fits": True} if kind is ask.Rate else {})}
    with suppress(BadValue, no.UnknownPreference, no.NothingHeld, no.NoConsent, no.LearningRefused):
        customer.does(kind(**fields))


@pytest.mark.parametrize("value", ["x" * 10**6, 10**4000, {"minor": 10**4000, "currency": "USD"}, [[]] * 10**5])
def test_a_huge_value_is_refused_at_once(value):
    began = time.process_time()
    for kind in BANK.preferences:
        with pytest.raises(Refused):
            Customer().agrees().does(ask.Prefer(kind.name, value, "customer"))
    assert time.process_time() - began < 3


def test_a_text_made_to_be_slow_for_a_pattern_teaches_as_fast_as_any():
    """The expressions' patterns take linear time (RE2): a customer cannot hold up who learns."""
    began = time.process_time()
    Customer().agrees().says("in " * 5_000 + "short")
    assert time.process_time() - began < 3
