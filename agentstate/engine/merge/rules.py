"""What is declared of a path: the type by which its changes merge, and what becomes of a clash.

A declared path is `state.limits.*.used`; a `*` stands for one name. A merge type is of exactly the path that declares
it, whose value is merged as one; a rule for clashes is of the path and of all below it, the nearest first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from agentstate.engine import scratchpad
from agentstate.errors import Invalid

MergeKind = Literal["counter", "set", "list", "maximum", "minimum", "last"]
ClashRule = Literal["refuse", "vote", "arbiter"]
MAX_RULES = 500
MAX_QUORUM = 16


class BadMergeRule(Invalid):
    """The rule for concurrent changes cannot be used."""

    code = "bad_merge_rule"


class PathRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is declared of `path`. `quorum` is how many votes for one value settle a vote."""

    path: str
    merge: MergeKind | None = None
    clash: ClashRule | None = None
    quorum: Annotated[int, msgspec.Meta(ge=1, le=MAX_QUORUM)] = 2


class Clashes(msgspec.Struct, frozen=True):
    """What becomes of a clash, and by which declared path (empty: by none, it is refused)."""

    rule: ClashRule
    quorum: int
    declared: str


class Rules(msgspec.Struct, frozen=True):
    """All that is declared of a state's paths."""

    paths: tuple[PathRule, ...] = ()

    def kind_of(self, path: str) -> MergeKind | None:
        """The merge type of exactly this path."""
        names = tuple(scratchpad.parts(path))
        return next((rule.merge for rule in self.paths if rule.merge and _fits(_names(rule.path), names)), None)

    def merges_below(self, path: str) -> bool:
        """Whether a merge type is declared of some path below this one."""
        names = tuple(scratchpad.parts(path))
        return any(rule.merge and _begins(_names(rule.path), names) for rule in self.paths)

    def clash_of(self, path: str) -> Clashes:
        """What becomes of a clash there: the nearest declaration at or above the path, else it is refused."""
        names = tuple(scratchpad.parts(path))
        for length in range(len(names), 0, -1):
            for rule in self.paths:
                if rule.clash and _fits(_names(rule.path), names[:length]):
                    return Clashes(rule.clash, rule.quorum, rule.path)
        return Clashes("refuse", 0, "")


NO_RULES = Rules()


@lru_cache(maxsize=1024)
def _names(path: str) -> tuple[str, ...]:
    return tuple(scratchpad.parts(path))


def _fits(pattern: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return len(pattern) == len(names) and _alike(pattern, names)


def _begins(pattern: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return len(pattern) > len(names) and _alike(pattern, names)


def _alike(pattern: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return all(part in ("*", name) for part, name in zip(pattern, names, strict=False))


def checked(paths: tuple[PathRule, ...]) -> Rules:
    """The rules, if they can be used. Raises BadMergeRule naming the path."""
    if len(paths) > MAX_RULES:
        raise BadMergeRule(f"{len(paths)} rules, at most {MAX_RULES}")
    declared = [rule.path for rule in paths]
    for rule in paths:
        try:
            scratchpad.parts(rule.path)
        except Invalid as error:
            raise BadMergeRule(error.detail) from None
        if declared.count(rule.path) > 1:
            raise BadMergeRule(f"{rule.path} is declared twice")
    return Rules(paths)


def from_schema(schema: Mapping[str, Any]) -> Rules:
    """The rules that a JSON Schema of the scratchpad declares beside its fields: `x-merge` (a merge type), `x-clash`
    (refuse, vote, arbiter) and `x-quorum`. Raises BadMergeRule.
    """
    found: list[PathRule] = []
    for path, node in _fields(schema, "state", 0):
        declared = {"merge": node.get("x-merge"), "clash": node.get("x-clash"), "quorum": node.get("x-quorum", 2)}
        if declared["merge"] is None and declared["clash"] is None:
            continue
        try:
            found.append(msgspec.convert({"path": path, **declared}, PathRule))
        except msgspec.ValidationError as error:
            raise BadMergeRule(f"{path}: {error}") from None
        if len(found) > MAX_RULES:
            raise BadMergeRule(f"more than {MAX_RULES} rules")
    return checked(tuple(found))


def _fields(node: Any, path: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The fields of a schema's objects, with their paths; no deeper than a path may be."""
    if not isinstance(node, Mapping) or depth > scratchpad.MAX_DEPTH:
        return
    if depth:
        yield path, node
    properties = node.get("properties")
    for name, field in properties.items() if isinstance(properties, Mapping) else ():
        yield from _fields(field, f"{path}.{name}", depth + 1)
    if isinstance(node.get("additionalProperties"), Mapping):
        yield from _fields(node["additionalProperties"], f"{path}.*", depth + 1)
