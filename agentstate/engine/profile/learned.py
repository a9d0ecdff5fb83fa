"""How what was learned is kept, fades, and how sure it is.

Each source weighs as declared and halves with every half-life. The confidence in a value is the share of what speaks
for it in all that speaks for the preference's values, of what speaks against it, and of `PRIOR`, which stands for what
is not known: it lies between 0 and 1, grows with each source for it, and only falls while nothing new comes. Kept are
the newest sources, whatever the order in which they arrived, so two workers that learn from two sessions end in the
same profile.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

from agentstate.engine.profile.state import MOST_SOURCES, MOST_VALUES, Learned, Preference, Source
from agentstate.engine.profile.values import key_of

PRIOR = 2  # what is not known weighs as much as two sources of today
DAY = 86_400_000_000  # microseconds
_STEPS = 256
_UNIT = 1 << 40


def kept(learned: tuple[Learned, ...], value: Any, source: Source) -> tuple[Learned, ...]:
    """`learned` with `source` for `value`: the newest sources of each value, and the values spoken of last."""
    key = key_of(value)
    before = next((item for item in learned if key_of(item.value) == key), Learned(value))
    if source in before.sources:
        return learned
    sources = tuple(sorted((*before.sources, source), key=lambda each: each.place))[-MOST_SOURCES:]
    others = [item for item in learned if key_of(item.value) != key]
    every = [*others, Learned(before.value, before.count + 1, sources)]
    return tuple(sorted(every, key=lambda item: (item.sources[-1].place, key_of(item.value)))[-MOST_VALUES:])


def dropped(learned: tuple[Learned, ...], value: Any) -> tuple[Learned, ...]:
    """`learned` without `value`; without anything when that is None."""
    key = key_of(value)
    return () if value is None else tuple(item for item in learned if key_of(item.value) != key)


def confidences(preference: Preference, at: str) -> tuple[Decimal, ...]:
    """How sure each value of `preference` is at the instant `at`, in its order: 0 to 1, three places, rounded down."""
    sources = [source for item in preference.learned for source in item.sources]
    if not sources:
        return ()
    oldest, newest = min(source.at for source in sources), max(source.at for source in sources)
    span = preference.half_life * DAY
    # Weights are told as of the oldest source, so that only the unknown depends on the time of reading.
    unknown = PRIOR * _doublings(oldest, max(at, newest), span)
    weighed = [
        [source.weight * _doublings(oldest, source.at, span) for source in i.sources] for i in preference.learned
    ]
    pros = [sum(weight for weight in weights if weight > 0) for weights in weighed]
    cons = [-sum(weight for weight in weights if weight < 0) for weights in weighed]
    return tuple(_share(pro, sum(pros) + con + unknown) for pro, con in zip(pros, cons, strict=True))


def _share(part: int, whole: int) -> Decimal:
    return Decimal(1000 * part // whole).scaleb(-3)


def _doublings(since: str, until: str, span: int) -> int:
    """Two to the power of how many half-lives lie between two instants, in units of `_UNIT`.

    Whole numbers: the same everywhere, and never less for a later instant.
    """
    apart = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    micros = (apart.days * 86_400 + apart.seconds) * 1_000_000 + apart.microseconds
    whole, rest = divmod(micros, span)
    step, part = divmod(rest * _STEPS, span)
    low, high = _powers()[step : step + 2]
    return (low + (high - low) * part // span) << whole


@lru_cache(maxsize=1)
def _powers() -> tuple[int, ...]:
    """The powers of two from 0 to 1, in `_STEPS`; between two of them a straight line is wrong by a millionth."""
    exact = Context(prec=24)
    roots = (exact.power(Decimal(2), exact.divide(Decimal(step), Decimal(_STEPS))) for step in range(_STEPS + 1))
    return tuple(int(exact.multiply(root, Decimal(_UNIT))) for root in roots)
