"""A JSON value as the CEL expression that amounts to it."""

from __future__ import annotations

import json
from typing import Any

from agentstate.engine.charts.chart import BadChart


def literal(value: Any) -> str:
    """`{"a": [1, null]}` as an expression. Raises BadChart for numbers with a fraction."""
    if isinstance(value, float):
        raise BadChart(f"got {value!r}: numbers are integers, money is in minor units", rule="no_floats")
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{literal(key)}: {literal(inner)}' for key, inner in value.items())}}}"
    # JSON's escapes are CEL's, as long as no half of a surrogate pair is written out.
    return json.dumps(value, ensure_ascii=False)
