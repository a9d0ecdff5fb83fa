"""The question to put when a reference is ambiguous: it names what could be meant, as little as tells them apart."""

from __future__ import annotations

from agentstate.engine.talk.entities import said
from agentstate.engine.talk.scene import Scene

MOST_NAMED = 4  # candidates that a question names


def question(scene: Scene, mention: str, ids: tuple[str, ...]) -> str:
    """What to ask so that the answer tells which of `ids` was meant by `mention`."""
    shown = mention.strip()[:60]
    if not ids:
        return f'What do you mean by "{shown}"?'
    labels = _labels(scene, ids[:MOST_NAMED])
    if len(ids) == 1:
        return f"Do you mean {labels[0]}?"
    more = " or another one" if len(ids) > MOST_NAMED else ""
    *first, last = labels
    listed = f"{', '.join([*first, last])}{more}" if more else f"{', '.join(first)} or {last}"
    return f"Which do you mean: {listed}?"


def _labels(scene: Scene, ids: tuple[str, ...]) -> list[str]:
    """Labels; where two are the same, each with the first value that differs."""
    labels = [scene.entities[entity].label or entity for entity in ids]
    return [
        label if labels.count(label) == 1 else f"{label} ({_telling(scene, entity, ids)})"
        for label, entity in zip(labels, ids, strict=True)
    ]


def _telling(scene: Scene, entity: str, ids: tuple[str, ...]) -> str:
    mine = scene.entities[entity].attributes
    for name, value in mine.items():
        if any(scene.entities[other].attributes.get(name) != value for other in ids if other != entity) and said(value):
            return said(value)
    return entity
