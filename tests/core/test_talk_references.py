"""The reference-resolution set: banking, against which the resolver was written, and airline and retail, kept apart.

The vectors were committed before the resolver. Figures are printed (`pytest -s`) and stand in docs/talk.md.
"""

from __future__ import annotations

import pytest

from agentstate.engine.understanding.notes import question
from tests.core import references
from tests.core.references import DOMAINS, Figures, domain, parts, score

LEAST = {"banking": (0.97, 0.97), "airline": (0.93, 0.9), "retail": (0.93, 0.9)}  # precision, recall


@pytest.fixture(scope="module")
def figures() -> dict[str, Figures]:
    """The figures of each domain, printed."""
    found = {name: score(name) for name in DOMAINS}
    print("\n" + references.table(found))
    return found


def test_there_are_at_least_240_cases_and_each_has_its_own_id():
    ids = [case["id"] for name in DOMAINS for case in domain(name)["cases"]]
    assert len(ids) >= 240
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", DOMAINS)
def test_what_is_answered_is_right_and_little_is_left_unanswered(name, figures):
    precision, recall = LEAST[name]
    assert figures[name].precision >= precision
    assert figures[name].recall >= recall
    assert figures[name].coverage >= recall


@pytest.mark.parametrize("name", DOMAINS)
def test_ambiguous_cases_come_out_ambiguous(name, figures):
    assert figures[name].said_ambiguous == figures[name].ambiguous > 0


@pytest.mark.parametrize("name", DOMAINS)
def test_what_refers_to_nothing_is_left_alone(name, figures):
    assert figures[name].said_none == figures[name].none > 0


@pytest.mark.parametrize("name", DOMAINS)
def test_whatever_is_ambiguous_comes_with_a_question_that_names_candidates(name):
    _, made = references.world(name)
    for case in domain(name)["cases"]:
        if any(part.get("ambiguous") for part in parts(case)):
            vague = [found for found in references.answered(name, case) if found.found == "ambiguous"]
            asked = [(found.entities[0], question(list(made.values()), found)) for found in vague]
            assert all(made[entity].label in ask for entity, ask in asked if entity in made)


def test_answers_with_more_confidence_are_right_at_least_as_often():
    """So that a threshold means something: what is answered at 85 or more is nearly always right."""
    sure = [right for confidence, right in references.judged(DOMAINS) if confidence >= 85]
    assert sum(sure) / len(sure) >= 0.97


def test_no_word_of_any_domain_is_in_the_resolver():
    nouns = {noun for name in DOMAINS for kind in domain(name)["ontology"] for noun in kind.get("nouns", ())}
    source = " ".join(path.read_text() for path in references.RESOLVER.glob("*.py") if path.name != "ontology.py")
    quoted = {word for word in nouns if f'"{word}"' in source or f" {word} " in references.closed_words()}
    assert quoted == {"option"}  # "option 2" is said of any list
