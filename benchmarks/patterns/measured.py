"""What is measured of each pattern, on files of its own in a directory that vanishes.

Speed: a step (a customer's message through load, decide, evolve, save) late in a conversation. Persistence: what a new
process finds. Scalability: of two writers who decided on the same state, whether one is told. Debuggability: how many
of the past states can be had again.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from statistics import median

import msgspec

from agentstate.engine import decide as core
from benchmarks.engine.talks import AGENT, BANK, OPEN, START
from benchmarks.patterns import stores
from benchmarks.patterns.stores import Handled, Store, handle

SESSION = "one"
AT = "2026-11-21T09:00:00.000000Z"
PATTERNS = ("stateless", "in memory", "persisted", "event sourced", "tiered")


class Figures(msgspec.Struct, frozen=True):
    """Of one pattern: milliseconds of a step early and late, what a new process finds, and so on."""

    pattern: str
    early: float
    late: float
    found: int  # messages that another process finds
    told: bool  # whether the second of two writers learns of the first
    past: int  # of about twenty past states, those that can be had again


def opened(path: Path) -> sqlite3.Connection:
    """The file, durable: every commit is synced."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def store_of(pattern: str, path: Path) -> Store:
    """The pattern over that file; those that keep nothing outside of the process open none."""
    match pattern:
        case "stateless":
            return stores.Stateless()
        case "in memory":
            return stores.InMemory()
        case "persisted":
            return stores.Persisted(stores.TableCells(opened(path)))
        case "event sourced":
            return stores.EventSourced(stores.TableLog(opened(path)))
        case _:
            database = opened(path)
            return stores.Tiered(stores.TableLog(database), stores.TableCells(database))


def measured(folder: Path, messages: int, samples: int) -> Iterator[Figures]:
    """Every pattern through the same conversation. They take turns, message by message."""
    kept = {pattern: store_of(pattern, folder / f"{pattern}.db") for pattern in PATTERNS}
    done = {pattern: handle(store, SESSION, OPEN, given(0)) for pattern, store in kept.items()}
    taken: dict[str, list[float]] = {pattern: [] for pattern in PATTERNS}
    for number in range(messages):
        for pattern, store in kept.items():
            began = time.perf_counter()
            done[pattern] = said(store, number, done[pattern])
            taken[pattern].append(1000 * (time.perf_counter() - began))
    for pattern, store in kept.items():
        state = done[pattern].state
        yield Figures(
            pattern,
            median(taken[pattern][:samples]),
            median(taken[pattern][-samples:]),
            found_elsewhere(pattern, folder / f"{pattern}.db"),
            second_is_told(store, done[pattern]),
            past_states(pattern, folder / f"{pattern}.db", state.seq),
        )


def given(number: int) -> core.CommandContext:
    """What the outside hands to a step."""
    numbers = count()
    at = START + timedelta(seconds=number)
    return core.CommandContext(at, lambda: f"id-{number}-{next(numbers)}", {}, BANK, AGENT.memory)


def said(store: Store, number: int, before: Handled) -> Handled:
    """One message of the customer."""
    command = core.Say("customer", f"And what about ${number}.00, please?", "customer")
    return handle(store, SESSION, command, given(number), before.carried)


def found_elsewhere(pattern: str, path: Path) -> int:
    """How many messages a new process finds."""
    words = [sys.executable, "-m", "benchmarks.patterns.elsewhere", pattern, str(path)]
    answer = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return int(answer.stdout)


def second_is_told(store: Store, done: Handled) -> bool:
    """Two decide on the same state; whether the second save is refused."""
    before = store.load(SESSION, done.carried)
    first = said(store, 10_001, done)
    try:
        store.save(SESSION, before, [(event, AT) for event in first.events], first.state)
    except stores.Moved:
        return True
    return False


def past_states(pattern: str, path: Path, events: int) -> int:
    """Of the states after each event, those that can be had again from what is kept."""
    if pattern not in ("event sourced", "tiered"):
        return 1
    log = stores.EventSourced(stores.TableLog(opened(path)))
    return sum(log.at(SESSION, seq).seq == seq for seq in range(1, events + 1, max(1, events // 20)))


def raw_commit(folder: Path, data: bytes, times: int) -> float:
    """Milliseconds of one synced commit of such bytes in such a file: the limit of all that are durable."""
    connection = opened(folder / "raw.db")
    connection.execute("CREATE TABLE raw (id INTEGER PRIMARY KEY, data BLOB NOT NULL)")
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        connection.execute("INSERT INTO raw (data) VALUES (?)", (data,))
        taken.append(1000 * (time.perf_counter() - began))
    return median(taken)
