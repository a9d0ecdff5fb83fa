"""All versions of a state's schema, with the migrations between them: a state of any version is carried to any other.

Version 0 is the state of before anything was declared; it may be carried to version 1 when it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from agentstate.engine.events.base import digest
from agentstate.engine.merge import rules
from agentstate.engine.migrating.declared import Migration, check
from agentstate.engine.migrating.refusals import BadMigration, CannotMigrate
from agentstate.engine.migrating.steps import Functions, Names, names_of, path_of
from agentstate.engine.migrating.walking import Fields
from agentstate.engine.schemas import BreaksSchema, Declared, bounds, check_state
from agentstate.errors import Invalid


class Carried(msgspec.Struct, frozen=True):
    """A state in another version's form: what of it is new or changed (`put`) and what is gone, both by its topmost
    names. `lossless`: the way back gives the same state.
    """

    schema: str
    before: int
    after: int
    put: dict[str, Any]
    gone: tuple[str, ...]
    digest: str
    lossless: bool

    def applied(self, pad: Fields) -> Fields:
        """`pad`, carried over."""
        return {**{name: value for name, value in pad.items() if name not in self.gone}, **self.put}


class Catalogue(msgspec.Struct, frozen=True):
    """The versions of one schema, by number from 1 without a gap, and the migration from each to the next."""

    name: str
    versions: Mapping[int, Declared]
    migrations: Mapping[int, Migration]
    functions: Functions

    @property
    def current(self) -> Declared:
        """The newest version."""
        return self.versions[len(self.versions)]

    def declared(self, version: int) -> Declared | None:
        """The schema of that version; None for 0. Raises CannotMigrate for one that is not known here."""
        if version and version not in self.versions:
            raise CannotMigrate("state", "version", f"there is no {self.name}@{version} here")
        return self.versions.get(version)

    def carry(self, pad: Fields, before: int, after: int) -> Carried:
        """`pad`, a state of version `before`, in the form of version `after`. Raises CannotMigrate with the path and
        the rule.
        """
        self.declared(before)
        wanted = self.declared(after)
        try:
            bounds.check(pad, "state")
            landed = self._landed(pad, before, after)
            check_state(wanted, landed)
        except BreaksSchema as broken:
            raise CannotMigrate(broken.path, broken.rule, f"it does not fit {self.name}@{after}") from None
        put = {name: value for name, value in landed.items() if name not in pad or pad[name] != value}
        gone = tuple(sorted(pad.keys() - landed.keys()))
        lossless = after < before or self._comes_back(pad, landed, before, after)
        return Carried(self.name, before, after, put, gone, digest(landed), lossless)

    def _landed(self, pad: Fields, before: int, after: int) -> Fields:
        for version in range(before, after):
            pad = self.migrations[version].up(pad, self.functions)
        for version in range(before, after, -1):
            pad = self.migrations[version - 1].down(pad, self.functions)
        return pad

    def _comes_back(self, pad: Fields, landed: Fields, before: int, after: int) -> bool:
        try:
            return self._landed(landed, after, before) == pad
        except CannotMigrate:
            return False

    def moved(self, paths: Iterable[str], before: int, after: int) -> dict[str, str]:
        """Where the values of these paths stand in version `after`, for those that are elsewhere and not gone."""
        led = {path: self._led(names_of(path), before, after) for path in paths}
        return {path: path_of(names) for path, names in led.items() if names and path_of(names) != path}

    def _led(self, names: Names | None, before: int, after: int) -> Names | None:
        for version in range(before, after):
            names = self.migrations[version].carried(names) if names is not None else None
        for version in range(before, after, -1):
            for step in reversed(self.migrations[version - 1].steps):
                names = step.inverse.carried(names) if names is not None and step.inverse is not None else None
        return names


def catalogue(
    versions: Iterable[Declared], migrations: Iterable[Migration] = (), functions: Functions | None = None
) -> Catalogue:
    """All versions and migrations of one schema, checked against each other. Raises BadMigration or BadSchema."""
    known = {declared.version: declared for declared in versions}
    if sorted(known) != list(range(1, len(known) + 1)) or not known:
        raise BadMigration("catalogue", "versions", f"want 1, 2, ... without a gap, got {sorted(known)}")
    steps = {migration.before: migration for migration in migrations}
    name = known[1].name
    first = Migration(name, 0, reversible=True, why="Declared for the first time.")
    steps = {0: first, **steps}
    for version, declared in known.items():
        if version - 1 not in steps:
            raise BadMigration(declared.reference, "versions", f"no migration leads to it from {version - 1}")
        check(steps[version - 1], known.get(version - 1), declared, functions or {})
        _check_merges(declared)
    if len(steps) > len(known):
        raise BadMigration(name, "versions", "a migration leads to a version that is not declared")
    return Catalogue(name, known, steps, functions or {})


def _check_merges(declared: Declared) -> None:
    try:
        rules.declared_by(declared)
    except Invalid as error:
        raise BadMigration(declared.reference, "x-merge", error.detail) from None
