"""JSON Schemas (2020-12) that are safe to take from anybody, and values judged by them.

`bounds` says how large a value may be, `keywords`, `patterns` and `work` which schemas are taken, `compiled` judges
values, `money` is the word for amounts, `declared` the schema of a state with who may write what, `writes` and `reads`
what is enforced on the way in and on the way out, `private` hides values, `examples` makes values that a schema allows.
"""

from __future__ import annotations

from agentstate.engine.schemas.compiled import Problem, check_schema, problems, validate
from agentstate.engine.schemas.declared import SYSTEM, Actor, Declared, declare, load
from agentstate.engine.schemas.descent import Place, place_of
from agentstate.engine.schemas.keywords import Schema
from agentstate.engine.schemas.private import HIDDEN, private_paths, without_private, without_private_at
from agentstate.engine.schemas.reads import misfit_at, missing, read
from agentstate.engine.schemas.refusals import (
    BadSchema,
    BreaksSchema,
    MissingValue,
    NotAWriter,
    OutOfRange,
    WrongType,
)
from agentstate.engine.schemas.writes import check_removal, check_state, check_write, check_writer

__all__ = [
    "HIDDEN",
    "SYSTEM",
    "Actor",
    "BadSchema",
    "BreaksSchema",
    "Declared",
    "MissingValue",
    "NotAWriter",
    "OutOfRange",
    "Place",
    "Problem",
    "Schema",
    "WrongType",
    "check_removal",
    "check_schema",
    "check_state",
    "check_write",
    "check_writer",
    "declare",
    "load",
    "misfit_at",
    "missing",
    "place_of",
    "private_paths",
    "problems",
    "read",
    "validate",
    "without_private",
    "without_private_at",
]
