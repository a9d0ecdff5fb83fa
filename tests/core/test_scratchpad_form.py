"""The form: what a state still lacks, and the words in which a model is asked for it."""

from __future__ import annotations

from agentstate.engine import schemas
from agentstate.engine.scratchpad import form

FORM = schemas.declare(
    "transfer",
    1,
    {
        "type": "object",
        "properties": {
            "amount": {"x-money": True, "title": "how much"},
            "purpose": {"enum": ["rent", "gift"]},
            "pin": {"type": "string", "x-private": True},
            "customer": {"$ref": "#/$defs/person"},
            "note": {"type": "string"},
        },
        "required": ["amount", "purpose", "pin", "customer"],
        "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    },
)


def test_the_blanks_of_a_form_are_what_it_requires_and_does_not_have():
    pad = {"purpose": "rent", "customer": {}}
    assert [blank.path for blank in form.blanks(FORM, pad)] == ["state.amount", "state.pin", "state.customer.name"]
    assert form.blanks(FORM, {"amount": 1, "purpose": 1, "pin": 1, "customer": {"name": 1}}) == ()
    assert form.blanks(None, {}) == ()


def test_a_model_is_asked_for_what_is_not_private():
    assert form.asked_for(form.blanks(FORM, {"customer": {}})) == (
        "- state.amount (how much): an amount of money\n- state.purpose: rent or gift\n- state.customer.name: string"
    )
