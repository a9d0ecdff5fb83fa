"""The reference-resolution vectors: a case played turn by turn, its answer compared, and figures for each domain."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentstate.engine.instants import parse, stamp
from agentstate.engine.talk import reading, resolve, words
from agentstate.engine.understanding import changes
from agentstate.engine.understanding.entities import Entity, entity
from agentstate.engine.understanding.held import Resolution, Talk
from agentstate.engine.understanding.ontology import Ontology, load

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
    ontology = load({"types": data["ontology"]})
    made = {}
    for given in data["entities"]:
        made[given["id"]] = entity(
            given["id"], given["type"], given["label"], given.get("attributes"),
            given.get("gender", ""), tuple(given.get("names", ())),
        )  # fmt: skip
    return ontology, made


def played(name: str, case: dict[str, Any]) -> tuple[Talk, tuple[Entity, ...]]:
    """The talk after what came before the sentence, and the entities of earlier sessions."""
    ontology, made = world(name)
    talk, history = Talk(ontology=ontology), ()
    now = parse(domain(name)["now"])
    start = now - timedelta(minutes=len(case["before"]))
    for seq, step in enumerate(case["before"]):
        at = start + timedelta(minutes=seq)
        for kind, what in step.items():
            if kind == "tool":
                talk = changes.known(talk, [made[e] for e in tied(made, what) if e not in what])
                talk = changes.introduced(talk, [made[e] for e in what])
            elif kind == "past":
                talk = changes.known(talk, [made[e] for e in tied(made, what)])
                history = tuple(made[e] for e in what)
            else:
                talk = resolved(talk, kind, what, seq, at)
    return talk, history


def resolved(talk: Talk, by: str, text: str, seq: int, at: datetime) -> Talk:
    """The talk after a message, resolved and recorded as `decide` and `evolve` do it."""
    return changes.said(talk, by, reading.understood(talk, by, text, at), seq, stamp(at))


def tied(made: dict[str, Entity], ids: list[str]) -> list[str]:
    """Entities that attributes of these name: a real result carries them along."""
    values = [value for e in ids for value in made[e].attributes.values()]
    return [value for value in dict.fromkeys(v for v in values if isinstance(v, str)) if value in made]


def answered(name: str, case: dict[str, Any]) -> tuple[Resolution, ...]:
    talk, history = played(name, case)
    return resolve.resolve(talk, case["say"], parse(domain(name)["now"]), history)


@dataclass
class Figures:
    """Counts over cases: `entity` are those with an answer, of which `answered` were and `right` rightly."""

    cases: int = 0
    correct: int = 0
    entity: int = 0
    right: int = 0
    given: int = 0
    answered: int = 0
    ambiguous: int = 0
    said_ambiguous: int = 0
    none: int = 0
    said_none: int = 0

    @property
    def precision(self) -> float:
        return self.right / max(self.given, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.entity, 1)

    @property
    def coverage(self) -> float:
        return self.answered / max(self.entity, 1)


def parts(case: dict[str, Any]) -> list[dict[str, Any]]:
    return case["expect"] if isinstance(case["expect"], list) else [case["expect"]]


def verdict(case: dict[str, Any], part: dict[str, Any], found: tuple[Resolution, ...]) -> tuple[str, tuple[str, ...]]:
    """What was answered to one expectation: entity, ambiguous or none, and the ids."""
    if "mention" in part:
        start = case["say"].lower().index(part["mention"].lower())
        end = start + len(part["mention"])

        def share(r: Resolution) -> float:
            return (min(end, r.end) - max(start, r.start)) / (max(end, r.end) - min(start, r.start))

        over = sorted((r for r in found if share(r) > 0), key=share)
        found = tuple(over[-1:])
    vague = [r for r in found if r.found == "ambiguous"]
    if vague:
        return "ambiguous", tuple(sorted({e for r in vague for e in r.entities}))
    ids = tuple(sorted({e for r in found if r.found == "entity" for e in r.entities}))
    return ("entity", ids) if ids else ("none", ())


def score(name: str, show: bool = False) -> Figures:
    """The figures of one domain."""
    total = Figures()
    for case in domain(name)["cases"]:
        found = answered(name, case)
        for part in parts(case):
            count(total, case, part, found, show)
    return total


def count(
    total: Figures, case: dict[str, Any], part: dict[str, Any], found: tuple[Resolution, ...], show: bool
) -> None:
    kind, ids = verdict(case, part, found)
    total.cases += 1
    total.given += kind == "entity"
    if part.get("ambiguous"):
        total.ambiguous += 1
        good = kind == "ambiguous" and set(part["among"]) == set(ids)
        total.said_ambiguous += kind == "ambiguous"
    elif part.get("none"):
        total.none += 1
        good = kind == "none"
        total.said_none += good
    else:
        wanted = sorted(part.get("entities") or [part["entity"]])
        good = kind == "entity" and list(ids) == wanted
        total.entity += 1
        total.answered += kind == "entity"
        total.right += good
    total.correct += good
    if show and not good:
        print(case["id"], repr(case["say"]), part, "GOT", kind, ids, [(r.mention, r.why) for r in found])


def table(found: dict[str, Figures]) -> str:
    """The figures as rows of a page."""
    lines = ["| domain | cases | precision | recall | coverage | ambiguous | no reference |", "| --- |" + " ---: |" * 6]
    for name, f in found.items():
        shares = f"{f.precision:.3f} | {f.recall:.3f} | {f.coverage:.3f}"
        none = f"{f.said_none} of {f.none}"
        lines.append(f"| {name} | {f.cases} | {shares} | {f.said_ambiguous} of {f.ambiguous} | {none} |")
    return "\n".join(lines)


def judged(names: tuple[str, ...]) -> list[tuple[int, bool]]:
    """For each answered expectation its confidence, and whether the answer is right."""
    pairs = []
    for name in names:
        for case in domain(name)["cases"]:
            found = answered(name, case)
            for part in parts(case):
                kind, ids = verdict(case, part, found)
                wanted = set(part.get("entities") or [part.get("entity")])
                least = min((r.confidence for r in found if set(r.entities) & set(ids)), default=0)
                if kind == "entity":
                    pairs.append((least, set(ids) == wanted))
    return pairs


def closed_words() -> str:
    """Every word of the resolver's own lists."""
    lists = [value for name, value in vars(words).items() if name.isupper()]
    return f" {' '.join(word for each in lists for word in each)} "
