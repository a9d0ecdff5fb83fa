"""What is declared of a path: the type by which its changes merge, and what becomes of a clash.

A declared path is `state.limits.*.used`; a `*` stands for one name. A merge type is of exactly the path that declares
it, whose value is merged as one; a rule for clashes is of the path and of all below it, the nearest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from agentstate.engine import scratchpad
from agentstate.engine.schemas.declared import Declared
from agentstate.engine.schemas.descent import layers
from agentstate.errors import Invalid

MergeKind = Literal["counter", "set", "list", "maximum", "minimum", "last"]
ClashRule = Literal["refuse", "vote", "arbiter"]
MAX_RULES = 500
MAX_QUORUM = 16
MAX_SCHEMA_DEPTH = 8  # names of a declared path
MAX_FIELDS = 5_000  # on one level


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


@lru_cache(maxsize=64)
def declared_by(schema: Declared) -> Rules:
    """The rules that a state's schema declares beside its fields, as `"x-merge": "counter"` or
    `"x-merge": {"clash": "vote", "quorum": 3}`. Raises BadMergeRule naming the path.
    """
    found: list[PathRule] = []
    for path, wanted in _words(schema.schema):
        rule = {"merge": wanted} if isinstance(wanted, str) else wanted
        try:
            found.append(msgspec.convert({"path": path, **rule}, PathRule))
        except (msgspec.ValidationError, TypeError) as error:
            raise BadMergeRule(f"{path}: {error}") from None
        if len(found) > MAX_RULES:
            raise BadMergeRule(f"more than {MAX_RULES} rules")
    return checked(tuple(found))


def _words(root: Any) -> Iterator[tuple[str, Any]]:
    """What is declared of each field, with its path, level by level: definitions may be recursive."""
    level: list[tuple[str, Any]] = [("state", root)]
    for depth in range(MAX_SCHEMA_DEPTH + 1):
        below: list[tuple[str, Any]] = []
        for path, layer in [(path, layer) for path, node in level for layer in layers(root, node)]:
            if depth and "x-merge" in layer:
                yield path, layer["x-merge"]
            below += [
                (f"{path}.{name}", field) for name, field in layer.get("properties", {}).items() if _is_name(name)
            ]
            below += [(f"{path}.*", layer["additionalProperties"])] if "additionalProperties" in layer else []
            if len(below) > MAX_FIELDS:
                raise BadMergeRule(f"more than {MAX_FIELDS} fields, {depth + 1} deep")
        level = below


def _is_name(name: str) -> bool:
    return bool(name) and "." not in name
