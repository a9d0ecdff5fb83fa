"""The sequencer: rounds and head maps beside many sessions, how long heads wait beside eight writers, and what it costs
them. The signer and (for lag and cost) the sequencer are processes of their own, as `manage.py up` runs them.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection

from agentstate.stack import programs
from agentstate.stack.children import Program
from audit import sequencer, signer
from benchmarks.ground import Ground
from benchmarks.ledger import appends
from benchmarks.ledger.sequenced import begin, fill, grow
from benchmarks.rounds import Cell, interleaved, paired, percentile, speed
from benchmarks.rounds import Size as Rounds
from benchmarks.rows import Goal, Row, against

GROUP = "ledger"
WRITERS = 8
LAG, ROUND = 100.0, 400.0  # ms: what the issue asks
WITHIN = Goal(1.0, at_least=False)
COST = Goal(0.9, at_least=True)  # of the throughput without a sequencer
PROOFS = Goal(2.0, at_least=False)  # of a round that proves nothing


@dataclass(frozen=True)
class Size:
    """Sessions in the table, heads of a small and of a large round, how often each is repeated, seconds of a soak, and
    the rounds of the cost.
    """

    sessions: int
    heads: tuple[int, int]
    repeated: int
    proved: tuple[tuple[int, int], ...]  # heads of a round, and how many rounds
    soak: float
    cost: Rounds


FULL = Size(1_000_000, (1_000, 10_000), 7, ((1, 300), (50, 60), (1_000, 9)), 120.0, Rounds(9, 1.0, 0))
QUICK = Size(500, (50, 500), 1, ((1, 3), (5, 2), (50, 1)), 0.3, Rounds(1, 0.1, 0))


def rows(here: Ground, quick: bool) -> list[Row]:
    """All rows, those beside writers first: a million sessions would fill the caches of the others."""
    size = QUICK if quick else FULL
    start_signer(here)
    with _running(here) as process:
        measured = [_cost(here, process, size), *_lags(here, process, size)]
    return [*measured, *_rounds(here, size)]


# --- rounds beside many sessions


@dataclass(slots=True)
class Taken:
    """Milliseconds of rounds: on the clock, of this process's CPU, and of the CPU of the server's process behind it."""

    wall: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    servers: list[float] = field(default_factory=list)

    @contextmanager
    def one(self) -> Iterator[None]:
        """While inside, the time is taken."""
        before = _clocks()
        yield
        for taken, then, now in zip((self.wall, self.ours, self.servers), before, _clocks(), strict=True):
            taken.append((now - then) * 1000)


def _clocks() -> tuple[float, float, float]:
    connection.ensure_connection()
    return time.perf_counter(), time.process_time(), _busy(connection.connection.info.backend_pid)


def _busy(pid: int) -> float:
    """Seconds of CPU of a process of one thread, exact where ticks are not; 0 where the system does not say."""
    path = Path(f"/proc/{pid}/schedstat")
    return int(path.read_text().split()[0]) / 1e9 if path.exists() else 0.0


def _rounds(here: Ground, size: Size) -> Iterator[Row]:
    tenant: UUID = here.caller.tenant_id
    with _superuser(here) as admin:
        logs = fill(admin, tenant, size.sessions)
        random.Random(1).shuffle(logs)
        gc.freeze()  # a sequencer does not hold a million names, which every full collection would walk
        for many in size.heads:
            rounds, maps = Taken(), Taken()
            for _ in range(size.repeated):
                chosen, logs = logs[:many], logs[many:] + logs[:many]
                grow(admin, chosen)
                with rounds.one():
                    heads = sequencer.run_once(tenant).heads
                with maps.one():
                    mapped = sequencer.advance(tenant, with_heads=False, with_map=True).mapped
                assert (heads, mapped) == (len(chosen), True)
            for what, taken in ((f"a round over {many} dirty heads", rounds), (f"a head map after {many} heads", maps)):
                cpu = f"CPU {median(taken.ours):.0f} ms ours, {median(taken.servers):.0f} ms the server's"
                said = f"{size.repeated} times beside {size.sessions} sessions; {cpu}, {_load()}"
                yield _within(what, median(taken.wall), ROUND, said)
        for many, rounds in size.proved:
            yield _proved(here, admin, tenant, logs[:many], rounds)


def _proved(here: Ground, admin: psycopg.Connection, tenant: UUID, logs: list[UUID], rounds: int) -> Row:
    """CPU of everybody in rounds over logs that grew by a step, beside rounds over as many new logs, which need no
    proof; by turns.
    """
    proved: list[float] = []
    unproved: list[float] = []
    for _ in range(rounds):
        for taken, prepare in (
            (proved, lambda: grow(admin, logs)),
            (unproved, lambda: begin(admin, tenant, len(logs))),
        ):
            prepare()
            before = _cpu(here)
            heads = sequencer.advance(tenant).heads
            taken.append((_cpu(here) - before) * 1000)
            assert heads == len(logs)
        while not sequencer.mark_clean(tenant):
            pass
    value, base = sum(proved) / rounds, sum(unproved) / rounds
    name = f"a round that proves the growth of {len(logs)} heads"
    return against(
        GROUP, name, value, "ms", base, PROOFS, f"CPU of sequencer, server and signer, {rounds} rounds each, {_load()}"
    )


def _cpu(here: Ground) -> float:
    """Seconds of CPU of this process, of the server's process behind it, and of the signer."""
    _, ours, servers = _clocks()
    (signing,) = (kept.child.pid for kept in here.supervisor.kept if kept.program.name == "signer")
    return ours + servers + _busy(signing)


def _superuser(here: Ground) -> psycopg.Connection:
    return psycopg.connect(here.stack.dsn(here.stack.superuser, here.stack.database), autocommit=True)


# --- beside writers


def _lags(here: Ground, process: Sequencing, size: Size) -> Iterator[Row]:
    soak = f"{WRITERS} writers for {size.soak:g} s"
    for what, beside in (("", None), (", one transaction stalled", _stalled)):
        process.lags()
        if beside is None:
            speed(WRITERS, size.soak, appends.appending(here, len(appends.STEP)))
        else:
            with beside(here):
                speed(WRITERS, size.soak, appends.appending(here, len(appends.STEP)))
        lags = process.lags()
        half = percentile(lags, 50) * 1000
        yield _within(f"a head waits for its signature{what}, p99", percentile(lags, 99) * 1000, LAG,
                      f"{len(lags)} heads, half within {half:.0f} ms, {soak}, {_load()}")  # fmt: skip


@contextmanager
def _stalled(here: Ground) -> Iterator[None]:
    """Somebody holds the lock on a log's head all the while, having written to it."""
    log = appends.Log.fresh(here, "stalled", 1).head.log
    with psycopg.connect(here.stack.dsn("app", here.stack.database)) as stranger:
        stranger.execute("UPDATE audit_head SET dirty_since = now() WHERE log = %s", [log])
        yield
        stranger.rollback()


def _cost(here: Ground, process: Sequencing, size: Size) -> Row:
    append = appends.appending(here, len(appends.STEP))

    def beside() -> Cell:
        return lambda seconds: speed(WRITERS, seconds, append)

    def alone() -> Cell:
        def run(seconds: float) -> float:
            with process.stopped():
                return speed(WRITERS, seconds, append)

        return run

    speeds = interleaved({"beside": beside(), "alone": alone()}, size.cost)
    value, base = speeds["beside"], speeds["alone"]
    name = f"appends beside the sequencer, {WRITERS} at once"
    return against(GROUP, name, median(value), "1/s", median(base), COST, str(size.cost), paired(value, base))


class Sequencing:
    """The sequencer's process."""

    def __init__(self, here: Ground) -> None:
        self._file = Path(settings.STATE_DIR) / "lags"
        command = (sys.executable, "-m", "benchmarks.ledger.sequencer_process", str(self._file))
        env = {"PYTHONUNBUFFERED": "1"}
        self._kept = here.supervisor.start(
            Program("sequencer", command, str(self._file), cwd=here.stack.base_dir, env=env)
        )

    @property
    def pid(self) -> int:
        return self._kept.child.pid

    def lags(self) -> list[float]:
        """Seconds of each head since this was asked last."""
        time.sleep(0.5)  # until the last ones are signed
        os.kill(self.pid, signal.SIGUSR1)
        _until(self._file.exists)
        found = [float(line) for line in self._file.read_text().splitlines()]
        self._file.unlink()
        return found

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """While inside, it does nothing."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)


@contextmanager
def _running(here: Ground) -> Iterator[Sequencing]:
    process = Sequencing(here)
    _until(lambda: _is_elected(here))
    yield process
    os.kill(process.pid, signal.SIGTERM)
    here.supervisor.kept = [kept for kept in here.supervisor.kept if kept.child.pid != process.pid]


def _is_elected(here: Ground) -> bool:
    with _superuser(here) as admin:
        return bool(admin.execute("SELECT 1 FROM audit_gstate WHERE fence > 0").fetchone())


def start_signer(here: Ground) -> None:
    """Start the signer, unless it runs."""
    if _answers():
        return
    program = programs.signer(here.stack, settings.LOG_ORIGIN, settings.SIGNER_SOCKET)
    here.supervisor.start(replace(program, env={**program.env, "PYTHONPATH": str(here.stack.base_dir)}))
    _until(_answers)


def _answers() -> bool:
    try:
        return bool(signer.vkey())
    except signer.SignerDown:
        return False


def _until(condition: Callable[[], object]) -> None:
    over = threading.Event()
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the sequencer's processes do not start")
        over.wait(0.02)


def _load() -> str:
    """How many processes want a core, over the last minute: ours are among them."""
    return f"load {os.getloadavg()[0]:.1f}"


def _within(name: str, value: float, limit: float, size: str) -> Row:
    return against(GROUP, name, value, "ms", limit, WITHIN, size)
