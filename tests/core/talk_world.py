"""Sessions in memory whose agent declares what it talks about: two accounts are known, and the customer asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.understanding.answer import RESOLVE_REFERENCES
from agentstate.engine.understanding.ontology import Ontology, load
from tests.core import worlds
from tests.core.worlds import proposed

ACCOUNTS = load({
    "types": [{"name": "account", "attributes": ["kind"]}],
    "topics": [{"name": "move", "words": ["move"]}, {"name": "card", "words": ["card"]}],
    "sources": [{"tool": "load_customer", "type": "account", "id": "{id}", "label": "{kind}", "path": "accounts"}],
})  # fmt: skip
LOADED = {"accounts": [{"id": "a", "kind": "savings"}, {"id": "b", "kind": "checking"}]}
ASKED = "What is in my savings? And is it open?"


@dataclass(frozen=True)
class World(worlds.World):
    """A session whose agent declares what it talks about."""

    ontology: Ontology | None = ACCOUNTS

    @property
    def given(self) -> core.CommandContext:
        return msgspec.structs.replace(super().given, ontology=self.ontology)


def loaded(text: str = ASKED, path: str | None = None) -> World:
    """A session with two accounts known, and a question about one of them."""
    world = World().after(core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Move money.", "customer"))
    world = world.asked(proposed("load_customer", path))
    world = world.ran(world.call("load_customer"), LOADED)
    return world.after(core.Say("customer", text, "customer"))


def resolving(message: Any, *references: Any) -> ev.CallProposed:
    """The model's call that says what phrases of the message mean: (mention, id, ...)."""
    said = [{"mention": mention, "entities": list(ids)} for mention, *ids in references]
    return proposed(RESOLVE_REFERENCES, message=message, references=said)
