"""How speeds and times are taken: interleaved rounds, so that a noisy neighbour hits ours and the raw limit alike."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import msgspec


class Size(msgspec.Struct, frozen=True):
    """How much is measured: `rounds` of cells of `seconds`, and `samples` of each time."""

    rounds: int
    seconds: float
    samples: int

    def __str__(self) -> str:
        return f"{self.rounds} rounds x {self.seconds:g} s"


Cell = Callable[[float], float]  # seconds to run -> operations per second


def interleaved(cells: Mapping[str, Cell], size: Size) -> dict[str, list[float]]:
    """Each cell's speed in each round; within a round the cells run one after the other in an order of chance."""
    order, chance = list(cells), random.Random(1)
    speeds: dict[str, list[float]] = {name: [] for name in cells}
    for _ in range(size.rounds):
        chance.shuffle(order)
        for name in order:
            speeds[name].append(cells[name](size.seconds))
    return speeds


def paired(ours: Sequence[float], base: Sequence[float]) -> float:
    """The median over the rounds of ours / base."""
    return statistics.median(one / other for one, other in zip(ours, base, strict=True))


def percentile(times: Sequence[float], share: float) -> float:
    """The value that `share` percent of `times` do not exceed (nearest rank)."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))]


Writer = Callable[[int, threading.Event, threading.Barrier], int]  # number, time is up, start line -> operations done


def speed(writers: int, seconds: float, writer: Writer) -> float:
    """Operations per second of `writers` threads, by what they say they did."""
    done, took = race(writers, seconds, writer, threading.Event())
    return done / took


def race(writers: int, seconds: float, writer: Writer, over: threading.Event) -> tuple[int, float]:
    """What `writers` threads did and the seconds it took, from a common start; after `seconds` the time is up.

    What a writer finishes after that counts, and so does the time it takes.
    """
    start = threading.Barrier(writers + 1)

    def run(number: int) -> int:
        try:
            return writer(number, over, start)
        except BaseException:
            start.abort()
            over.set()
            raise

    with ThreadPoolExecutor(writers) as pool:
        running = [pool.submit(run, number) for number in range(writers)]
        with suppress(threading.BrokenBarrierError):  # the writer's own error is raised below
            start.wait()
        began = time.perf_counter()
        over.wait(seconds)
        over.set()
        done = [each.result() for each in running]
    return sum(done), time.perf_counter() - began
