"""The declared schemas of the agents' states, all their versions, and the migrations between them.

A folder a schema in `state_schemas/` of the library: `bank/1.json`, `bank/2.json` and, from each version to the next,
`bank/1-2.json`. What a migration cannot say as data is a function here, registered by name; it must be pure, and stays
as long as a migration names it.
"""

from __future__ import annotations

from collections.abc import Collection

from agentstate.engine import migrating, schemas
from agentstate.engine.migrating import Catalogue, Functions
from agentstate.errors import Broken
from sessions.library import folders
from sessions.library.folders import File

KIND = "state_schemas"
FUNCTIONS: Functions = {}


@folders.cached
def named(name: str) -> Catalogue:
    """All versions of the schema of that name, checked against each other. Raises BadSchema, BadMigration, Broken."""
    return read(name, [file for file in folders.files(KIND).values() if file.path.startswith(f"{name}/")])


def read(name: str, files: Collection[File]) -> Catalogue:
    """The schemas and migrations in the files of one name. Raises BadSchema, BadMigration, Broken."""
    if not files:
        raise Broken(f"there is no schema of a state in {name}/")
    declared = [schemas.load(file.data) for file in files if "-" not in file.path.partition("/")[2]]
    steps = [migrating.load(file.data) for file in files if "-" in file.path.partition("/")[2]]
    return migrating.catalogue(declared, steps, FUNCTIONS)
