"""The reference-resolution vectors: a case played turn by turn, and what was answered to each of its expectations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentstate.engine.instants import stamp
from agentstate.engine.talk import reading, resolve, words
from agentstate.engine.understanding import changes
from agentstate.engine.understanding.entities import Entity, entity
from agentstate.engine.understanding.held import Resolution, Talk
from agentstate.engine.understanding.ontology import Ontology, load
from tests.core.worlds import START

FOLDER = Path(__file__).parent.parent / "vectors" / "reference_resolution"
RESOLVER = Path(resolve.__file__).parent
DOMAINS = ("banking", "airline", "retail")


@lru_cache
def domain(name: str) -> dict[str, Any]:
    """The file of a domain."""
    return json.loads((FOLDER / f"{name}.json").read_text())


@lru_cache
def world(name: str) -> tuple[Ontology, dict[str, Entity]]:
    """The ontology of a domain and its entities by id."""
    data = domain(name)
    made = {each["id"]: entity(each["id"], each["type"], each["label"], each.get("attributes"))
            for each in data["entities"]}  # fmt: skip
    return load({"types": data["ontology"]}), made


def resolved(talk: Talk, by: str, text: str, seq: int) -> Talk:
    """The talk after a message, resolved and recorded as `decide` and `evolve` do it."""
    return changes.said(talk, by, reading.understood(talk, by, text), seq, stamp(START))


def played(name: str, case: dict[str, Any]) -> Talk:
    """The talk after what came before the sentence."""
    ontology, made = world(name)
    talk = Talk(ontology=ontology)
    for seq, step in enumerate(case["before"]):
        for kind, what in step.items():
            if kind == "tool":
                talk = changes.known(talk, [made[e] for e in (*tied(made, what), *what)])
            else:
                talk = resolved(talk, kind, what, seq)
    return talk


def tied(made: dict[str, Entity], ids: list[str]) -> list[str]:
    """Entities that attributes of these name: a real result carries them along."""
    values = [value for e in ids for value in made[e].attributes.values()]
    return [value for value in dict.fromkeys(v for v in values if isinstance(v, str)) if value in made]


def answered(name: str, case: dict[str, Any]) -> tuple[Resolution, ...]:
    """The references of a case's sentence."""
    return resolve.resolve(played(name, case), case["say"])


def parts(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The expectations of a case."""
    return case["expect"] if isinstance(case["expect"], list) else [case["expect"]]


def judged() -> Iterator[tuple[str, str, set[str], set[str]]]:
    """For each expectation of all domains the case, its sentence, the ids that were resolved, and those that are right
    (none: nothing may be resolved).
    """
    for name in DOMAINS:
        for case in domain(name)["cases"]:
            found = answered(name, case)
            for part in parts(case):
                answers = [each for each in _about(case, part, found) if each.found == "entity" and not each.negated]
                meant = {entity for each in answers for entity in each.entities}
                right = part.get("entities") or [part["entity"]] if "entity" in part or "entities" in part else []
                yield case["id"], case["say"], meant, set(right)


def _about(case: dict[str, Any], part: dict[str, Any], found: tuple[Resolution, ...]) -> list[Resolution]:
    """The references that overlap what an expectation is about; all of them, where it names no phrase."""
    if "mention" not in part:
        return list(found)
    start = case["say"].lower().index(part["mention"].lower())
    end = start + len(part["mention"])
    return [each for each in found if each.start < end and each.end > start]


def closed_words() -> str:
    """Every word of the resolver's own lists."""
    lists = [value for name, value in vars(words).items() if name.isupper()]
    return f" {' '.join(word for each in lists for word in each)} "
