"""What a model is shown of the talk: the entities that it may name, then what phrases of the newest message mean.

The talk that is handed in holds nothing that the model may not see (`private.visible_talk`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine.understanding.changes import latest
from agentstate.engine.understanding.held import Talk

_encoder = msgspec.json.Encoder()


def known(talk: Talk, room: int) -> dict[str, Any]:
    """The customer's newest message and the entities that it may refer to, the latest first, in about `room` characters
    (0: any). Empty where nothing is known, or where somebody has said what the message refers to.
    """
    if talk.answered or talk.heard_seq < 0:
        return {}
    found, used = [], 0
    for each in latest(talk):
        line = {"id": each.id, "type": each.type, "label": each.label}
        used += len(_encoder.encode(line))
        if room and used > room:
            break
        found.append(line)
    return {"message": talk.heard_seq, "entities": found} if found else {}


def facts(talk: Talk) -> list[dict[str, Any]]:
    """What phrases of the customer's newest message mean, as far as somebody has said so."""
    labels = {each.id: each.label for each in talk.entities}
    return [
        {"said": each.mention, "means": [{"id": one, "label": labels.get(one, "")} for one in each.entities]}
        for each in talk.heard
    ]
