"""What an installation's conversations are about, as data: types of entity with their nouns, attributes and verbs, cues
of topics, and where in a tool's result entities are found.

The resolver knows English and nothing else; every word of a domain comes from here. A declaration is checked before
use, and is bounded, because it lives in the state of each session.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from agentstate.errors import Invalid

AttributeKind = Literal["word", "code", "money", "number", "instant", "flag", "entity"]
Category = Literal["thing", "person", "place", "event"]

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
Names = Annotated[tuple[Name, ...], msgspec.Meta(max_length=24)]


class BadOntology(Invalid):
    """The declaration of entities cannot be used."""

    code = "bad_ontology"


class Attribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attribute of a type.

    `nouns` are what people call it ("balance"). `words` maps what is said to a value ("current" to "checking"); of a
    flag, every key says that it is set. `scale` names what comparisons are of: amount, price, time, duration, weight,
    distance, quality (by default: money and numbers are amounts, instants times). `more` and `less` are words of the
    domain that ask for the greatest and the least value. An `entity` is the id of another entity.
    """

    name: Name
    kind: AttributeKind
    nouns: Names = ()
    scale: Annotated[str, msgspec.Meta(max_length=20)] = ""
    words: Annotated[dict[Name, Name], msgspec.Meta(max_length=48)] = {}
    more: Names = ()
    less: Names = ()


class EntityType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A type of entity. `happened` names the instant attribute at which an event took place; `verbs` are what is done
    to one; `shapes` are how its codes look: `#` a digit, `@` a letter, anything else itself.
    """

    name: Name
    nouns: Names = ()
    category: Category = "thing"
    happened: str = ""
    verbs: Names = ()
    shapes: Names = ()
    attributes: Annotated[tuple[Attribute, ...], msgspec.Meta(max_length=24)] = ()


class TopicCue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What tells that a topic is talked about: words, types of entity, tools that are called."""

    name: Name
    label: Annotated[str, msgspec.Meta(max_length=60)] = ""
    words: Names = ()
    types: Names = ()
    tools: Names = ()


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the result of `tool` holds entities of `type`.

    `path` leads to one object or a list of them ("" is the result itself); `id` and `label` are texts in which
    `{path}` stands for a value of that object; `attributes` says where an attribute is, if not under its own name.
    """

    type: Name
    id: Name
    label: Annotated[str, msgspec.Meta(max_length=120)]
    tool: str = ""
    path: Annotated[str, msgspec.Meta(max_length=120)] = ""
    attributes: Annotated[dict[Name, Name], msgspec.Meta(max_length=24)] = {}


class Ontology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is declared for one agent."""

    types: Annotated[tuple[EntityType, ...], msgspec.Meta(max_length=24)] = ()
    topics: Annotated[tuple[TopicCue, ...], msgspec.Meta(max_length=24)] = ()
    sources: Annotated[tuple[Source, ...], msgspec.Meta(max_length=48)] = ()

    def __hash__(self) -> int:  # its mappings have none; equality still compares everything
        return hash(tuple(kind.name for kind in self.types))


def load(data: object) -> Ontology:
    """An ontology from plain values (lists and dicts). Raises BadOntology naming what is wrong with it."""
    try:
        return checked(msgspec.convert(data, Ontology))
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadOntology(str(error)) from None


def checked(ontology: Ontology) -> Ontology:
    """The same, if its names are unique and lead somewhere. Raises BadOntology."""
    kinds = {kind.name: kind for kind in ontology.types}
    if len(kinds) < len(ontology.types):
        raise BadOntology("two types have the same name", field="types")
    for kind in ontology.types:
        _check_type(kind)
    for named, where in _named_types(ontology):
        if named not in kinds:
            raise BadOntology(f"{where} names the type {named!r}, which is not declared", field=where)
    for source in ontology.sources:
        unknown = set(source.attributes) - {attribute.name for attribute in kinds[source.type].attributes}
        if unknown:
            raise BadOntology(f"type {source.type!r} has no attribute {min(unknown)!r}", field="sources")
    return ontology


def _check_type(kind: EntityType) -> None:
    attributes = {attribute.name: attribute for attribute in kind.attributes}
    if len(attributes) < len(kind.attributes):
        raise BadOntology(f"type {kind.name!r} has two attributes of the same name", field="attributes")
    if kind.happened and (kind.happened not in attributes or attributes[kind.happened].kind != "instant"):
        raise BadOntology(f"type {kind.name!r}: {kind.happened!r} is no instant of it", field="happened")


def _named_types(ontology: Ontology) -> list[tuple[str, str]]:
    topics = [(name, "topics") for topic in ontology.topics for name in topic.types]
    return [*topics, *((source.type, "sources") for source in ontology.sources)]


def plain(ontology: Ontology) -> Any:
    """The ontology as lists and dicts, as `load` takes it."""
    return msgspec.to_builtins(ontology)
