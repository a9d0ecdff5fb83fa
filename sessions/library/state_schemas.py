"""The declared schemas of the agents' states, all their versions, and the migrations between them.

A folder a schema: `bank/1.json`, `bank/2.json` and, from each version to the next, `bank/1-2.json`. What a migration
cannot say as data is a function here, registered by name; it must be pure, and stays as long as a migration names it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from agentstate.engine import migrating, schemas
from agentstate.engine.migrating import Catalogue, Functions
from agentstate.errors import Broken

FOLDER = Path(__file__).resolve().parent.parent / "shipped" / "state_schemas"
FUNCTIONS: Functions = {}


@lru_cache
def named(name: str) -> Catalogue:
    """All versions of the schema of that name, checked against each other. Raises BadSchema, BadMigration, Broken."""
    return read(FOLDER / name)


def read(folder: Path) -> Catalogue:
    """The schemas and migrations in a folder. Raises BadSchema, BadMigration, Broken."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise Broken(f"there is no schema of a state in {folder.name}/")
    declared = [schemas.load(file.read_bytes()) for file in files if "-" not in file.stem]
    steps = [migrating.load(file.read_bytes()) for file in files if "-" in file.stem]
    return migrating.catalogue(declared, steps, FUNCTIONS)
