"""What an installation's conversations are about, as data: types of entity, cues of topics, and where in a tool's
result entities are found.

A declaration is checked before use, and is bounded, because it lives in the state of each session.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.errors import Invalid

LONGEST = 120  # characters of one text of a declaration
MOST = 48  # entries of one list of it
DEEPEST = 8


class BadOntology(Invalid):
    """The declaration of entities cannot be used."""

    code = "bad_ontology"


class EntityType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A type of entity, and which values of a result are kept of one."""

    name: str
    attributes: tuple[str, ...] = ()


class TopicCue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What tells that a topic is talked about: words and phrases of the customer, tools that are called."""

    name: str
    label: str = ""
    words: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the result of `tool` holds entities of `type`.

    `path` leads to one object or a list of them ("" is the result itself); `id` and `label` are texts in which
    `{path}` stands for a value of that object; `attributes` says where an attribute is, if not under its own name.
    """

    type: str
    id: str
    label: str
    tool: str = ""
    path: str = ""
    attributes: dict[str, str] = {}


class Ontology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is declared for one agent."""

    types: tuple[EntityType, ...] = ()
    topics: tuple[TopicCue, ...] = ()
    sources: tuple[Source, ...] = ()

    def __hash__(self) -> int:  # its mappings have none; equality still compares everything
        return hash(tuple(kind.name for kind in self.types))


def load(data: object) -> Ontology:
    """An ontology from plain values (lists and dicts). Raises BadOntology naming what is wrong with it."""
    try:
        _bounded(data, 0)
        return checked(msgspec.convert(data, Ontology))
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadOntology(str(error)) from None


def _bounded(data: object, depth: int) -> None:
    """Raises BadOntology for texts, lists or depths beyond what a declaration needs."""
    if isinstance(data, str) and len(data) > LONGEST:
        raise BadOntology(f"got a text of {len(data)} characters, at most {LONGEST}")
    if isinstance(data, dict | list | tuple):
        if len(data) > MOST or depth > DEEPEST:
            raise BadOntology(f"got {len(data)} entries at depth {depth}, at most {MOST} and {DEEPEST}")
        for key in data if isinstance(data, dict) else ():
            _bounded(key, depth + 1)
        for value in data.values() if isinstance(data, dict) else data:
            _bounded(value, depth + 1)


def checked(ontology: Ontology) -> Ontology:
    """The same, if its names are unique and lead somewhere. Raises BadOntology."""
    _bounded(plain(ontology), 0)
    kinds = {kind.name: kind for kind in ontology.types}
    if "" in kinds:
        raise BadOntology("a name is empty", field="types")
    if len(kinds) < len(ontology.types):
        raise BadOntology("two types have the same name", field="types")
    for kind in ontology.types:
        if len(set(kind.attributes)) < len(kind.attributes):
            raise BadOntology(f"type {kind.name!r} has two attributes of the same name", field="attributes")
    for source in ontology.sources:
        if source.type not in kinds:
            raise BadOntology(f"sources names the type {source.type!r}, which is not declared", field="sources")
        unknown = set(source.attributes) - set(kinds[source.type].attributes)
        if unknown:
            raise BadOntology(f"type {source.type!r} has no attribute {min(unknown)!r}", field="sources")
    return ontology


def plain(ontology: Ontology) -> Any:
    """The ontology as lists and dicts, as `load` takes it."""
    return msgspec.to_builtins(ontology)
