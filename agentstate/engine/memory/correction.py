"""What the provider counted corrects the estimate, per model of a session.

The factor is kept in thousandths, moves a quarter of the way to what was seen each time, and stays within a half and
twice. It follows from recorded events alone: the estimate stands in `model.requested`, the provider's count in
`model.answered`. So a replay has the same factor at every step.
"""

from __future__ import annotations

import msgspec

ONE = 1_000
LEAST, MOST = 500, 2_000
KEPT = 4  # models of one session
SMALL = 50  # tokens: below, the overhead of a request says nothing of its texts


class Correction(msgspec.Struct, frozen=True):
    """`factor`: thousandths of the estimate that the provider counts for this model, from `seen` answers."""

    model: str
    factor: int = ONE
    seen: int = 0


def factor_for(corrections: tuple[Correction, ...], model: str) -> int:
    """Thousandths; 1000 for a model that never told."""
    return next((each.factor for each in corrections if each.model == model), ONE)


def learned(corrections: tuple[Correction, ...], model: str, estimated: int, counted: int) -> tuple[Correction, ...]:
    """With one more answer: `estimated` tokens before correction, `counted` by the provider."""
    if estimated < SMALL or counted <= 0:
        return corrections
    before = next((each for each in corrections if each.model == model), Correction(model))
    ratio = max(LEAST, min(MOST, counted * ONE // estimated))
    factor = ratio if before.seen == 0 else (3 * before.factor + ratio) // 4
    others = tuple(each for each in corrections if each.model != model)
    return (*others, Correction(model, factor, before.seen + 1))[-KEPT:]
