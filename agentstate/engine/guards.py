"""The one expression language: CEL, compiled once, evaluated on declared values only.

CEL has no loops but bounded comprehensions, no I/O, no clock and no way to reach Python. What an expression cannot
read (a missing key, a wrong type) is an error value, and an error is never taken for a yes: `holds` raises, and the
caller fails closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

from agentstate.errors import Invalid

MAX_LENGTH = 2_000  # characters of one expression
NAMES = ("arguments", "state", "history", "session", "event")

_environment = cel.NewEnv(variables=dict.fromkeys(NAMES, cel.Type.DYN))


class BadGuard(Invalid):
    """The expression does not compile or is not a yes-or-no question."""

    code = "bad_guard"


class UnreadableGuard(Invalid):
    """The expression could not be evaluated on these values."""

    code = "unreadable_guard"


@lru_cache(maxsize=512)
def compiled(expression: str) -> Any:
    """The compiled expression. Raises BadGuard with the compiler's position and reason."""
    if len(expression) > MAX_LENGTH:
        raise BadGuard(f"{len(expression)} characters, {MAX_LENGTH} allowed")
    try:
        program = _environment.compile(expression)
    except (RuntimeError, TypeError) as error:
        raise BadGuard(str(error).splitlines()[0]) from None
    if program.return_type() not in (cel.Type.BOOL, cel.Type.DYN):
        raise BadGuard(f"it gives {program.return_type().name()}, want a yes or a no")
    return program


def holds(expression: str, values: Mapping[str, Any]) -> bool:
    """Whether `expression` is true of `values` (keys among NAMES). Raises BadGuard or UnreadableGuard."""
    try:
        result = compiled(expression).eval(data={name: values.get(name, {}) for name in NAMES})
    except (RuntimeError, TypeError, ValueError) as error:
        raise UnreadableGuard(str(error).splitlines()[0]) from None
    if result.type() != cel.Type.BOOL:
        raise UnreadableGuard(f"got {result.value()!r}, want true or false")
    return bool(result.value())
