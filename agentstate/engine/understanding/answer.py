"""How a model says what phrases of a message mean: a call of the tool `resolve_references`."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from agentstate.engine.understanding.entities import MOST_TEXT
from agentstate.engine.understanding.held import MAX_REFERENCES
from agentstate.errors import Invalid

RESOLVE_REFERENCES = "resolve_references"
MAX_MENTION = 200  # characters of a phrase
MAX_MEANT = 20  # entities that one phrase can mean
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["message", "references"],
    "properties": {
        "message": {"type": "integer"},
        "references": {
            "type": "array",
            "maxItems": MAX_REFERENCES,
            "items": {
                "type": "object",
                "required": ["mention", "entities"],
                "properties": {
                    "mention": {"type": "string", "minLength": 1, "maxLength": MAX_MENTION},
                    "entities": {"type": "array", "minItems": 1, "maxItems": MAX_MEANT, "items": {"type": "string"}},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


class BadReferences(Invalid):
    """The references cannot be read."""

    code = "bad_references"


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model says that one phrase means."""

    mention: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_MENTION)]
    entities: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=MOST_TEXT)], ...],
        msgspec.Meta(min_length=1, max_length=MAX_MEANT),
    ]


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model says of the message of entry `message`: each phrase once, nothing where nothing refers."""

    message: int
    references: Annotated[tuple[Said, ...], msgspec.Meta(max_length=MAX_REFERENCES)]


def read(arguments: object) -> Answer:
    """Returns the answer in the arguments of a call. Raises BadReferences."""
    try:
        found = msgspec.convert(arguments, Answer)
    except msgspec.ValidationError as error:
        raise BadReferences(str(error)) from None
    if len({each.mention for each in found.references}) < len(found.references):
        raise BadReferences("a phrase is named twice")
    return found
