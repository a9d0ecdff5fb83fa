"""JSON Schemas (2020-12) that are safe to take from anybody, and values judged by them.

`bounds` says how large a value may be, `keywords`, `patterns` and `work` which schemas are taken, `compiled` judges
values, `money` is the word for amounts, `declared` the schema of a state with who may write what, `writes` and `reads`
what is enforced on the way in and on the way out, `examples` makes values that a schema allows.
"""

from __future__ import annotations

from agentstate.engine.schemas.compiled import Problem, check_schema, problems, validate
from agentstate.engine.schemas.keywords import Schema
from agentstate.engine.schemas.refusals import (
    BadSchema,
    BreaksSchema,
    MissingValue,
    NotAWriter,
    OutOfRange,
    WrongType,
)

__all__ = [
    "BadSchema",
    "BreaksSchema",
    "MissingValue",
    "NotAWriter",
    "OutOfRange",
    "Problem",
    "Schema",
    "WrongType",
    "check_schema",
    "problems",
    "validate",
]
