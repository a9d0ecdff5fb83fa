"""A migration as data: from one version of a state's schema to the next, and what is checked before it is used.

The check is of both schemas: every step finds its places declared, nothing that the old version declares is lost
unless it is dropped by name, and examples of the old schema land in the new one (and come back, where the migration
says that it can be reversed).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

import msgspec

from agentstate.engine.migrating.refusals import BadMigration, CannotMigrate
from agentstate.engine.migrating.steps import WHOLE, AnyStep, Convert, Default, Functions, Move, Names, Step, path_of
from agentstate.engine.migrating.walking import Fields
from agentstate.engine.schemas import BadSchema, BreaksSchema, Declared, bounds, check_state
from agentstate.engine.schemas.descent import below, layers
from agentstate.engine.schemas.examples import examples
from agentstate.errors import Invalid

MAX_STEPS = 200
MAX_PLACES = 5_000
ANY = "*"


class Migration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The steps from version `before` of a schema to the next. `reversible`: the way back gives the same state."""

    schema: str
    before: Annotated[int, msgspec.Meta(ge=0)]
    steps: Annotated[tuple[AnyStep, ...], msgspec.Meta(max_length=MAX_STEPS)] = ()
    reversible: bool = False
    why: str = ""

    @property
    def reference(self) -> str:
        """How reports name it: `bank@1-2`."""
        return f"{self.schema}@{self.before}-{self.before + 1}"

    def up(self, pad: Fields, functions: Functions) -> Fields:
        """The state in the next version's form. Raises CannotMigrate."""
        for step in self.steps:
            pad = step.applied(pad, functions)
        return pad

    def down(self, pad: Fields, functions: Functions) -> Fields:
        """The state in the form of the version before. Raises CannotMigrate."""
        for step in reversed(self.steps):
            back = step.inverse
            if not self.reversible or back is None:
                raise CannotMigrate(self.reference, "reversible", "it does not say that it can be taken back")
            pad = back.applied(pad, functions)
        return pad

    def carried(self, names: Names) -> Names | None:
        """Where the values at `names` stand in the next version; None when they are gone or mixed with others."""
        led: Names | None = names
        for step in self.steps:
            led = None if led is None else step.carried(led)
        return led


_decoder = msgspec.json.Decoder(Migration, float_hook=Decimal)


def load(data: bytes) -> Migration:
    """A migration from its JSON. Raises BadMigration. Whether it fits two schemas, `check` says."""
    try:
        migration = _decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadMigration("document", "form", str(error)[:200]) from None
    for step in migration.steps:
        _check_step(migration, step)
    return migration


def _check_step(migration: Migration, step: Step) -> None:
    """The paths of one step, and its values. Raises BadMigration."""
    try:
        places = (*step.reads, *step.makes)
        bounds.check(step.value if isinstance(step, Default) else None, "step.value")
    except Invalid as error:
        raise BadMigration(migration.reference, "step", error.detail) from None
    if isinstance(step, Move) and any(ANY in names for names in places):
        raise BadMigration(migration.reference, "move", "a move knows no *: rename instead, or a function")
    if any(names[-1] == ANY for names in places):
        raise BadMigration(migration.reference, "path", "a path ends in a name")


def check(migration: Migration, old: Declared | None, new: Declared, functions: Functions) -> None:
    """Whether the migration leads from `old` (None: nothing was declared) to `new`. Raises BadMigration."""
    _must_lead(migration, old, new)
    _must_know(migration, functions)
    if old is None:
        return
    try:
        _check_places(migration, old, new)
        _try_examples(migration, old, new, functions)
    except BadSchema as error:
        raise BadMigration(migration.reference, "examples", error.detail) from None


def _must_lead(migration: Migration, old: Declared | None, new: Declared) -> None:
    versions = (old.version if old is not None else 0, new.version)
    names = {migration.schema, new.name, old.name if old is not None else new.name}
    if versions != (migration.before, migration.before + 1) or len(names) != 1:
        raise BadMigration(migration.reference, "versions", f"it does not lead to {new.reference}")


def _must_know(migration: Migration, functions: Functions) -> None:
    for step in migration.steps:
        if migration.reversible and step.inverse is None:
            raise BadMigration(migration.reference, "reversible", f"a {_op(step)} of it cannot be taken back")
        for name in (step.name, step.inverse_name or step.name) if isinstance(step, Convert) else ():
            if name not in functions:
                raise BadMigration(migration.reference, "function", f"there is no {name!r}")


def _op(step: Step) -> str:
    return str(step.__struct_config__.tag)


def _check_places(migration: Migration, old: Declared, new: Declared) -> None:
    """Follow every declared place of the old schema through the steps."""
    if any(isinstance(step, Convert) and step.path == WHOLE for step in migration.steps):
        return  # a function over the whole state is judged by its examples alone
    places = set(_places(old))
    for step in migration.steps:
        for names in step.reads:
            if names not in places:
                raise BadMigration(migration.reference, _op(step), f"{path_of(names)} is not declared before")
        for names in step.makes:
            if names in places:
                raise BadMigration(migration.reference, _op(step), f"{path_of(names)} is declared already")
        places = {led for names in places if (led := step.carried(names)) is not None} | set(step.makes)
    for names in sorted(places):
        if not _has_place(new, names):
            raise BadMigration(migration.reference, "lost", f"{path_of(names)} has no place in {new.reference}")


def _places(declared: Declared) -> Iterator[Names]:
    """Every declared place, with `*` for any name or item; a definition that holds itself is entered once."""
    root, count = declared.schema, 0
    waiting: list[tuple[Names, Any, frozenset[str]]] = [((), root, frozenset())]
    while waiting and count < MAX_PLACES:
        names, node, entered = waiting.pop()
        count += 1
        if names:
            yield names
        for layer in layers(root, node):
            if layer.get("$ref") in entered:
                break
            entered |= {layer["$ref"]} if "$ref" in layer else frozenset()
            fields = [(name, inner) for name, inner in layer.get("properties", {}).items() if inner is not False]
            fields += [(ANY, layer[word]) for word in ("items", "additionalProperties") if _is_some(layer, word)]
            waiting += [((*names, name), inner, entered) for name, inner in fields]


def _is_some(layer: dict[str, Any], word: str) -> bool:
    return isinstance(layer.get(word), dict)


def _has_place(declared: Declared, names: Names) -> bool:
    root = node = declared.schema
    for name in names:
        inner = below(root, node, name) if name != ANY else _any_below(root, node)
        if inner is False:
            return False
        node = inner
    return True


def _any_below(root: Any, node: Any) -> Any:
    """The schema of an item, or of a key that is not named; None for an open place."""
    if not isinstance(node, dict):
        return node
    said = [layer[word] for layer in layers(root, node) for word in ("items", "additionalProperties") if word in layer]
    return said[0] if said else None


def _try_examples(migration: Migration, old: Declared, new: Declared, functions: Functions) -> None:
    for number, example in enumerate(examples(old), 1):
        try:
            after = migration.up(example, functions)
            check_state(new, after)
            back = migration.down(after, functions) if migration.reversible else example
        except (CannotMigrate, BreaksSchema) as error:
            raise BadMigration(migration.reference, "example", f"{number} of {old.reference}: {error.detail}") from None
        if back != example:
            raise BadMigration(
                migration.reference, "reversible", f"example {number} of {old.reference} comes back otherwise"
            )
