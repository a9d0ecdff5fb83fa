"""What may be known of customers, and what may come of it, as data: purposes, preferences, rules, mappings.

Nothing is learned, kept or used that is not declared here. A declaration is checked when it is loaded: each name is
there once and is known, each question compiles, and a mapping can change only what it declares bounds for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec

from agentstate.engine import guards
from agentstate.engine.policy import HIGHEST_TIER, missing
from agentstate.engine.profile.values import Amount, AnyKind, Flag, Number, Whole, Words, check
from agentstate.errors import Invalid

MOST = 32  # purposes, preferences, histories, rules or mappings of one declaration
PLACE = "{value}"  # where an instruction quotes the preference
SOURCES = ("arguments", "event", "session")  # where a path may begin

Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_.]{0,39}\Z")]
Line = Annotated[str, msgspec.Meta(max_length=300)]
Question = Annotated[str, msgspec.Meta(min_length=1, max_length=guards.MAX_LENGTH)]
Path = Annotated[str, msgspec.Meta(pattern=r"^[a-z]+(\.[A-Za-z0-9_]{1,60}){1,8}\Z")]


class BadDeclaration(Invalid):
    """The declaration of profiles cannot be used."""

    code = "bad_declaration"


class _Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of what a declaration is made of."""


class Purpose(_Declared, frozen=True):
    """What customers are known for. `required`: the contract itself needs it; anything else waits for a consent."""

    name: Name
    words: Line
    required: bool = False


class PreferenceKind(_Declared, frozen=True):
    """A preference: its values, its purpose, how fast what was learned fades, and from what confidence it counts.

    `threshold` is in percent and above half, so that two values of one preference never both count.
    """

    name: Name
    words: Line
    value: AnyKind
    purpose: Name
    half_life: Annotated[int, msgspec.Meta(ge=1, le=3650)] = 90  # days
    threshold: Annotated[int, msgspec.Meta(ge=51, le=99)] = 60


class HistoryKind(_Declared, frozen=True):
    """A part of the derived history: the newest records, or a tally of what is met again and again."""

    name: Name
    words: Line
    purpose: Name
    form: Literal["list", "tally"] = "list"
    keep: Annotated[int, msgspec.Meta(ge=1, le=50)] = 20
    shown: Annotated[int, msgspec.Meta(ge=1, le=10)] = 5  # of them in a model request


class LearningRule(_Declared, frozen=True):
    """From what happening which preference is learned. `weight` below zero speaks against the value.

    The value is the constant `value`, or what stands at `path`. `on` is the kind of an entry, `tool` the tool of the
    call that a result answers; `when` is CEL over arguments, event and session.
    """

    name: Name
    on: Name
    preference: Name
    why: Line
    tool: str = ""
    when: Question = "true"
    value: Any = None
    path: Path | None = None
    weight: Annotated[int, msgspec.Meta(ge=-10, le=10)] = 1


class NotingRule(_Declared, frozen=True):
    """From what happening which record of the history is made: each field of it, and the path it is read from."""

    name: Name
    on: Name
    history: Name
    take: Annotated[dict[Name, Path], msgspec.Meta(min_length=1, max_length=8)]
    tool: str = ""
    when: Question = "true"


class Bound(_Declared, frozen=True):
    """Between what a mapping may set something, both included."""

    low: Number
    high: Number

    def within(self, wanted: int) -> int:
        """`wanted`, or the end of the range that is nearest to it."""
        return max(self.low, min(self.high, wanted))


class Threshold(_Declared, frozen=True):
    """A person must decide calls of `tools` when the whole number at `path` is above the preference's value.

    Without a path: always, when the preference says yes. `when` is CEL over what policy reads, and narrows it to some
    calls; no missing value may turn it off. It is added to what policy says and weakens nothing of it.
    """

    tools: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MOST)]
    why: Line
    path: Path | None = None
    bound: Bound | None = None
    when: Question = "true"
    tier: Annotated[int, msgspec.Meta(ge=1, le=HIGHEST_TIER)] = 2
    quorum: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1


class Mapping(_Declared, frozen=True):
    """What a preference changes in the agent's behaviour when it counts, and is `equals` if that is given."""

    name: Name
    preference: Name
    equals: Any = None
    instructions: Line = ""
    parameters: Annotated[dict[Name, Number], msgspec.Meta(max_length=8)] = {}
    threshold: Threshold | None = None


class Declaration(_Declared, frozen=True):
    """Everything an installation declares for the customers of one agent. `uses`: the purposes the agent works for."""

    name: Name
    version: Annotated[int, msgspec.Meta(ge=1)]
    purposes: Annotated[tuple[Purpose, ...], msgspec.Meta(min_length=1, max_length=MOST)]
    uses: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST)]
    preferences: Annotated[tuple[PreferenceKind, ...], msgspec.Meta(max_length=MOST)] = ()
    histories: Annotated[tuple[HistoryKind, ...], msgspec.Meta(max_length=MOST)] = ()
    learning: Annotated[tuple[LearningRule, ...], msgspec.Meta(max_length=MOST)] = ()
    noting: Annotated[tuple[NotingRule, ...], msgspec.Meta(max_length=MOST)] = ()
    mappings: Annotated[tuple[Mapping, ...], msgspec.Meta(max_length=MOST)] = ()
    parameters: Annotated[dict[Name, Bound], msgspec.Meta(max_length=8)] = {}  # what a mapping may set, within what

    @property
    def reference(self) -> str:
        """How entries name this declaration: `bank@1`."""
        return f"{self.name}@{self.version}"

    def preference(self, name: str) -> PreferenceKind | None:
        """The preference of that name, or None."""
        return next((kind for kind in self.preferences if kind.name == name), None)

    def purpose(self, name: str) -> Purpose | None:
        """The purpose of that name, or None."""
        return next((purpose for purpose in self.purposes if purpose.name == name), None)

    def kinds(self) -> frozenset[str]:
        """The kinds of entries that any rule listens to."""
        return frozenset([rule.on for rule in self.learning] + [rule.on for rule in self.noting])


def load(data: bytes) -> Declaration:
    """A declaration from its JSON. Raises BadDeclaration, naming what is wrong with what."""
    try:
        declared = msgspec.json.decode(data, type=Declaration)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadDeclaration(str(error)) from None
    for what in ("purposes", "preferences", "histories", "learning", "noting", "mappings"):
        _once(what, [item.name for item in getattr(declared, what)])
    _known("purpose", {purpose.name for purpose in declared.purposes}, _purposes_named(declared))
    preferences = {kind.name for kind in declared.preferences}
    _known("preference", preferences, [(rule.name, rule.preference) for rule in declared.learning])
    _known("preference", preferences, [(mapping.name, mapping.preference) for mapping in declared.mappings])
    _known(
        "history", {kind.name for kind in declared.histories}, [(rule.name, rule.history) for rule in declared.noting]
    )
    for rule in declared.learning:
        _check_learning(declared, rule)
    for noting in declared.noting:
        _check_question(noting.name, noting.when)
        for path in noting.take.values():
            _check_path(noting.name, path)
    for mapping in declared.mappings:
        _check_mapping(declared, mapping)
    return declared


def _once(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadDeclaration(f"two {what} are called {name!r}")


def _known(what: str, known: set[str], named: Iterable[tuple[str, str]]) -> None:
    for where, name in named:
        if name not in known:
            raise BadDeclaration(f"{where!r} names the {what} {name!r}, which is not declared")


def _purposes_named(declared: Declaration) -> list[tuple[str, str]]:
    return [
        *((kind.name, kind.purpose) for kind in declared.preferences),
        *((history.name, history.purpose) for history in declared.histories),
        *(("uses", name) for name in declared.uses),
    ]


def _check_question(name: str, when: str) -> None:
    try:
        guards.compiled(when)
    except Invalid as error:
        raise BadDeclaration(f"rule {name!r}: {error.title} {error.detail}") from None


def _check_path(name: str, path: str) -> None:
    if path.split(".")[0] not in SOURCES:
        raise BadDeclaration(f"{name!r}: {path!r} must begin with one of {', '.join(SOURCES)}")


def _check_learning(declared: Declaration, rule: LearningRule) -> None:
    _check_question(rule.name, rule.when)
    if (rule.path is None) == (rule.value is None):
        raise BadDeclaration(f"rule {rule.name!r} needs either a value or a path to one")
    if rule.weight == 0:
        raise BadDeclaration(f"rule {rule.name!r} weighs nothing")
    if rule.path is not None:
        _check_path(rule.name, rule.path)
    else:
        _check_value(declared, rule.name, rule.preference, rule.value)


def _check_value(declared: Declaration, where: str, preference: str, value: Any) -> None:
    kind = declared.preference(preference)
    assert kind is not None
    try:
        check(kind.value, value)
    except Invalid as error:
        raise BadDeclaration(f"{where!r}: {value!r} is no value of {preference!r}: {error.detail}") from None


def _check_mapping(declared: Declaration, mapping: Mapping) -> None:
    kind = declared.preference(mapping.preference)
    assert kind is not None
    if mapping.equals is not None:
        _check_value(declared, mapping.name, mapping.preference, mapping.equals)
    if PLACE in mapping.instructions and isinstance(kind.value, Words):
        raise BadDeclaration(f"mapping {mapping.name!r} would put a customer's own words among the instructions")
    for name, wanted in mapping.parameters.items():
        bound = declared.parameters.get(name)
        if bound is None or bound.within(wanted) != wanted:
            raise BadDeclaration(f"mapping {mapping.name!r} sets {name!r} out of its declared bounds")
    if mapping.threshold is not None:
        _check_threshold(mapping.name, kind, mapping.threshold)


def _check_threshold(name: str, kind: PreferenceKind, threshold: Threshold) -> None:
    _check_question(name, threshold.when)
    for fault in missing.faults(threshold.when, guards.NAMES, "approve", HIGHEST_TIER):
        raise BadDeclaration(f"mapping {name!r}: {fault}")
    if threshold.path is None:
        if not isinstance(kind.value, Flag):
            raise BadDeclaration(f"mapping {name!r}: a threshold without a path needs a preference that is yes or no")
        return
    _check_path(name, threshold.path)
    if not isinstance(kind.value, Whole | Amount) or threshold.bound is None:
        raise BadDeclaration(f"mapping {name!r}: a threshold on a path needs a number to compare, and a bound for it")
