"""Old forms of events stay readable for ever: stored bytes are never rewritten, but read as a newer form.

`vectors/events.jsonl` holds bytes of every kind in every version that was ever written; a new version adds its own and
changes none.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from agentstate.engine import events as ev
from agentstate.engine.events.base import Event
from agentstate.engine.events.upcast import Vocabulary

VECTORS = Path(__file__).parent.parent / "vectors" / "events.jsonl"
STORED = VECTORS.read_bytes().splitlines()


class Moved(Event, frozen=True, tag="money.moved"):
    """Money was moved. Once the amount was in dollars, then in cents without a currency."""

    amount: dict[str, object]
    to: str
    v: int = 3


class Noted(Event, frozen=True, tag="note.made"):
    """A note, in the only form it ever had."""

    text: str
    v: int = 1


def in_cents(form: dict[str, object]) -> dict[str, object]:
    return {"kind": form["kind"], "cents": int(Decimal(str(form["dollars"])) * 100), "to": form["to"]}


def with_currency(form: dict[str, object]) -> dict[str, object]:
    return {"kind": form["kind"], "amount": {"minor": form["cents"], "currency": "USD"}, "to": form["to"]}


UPCASTERS = {("money.moved", 1): in_cents, ("money.moved", 2): with_currency}
bank: Vocabulary[Moved | Noted] = Vocabulary(Moved | Noted, UPCASTERS)


@pytest.mark.parametrize(
    "stored",
    [
        b'{"kind":"money.moved","dollars":4300.00,"to":"9931","v":1}',
        b'{"kind":"money.moved","dollars":4300.00,"to":"9931"}',
        b'{"kind":"money.moved","cents":430000,"to":"9931","v":2}',
        b'{"kind":"money.moved","amount":{"minor":430000,"currency":"USD"},"to":"9931","v":3}',
    ],
)
def test_every_form_ever_stored_is_read_as_todays(stored):
    assert bank.decode(stored) == Moved({"minor": 430000, "currency": "USD"}, "9931")


@pytest.mark.parametrize(
    "stored",
    [
        b'{"kind":"money.moved","dollars":1,"to":"9931","v":4}',
        b'{"kind":"money.moved","dollars":1,"to":"9931","v":0}',
        b'{"kind":"money.moved","dollars":1,"to":"9931","v":true}',
        b'{"kind":"money.moved","to":"9931","v":2}',
        b'{"kind":"money.burnt","to":"9931","v":1}',
        b'{"kind":["money.moved"],"v":1}',
        b'{"v":1}',
        b"[]",
        b"7",
        b"nothing",
    ],
)
def test_what_is_no_form_of_any_version_is_refused_as_unreadable(stored):
    with pytest.raises(msgspec.DecodeError):
        bank.decode(stored)


def test_an_upcaster_leads_from_a_version_to_the_next():
    with pytest.raises(ValueError, match=r"money\.moved from 3 leads to nothing"):
        Vocabulary(Moved, {("money.moved", 3): with_currency})
    with pytest.raises(msgspec.ValidationError, match=r"nothing leads from money\.moved version 1"):
        Vocabulary(Moved, {("money.moved", 2): with_currency}).decode(b'{"kind":"money.moved","v":1}')


@pytest.mark.parametrize("stored", STORED, ids=[json.loads(line)["kind"] for line in STORED])
def test_stored_bytes_of_every_kind_are_read(stored):
    assert ev.kind_of(ev.decode(stored)) == json.loads(stored)["kind"]


def test_no_form_that_was_written_lacks_its_bytes():
    """A kind or version without stored bytes: add a line of it to the vectors, and never change one."""
    written = {(form["kind"], form["v"]) for form in map(json.loads, STORED)}
    newest = {
        (str(kind.__struct_config__.tag), field.default)
        for kind in ev.EVENTS
        for field in msgspec.structs.fields(kind)
        if field.name == "v"
    }
    assert {kind for kind, _ in newest} <= {kind for kind, _ in written}
    assert newest <= written
    assert all((kind, version) in written for kind, most in newest for version in range(1, most + 1))
