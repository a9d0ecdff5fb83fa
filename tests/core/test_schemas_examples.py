"""Values made from a schema alone: always the same, always valid, and every property of a state is in one."""

from __future__ import annotations

import re

import pytest

from agentstate.engine.schemas import BadSchema, check_state, declare
from agentstate.engine.schemas.examples import examples
from agentstate.engine.schemas.sampling import fitting
from sessions.library import state_schemas
from tests.core.migrating_world import V1, V2, V3
from tests.core.test_schemas_state import BANK

DECLARED = [BANK, V1, V2, V3, state_schemas.named("bank").current]


@pytest.mark.parametrize("declared", DECLARED, ids=lambda declared: declared.reference)
def test_examples_fit_their_schema_and_name_every_property(declared):
    made = examples(declared)
    for value in made:
        check_state(declared, value)
    assert {name for value in made for name in value} == set(declared.schema["properties"])
    assert made == examples(declared)


@pytest.mark.parametrize(
    "pattern",
    [
        "^[0-9]{10}$",
        "^C-[0-9]{4,10}$",
        "^(own|payee)-\\d+$",
        "^[^@]+@[a-z]{2,}(\\.[a-z]+)?$",
        "^a?b*c+$",
        "^(?:x|y)z$",
        "^$",
    ],
)
def test_a_text_that_fits_a_pattern_is_made_of_it(pattern):
    assert re.search(pattern, fitting(pattern))


@pytest.mark.parametrize(
    "part",
    [
        {"type": "integer", "minimum": 5, "maximum": 4},
        {"type": "string", "pattern": "^[ü]$"},
        {"not": {}},
        {"type": "array", "minItems": 2, "uniqueItems": True, "items": {"const": 1}},
    ],
)
def test_where_nothing_valid_can_be_made_the_schema_has_to_give_examples(part):
    with pytest.raises(BadSchema) as refusal:
        examples(declare("x", 1, {"type": "object", "properties": {"odd": part}}))
    assert (refusal.value.path, refusal.value.rule) == ("state.odd", "examples")


def test_what_a_schema_gives_is_used():
    part = {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}x+$", "examples": ["DE12xx"]}
    assert {"odd": "DE12xx"} in examples(declare("x", 1, {"type": "object", "properties": {"odd": part}}))


def test_a_definition_that_holds_itself_ends():
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/t"}, "right": {"$ref": "#/$defs/t"}}}
    made = examples(
        declare("x", 1, {"type": "object", "$defs": {"t": tree}, "properties": {"tree": {"$ref": "#/$defs/t"}}})
    )
    assert {"tree": {}} in made
    assert max(str(value).count("left") for value in made) < 1_000
