"""How important a declared schema says that parts of the state are (`x-importance`). The most important come first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from agentstate.engine.schemas.declared import schema_of
from agentstate.engine.schemas.descent import declared_below

Names = tuple[str, ...]


@lru_cache(maxsize=500)
def importance_of(source: bytes) -> Mapping[Names, int]:
    """Returns the importance of each place for which a schema says one, by the names that lead to it.

    Where several parts of the schema speak about a place, the highest counts.
    """
    root = schema_of(source)
    found: dict[Names, int] = {}
    for names, said in declared_below(root, root, "x-importance"):
        found[names] = max(said, found.get(names, 0))
    return MappingProxyType(found)
