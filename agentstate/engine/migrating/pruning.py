"""What of a state nothing reads any more.

A value is kept when the schema in force has a place for it by name, or when a rule, an expression, a reference or a
tool reads it. What is left is prunable, as the highest path below which nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from agentstate.engine.migrating.steps import Names, path_of
from agentstate.engine.migrating.walking import Fields
from agentstate.engine.policy import Policy
from agentstate.engine.schemas import Declared
from agentstate.engine.schemas.descent import layers

MAX_PATHS = 200  # prunable paths that one look gives
# `state.customer.name` in an expression or a reference; an index or a call ends the path.
_READ = re.compile(r"(?<![\w.])state((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)")
_WHOLE = re.compile(r"(?<![\w.])state(?![\w.])")


class Reads(msgspec.Struct, frozen=True):
    """What is read of a state. `everything`: some expression takes the state as a whole."""

    paths: frozenset[Names] = frozenset()
    everything: bool = False

    def also(self, other: Reads) -> Reads:
        """Both."""
        return Reads(self.paths | other.paths, self.everything or other.everything)


def read_by(texts: Iterable[str]) -> Reads:
    """What expressions, references and templates read. Too much rather than too little."""
    paths: set[Names] = set()
    everything = False
    for text in texts:
        paths |= {tuple(found[1:].split(".")) for found in _READ.findall(text)}
        everything = everything or _WHOLE.search(text) is not None
    return Reads(frozenset(paths), everything)


def read_by_policy(policy: Policy) -> Reads:
    """What the questions and the evidence of a policy's rules read."""
    return read_by(text for rule in policy.rules for text in (rule.when, *rule.evidence))


def prunable(declared: Declared | None, pad: Fields, reads: Reads) -> list[str]:
    """The paths that nothing reads, at most MAX_PATHS. Without a schema nothing is known to be unread."""
    if declared is None or reads.everything:
        return []
    found: list[str] = []
    waiting: list[tuple[Names, Any, Any]] = [((name,), pad[name], declared.schema) for name in reversed(pad)]
    while waiting and len(found) < MAX_PATHS:
        names, value, above = waiting.pop()
        if any(read == names[: len(read)] for read in reads.paths):
            continue
        node = _named(declared.schema, above, names[-1])
        inner = value if isinstance(value, dict) else {}
        if node is not None:
            waiting += [((*names, name), inner[name], node) for name in reversed(inner) if _says(node)]
        elif any(names == read[: len(names)] for read in reads.paths):
            waiting += [((*names, name), inner[name], None) for name in reversed(inner)]
        elif "." not in names[-1]:
            found.append(path_of(names))
    return found


def _named(root: Any, node: Any, name: str) -> Any:
    """The schema of a property that is declared by name or pattern or has a schema as one of the others; else None."""
    for layer in layers(root, node):
        if name in layer.get("properties", {}):
            return layer["properties"][name]
        others = [*layer.get("patternProperties", {}).values(), layer.get("additionalProperties")]
        if any(isinstance(other, dict) for other in others):
            return {}
    return None


def _says(node: Any) -> bool:
    """Whether `node` says which properties there are. An open object is a value of its own: all of it is declared."""
    return isinstance(node, dict) and ("properties" in node or "$ref" in node)
