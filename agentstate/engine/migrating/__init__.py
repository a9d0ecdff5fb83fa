"""A state's schema changes while sessions run: migrations carry a state from one version to the next, and back.

`steps` are the declared changes, `walking` applies them under a path, `declared` is a migration as data and what is
checked before one is used, `catalogue` holds all versions of a schema with the migrations between them, `report` tries
them on stored states, `pruning` finds what nothing reads any more.
"""

from __future__ import annotations

from agentstate.engine.migrating.catalogue import Carried, Catalogue, catalogue
from agentstate.engine.migrating.declared import Migration, check, load
from agentstate.engine.migrating.refusals import BadMigration, CannotMigrate
from agentstate.engine.migrating.steps import Function, Functions

__all__ = [
    "BadMigration",
    "CannotMigrate",
    "Carried",
    "Catalogue",
    "Function",
    "Functions",
    "Migration",
    "catalogue",
    "check",
    "load",
]
