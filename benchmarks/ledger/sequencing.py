"""The sequencer: rounds and head maps beside many sessions, how long heads wait beside eight writers, and what it costs
them. The signer and (for lag and cost) the sequencer are processes of their own, as `manage.py up` runs them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from uuid import UUID

import psycopg
from django.conf import settings

from agentstate.stack import programs
from agentstate.stack.children import Program
from audit import sequencer, signer
from benchmarks.ground import Ground
from benchmarks.ledger import appends
from benchmarks.rounds import Cell, interleaved, paired, percentile, speed
from benchmarks.rounds import Size as Rounds
from benchmarks.rows import Goal, Row, against

GROUP = "ledger"
WRITERS = 8
LAG, ROUND = 100.0, 400.0  # ms: what the issue asks
WITHIN = Goal(1.0, at_least=False)
COST = Goal(0.9, at_least=True)  # of the throughput without a sequencer


@dataclass(frozen=True)
class Size:
    """Sessions in the table, repetitions of a round, seconds of a soak, and the rounds of the cost."""

    sessions: int
    repeated: int
    soak: float
    cost: Rounds


FULL, QUICK = Size(1_000_000, 7, 120.0, Rounds(9, 1.0, 0)), Size(20_000, 3, 3.0, Rounds(3, 0.4, 0))


def rows(here: Ground, quick: bool) -> list[Row]:
    """All rows, those beside writers first: a million sessions would fill the caches of the others."""
    size = QUICK if quick else FULL
    start_signer(here)
    with _running(here) as process:
        measured = [_cost(here, process, size), *_lags(here, process, size)]
    return [*measured, *_rounds(here, size)]


# --- rounds beside many sessions

_MANY = """
INSERT INTO audit_head (log, tenant, size, frontier, dirty_since)
  SELECT gen_random_uuid(), %s, 1, sha256(number::text::bytea), now() FROM generate_series(1, %s) AS number"""
_TOUCH = """
UPDATE audit_head SET size = size * 2, frontier = sha256(frontier), dirty_since = now()
  WHERE log = ANY(%s)"""


def _rounds(here: Ground, size: Size) -> Iterator[Row]:
    tenant: UUID = here.caller.tenant_id
    with _superuser(here) as admin:
        admin.execute(_MANY, [tenant, size.sessions])
        number = 0
        while sequencer.run_once(tenant, with_map=number % 10 == 9).heads:
            number += 1
        sequencer.run_once(tenant, with_map=True)
        admin.execute("VACUUM ANALYZE audit_head, audit_place, audit_mapbucket, audit_maptile, audit_glog")
        logs = [log for (log,) in admin.execute("SELECT log FROM audit_head WHERE size = 1 ORDER BY random()")]
        for many in (1_000, 10_000):
            plain, mapped = [], []
            for _ in range(size.repeated):
                for taken, with_map in ((plain, False), (mapped, True)):
                    chosen, logs = logs[:many], logs[many:] + logs[:many]
                    admin.execute(_TOUCH, [chosen])
                    taken.append(_timed(tenant, many, with_map))
            beside = f"{many} dirty of {size.sessions} sessions"
            yield _within(f"a round over {beside}", median(plain), ROUND, f"{size.repeated} rounds")
            yield _within(f"a round with its head map over {beside}", median(mapped), ROUND, f"{size.repeated} rounds")


def _timed(tenant: UUID, many: int, with_map: bool) -> float:
    """Milliseconds of a round over so many heads, signature and marking included."""
    began = time.perf_counter()
    done = sequencer.run_once(tenant, with_map=with_map)
    took = (time.perf_counter() - began) * 1000
    assert done.heads <= many
    return took


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
        yield _within(f"a head waits for its signature{what}, p99", percentile(lags, 99) * 1000, LAG,
                      f"{len(lags)} heads, {soak}")  # fmt: skip


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


def _within(name: str, value: float, limit: float, size: str) -> Row:
    return against(GROUP, name, value, "ms", limit, WITHIN, size)
