"""The five patterns of keeping state: one suite for all, and what each promises beyond it."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from agentstate.engine import decide as core
from agentstate.engine import policy
from agentstate.engine.state.session import SessionState
from agentstate.errors import Refused
from benchmarks.patterns.stores import (
    DictCells,
    DictLog,
    EventSourced,
    InMemory,
    Moved,
    Persisted,
    Stateless,
    TableCells,
    TableLog,
    Tiered,
    handle,
)

BANK = policy.load_superseded(
    (Path(__file__).parents[2] / "demo" / "bank_agent" / "library" / "policies" / "bank" / "1.json").read_bytes()
)
OPEN = core.Open("C-1001", "team", "bank", "phone")


def tables():
    """A database in memory, in autocommit."""
    return sqlite3.connect(":memory:", isolation_level=None)


def tiered() -> Tiered:
    return Tiered(DictLog(), DictCells(), hot=1, every=5)


def tiered_tables() -> Tiered:
    database = tables()
    return Tiered(TableLog(database), TableCells(database), hot=0, every=3)


SHARED = {
    "in memory": InMemory,
    "persisted": lambda: Persisted(DictCells()),
    "persisted in a table": lambda: Persisted(TableCells(tables())),
    "event sourced": lambda: EventSourced(DictLog()),
    "event sourced in a table": lambda: EventSourced(TableLog(tables())),
    "tiered": tiered,
    "tiered in tables": tiered_tables,
}
shared = pytest.mark.parametrize("make", SHARED.values(), ids=SHARED.keys())
every = pytest.mark.parametrize("make", [*SHARED.values(), Stateless], ids=[*SHARED, "stateless"])
_numbers = count(1)


def given(minute: int = 0) -> core.CommandContext:
    at = datetime(2026, 11, 21, 9, 0, tzinfo=UTC) + timedelta(minutes=minute)
    return core.CommandContext(at, lambda: f"id-{next(_numbers)}", {}, BANK)


def talk(store, session: str = "one", sentences: int = 7) -> tuple[SessionState, bytes]:
    """A conversation of that many sentences; the state at its end, and what is carried."""
    done = handle(store, session, OPEN, given())
    for number in range(sentences):
        command = core.Say("customer", f"sentence {number}", "customer")
        done = handle(store, session, command, given(number), done.carried)
    return done.state, done.carried


@every
def test_what_was_saved_is_loaded(make):
    store = make()
    state, carried = talk(store)
    assert state.messages == 7
    assert store.load("one", carried) == state


@shared
def test_all_patterns_come_to_the_same_state(make):
    assert talk(make())[0] == talk(InMemory())[0]


@shared
def test_sessions_do_not_touch_each_other(make):
    store = make()
    talk(store, "one", 2)
    talk(store, "two", 5)
    assert (store.load("one").messages, store.load("two").messages, store.load("three").messages) == (2, 5, 0)


@shared
def test_of_two_who_decided_on_the_same_state_one_is_refused_and_nothing_of_it_is_kept(make):
    store = make()
    before, _ = talk(store)
    done = handle(store, "one", core.Say("customer", "first", "customer"), given())
    with pytest.raises(Moved):
        store.save("one", before, [(event, "2026-11-21T09:00:00.000000Z") for event in done.events], done.state)
    assert store.load("one") == done.state


@shared
def test_a_command_is_decided_again_when_somebody_was_first(make):
    store = make()
    state, _ = talk(store)

    class Late:
        """Loads, once, what has become old."""

        stale = [state]

        def load(self, session, carried=b""):
            return self.stale.pop() if self.stale else store.load(session, carried)

        def save(self, *what):
            return store.save(*what)

    handle(store, "one", core.Say("customer", "first", "customer"), given())
    done = handle(Late(), "one", core.Say("customer", "second", "customer"), given())
    assert [item.text for item in done.state.items][-2:] == ["first", "second"]


@every
def test_a_refused_command_keeps_nothing(make):
    store = make()
    state, carried = talk(store)
    with pytest.raises(Refused):
        handle(store, "one", core.Say("customer", "", "customer"), given(), carried)
    assert store.load("one", carried) == state


def test_two_who_carry_the_same_state_are_not_noticed_by_a_stateless_one():
    store = Stateless()
    _, carried = talk(store)
    one = handle(store, "one", core.Say("customer", "one", "customer"), given(), carried)
    two = handle(store, "one", core.Say("customer", "two", "customer"), given(), carried)
    assert one.state.seq == two.state.seq


def test_only_the_log_gives_back_every_state_that_ever_was():
    log = DictLog()
    store = EventSourced(log)
    state, _ = talk(store, sentences=3)
    assert [store.at("one", seq).messages for seq in range(state.seq + 1)] == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("pattern", ["persisted", "event sourced", "tiered"])
def test_what_lies_in_a_file_is_there_after_a_restart(pattern, tmp_path):
    def opened():
        database = sqlite3.connect(tmp_path / "states.db", isolation_level=None)
        cells, log = TableCells(database), TableLog(database)
        return {"persisted": Persisted(cells), "event sourced": EventSourced(log), "tiered": Tiered(log, cells)}[
            pattern
        ]

    state, _ = talk(opened())
    assert opened().load("one") == state


def test_a_lost_tier_costs_time_and_no_truth():
    log, cells = DictLog(), DictCells()
    state, _ = talk(Tiered(log, cells, every=3))
    assert Tiered(log, DictCells()).load("one") == state
    assert Tiered(log, cells, hot=0).load("one") == state
