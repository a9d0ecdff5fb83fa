"""Events are stored once, as bytes: what is read back is what was written, for every kind and every number."""

from __future__ import annotations

import json
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import events as ev
from tests.core.made import EVENTS, objects
from tests.searching import drawn


@pytest.mark.parametrize("kind", ev.KINDS)
def test_every_kind_is_read_back_as_it_was_written(kind):
    @settings(max_examples=drawn(40))
    @given(event=EVENTS[kind])
    def law(event: ev.AnyEvent) -> None:
        data = ev.encode(event)
        assert ev.decode(data) == event
        assert ev.encode(ev.decode(data)) == data
        assert json.loads(data)["kind"] == ev.kind_of(event) == kind

    law()


@pytest.mark.parametrize("text", ["1.10", "0.1", "4300.00", "1E+22", "-0.000", "123456789012345678901234567890.12345"])
def test_a_number_keeps_the_exact_text_in_which_it_arrived(text):
    data = b'{"kind":"tool.returned","call":"c","attempt":1,"result":{"x":%s}}' % text.encode()
    event = ev.decode(data)
    assert isinstance(event, ev.ToolReturned)
    assert event.result["x"].as_tuple() == Decimal(text).as_tuple()
    assert b'"x":' + text.encode() in ev.encode(event)


def test_integers_of_any_size_stay_exact():
    event = ev.ToolReturned("c", 1, {"n": 2**53 + 1, "m": -(10**30)})
    assert ev.decode(ev.encode(event)) == event


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"kind":"tool.undone"}',
        b'{"kind":"run.started","run":"r"}',
        b'{"kind":"run.started","run":"r","trigger":"t","more":1}',
        b'{"kind":"run.started","run":5,"trigger":"t"}',
        b'{"kind":"message.added","role":"root","text":"t"}',
        b'{"kind":"run.started","run":"\xff","trigger":"t"}',
        b'{"kind":"request.ended","request":"r","outcome":"approved"',
    ],
)
def test_what_is_no_known_event_is_refused(data):
    with pytest.raises((msgspec.MsgspecError, UnicodeDecodeError)):
        ev.decode(data)


@settings(max_examples=drawn(60))
@given(objects)
def test_a_digest_does_not_depend_on_the_order_of_keys(value):
    assert ev.digest(dict(reversed(value.items()))) == ev.digest(value)


@settings(max_examples=drawn(60))
@given(objects, objects)
def test_different_values_have_different_digests(one, other):
    assert (ev.digest(one) == ev.digest(other)) == (canonical(one) == canonical(other))


def canonical(value: object) -> str:
    """JSON by another encoder, with numbers as text."""
    return json.dumps(value, sort_keys=True, default=lambda number: {"": str(number)}, ensure_ascii=False)


@settings(max_examples=drawn(60))
@given(objects, st.sampled_from(["arguments", "basis"]))
def test_a_digest_is_the_same_before_and_after_storage(value, call):
    event = ev.ToolReturned(call, 1, value)
    read = ev.decode(ev.encode(event))
    assert isinstance(read, ev.ToolReturned)
    assert ev.digest(read.result) == ev.digest(value)
