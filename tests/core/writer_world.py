"""Sessions whose agent has places of its own for its tools' results, with or without a schema; a model or a person
proposes plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace as changed

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine import schemas
from agentstate.engine.decide import offers
from agentstate.engine.instants import stamp
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.migrating import Catalogue, catalogue
from agentstate.engine.migrating.pruning import Reads, read_by
from demo.bank_agent import tools as bank
from sessions.library import policies, state_schemas
from sessions.tools import registry as tools
from tests.core import worlds

BANK_PATHS = {"load_customer": "state.customer", "authorize": "state.authorization", "transfer": "state.transfer"}
BANK_SCHEMA = state_schemas.named("bank")
NAMES = ("load_customer", "authorize", "transfer", "remember", "get_record", "cancel")
TOOLS = {name: worlds.facts(name, "idempotent", amounts=("amount",) if name == "transfer" else ()) for name in NAMES}
FREE = pol.Policy("free", 1, (pol.Rule("any", ("*",), "true", 1, "allow", "Anything."),))
BALANCE = {"minor": 5_000_000, "currency": "USD"}
SAVINGS, CHECKING, STRANGER = "1000000001", "1000000002", "9900174410"
CUSTOMER = {
    "name": "Ann",
    "number": "1",
    "accounts": [{"id": each, "kind": "own", "last4": each[-4:], "balance": BALANCE} for each in (SAVINGS, CHECKING)],
}


def only_staff(**properties: Any) -> Catalogue:
    """A schema of a state in which any tool writes, except where a property says otherwise."""
    form = {"type": "object", "x-writers": ["tool", "staff"], "properties": properties}
    return catalogue((schemas.declare("open", 1, form),))


@dataclass(frozen=True)
class World(worlds.World):
    """A session as of one moment."""

    policy: pol.Policy = FREE
    tools: Mapping[str, core.ToolFacts] = field(default_factory=lambda: TOOLS)
    offers: tuple[str, ...] = offers.ALL  # so that no call is refused for what was not offered
    schemas: Catalogue | None = None
    output_paths: Mapping[str, str] = field(default_factory=dict)
    reads: Reads = field(default_factory=Reads)

    @property
    def given(self) -> core.CommandContext:
        return changed(super().given, schemas=self.schemas, output_paths=self.output_paths, reads=self.reads)

    def changed_by_staff(self, path: str, value: Any) -> World:
        """The world after a supervisor has written a value."""
        actor, change = schemas.Actor("staff", ("supervisor",)), f"change-{len(self.history)}"
        put = PathChange(path, value)
        return self.after(core.ChangeState(self.state.seq, (put,), "user:ann", actor, change, self.state.pad))

    def planned(self, *calls: dict[str, Any]) -> World:
        """The world after a person handed a plan over."""
        return self.after(core.ProposePlan(calls, "user:ann", replace=True))

    def refusals(self) -> list[ev.CallRefused]:
        """The calls that were refused so far."""
        return self.events(ev.CallRefused)

    def began(self, tool: str) -> bool:
        """Whether a call of the tool has begun."""
        return any(each.tool == tool for each in self.events(ev.ToolIntended))


def opened(
    schemas: Catalogue | None = None, output_paths: Mapping[str, str] | None = None, reads: tuple[str, ...] = ()
) -> World:
    """A session whose customer has said something."""
    world = World(schemas=schemas, output_paths=output_paths or {}, reads=read_by(reads))
    return world.after(core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Hello.", "customer"))


def at_the_bank() -> World:
    """A session under the bank's schema and places."""
    return opened(BANK_SCHEMA, BANK_PATHS, ("state.authorization.allowed", "state.customer.accounts"))


def loaded() -> World:
    """A session under the bank's newest rules, which knows its customer."""
    world = World(**{**at_the_bank().__dict__, "policy": policies.named("bank")})
    return world.asked(worlds.proposed("load_customer")).ran_last(CUSTOMER)


AIRLINE_PATHS = {
    "get_user_details": "state.user",
    "get_reservation_details": "state.reservations.{reservation_id}",
    "update_reservation_passengers": "state.reservations.{reservation_id}",
    "cancel_reservation": "state.reservations.{reservation_id}",
}
AIRLINE_TOOLS = {name: worlds.facts(name, "once" if name[0] in "uc" else "pure") for name in AIRLINE_PATHS}


def at_the_airline(*, declared: bool) -> World:
    """A session under the airline's rules of a customer whose profile was read, with and without the schema."""
    held = {"policy": policies.named("airline"), "tools": AIRLINE_TOOLS}
    world = opened(state_schemas.named("airline") if declared else None, AIRLINE_PATHS)
    world = World(**{**world.__dict__, **held}).changed_by_staff("state.user_id", "ada_brook_7")
    user = {"user_id": "ada_brook_7", "membership": "silver", "payment_methods": {}}
    return world.asked(worlds.proposed("get_user_details", user_id="ada_brook_7")).ran_last(user)


def reservation(key: str, **more: Any) -> dict[str, Any]:
    """A reservation of the customer in business, which may be cancelled; in economy a person decides."""
    flight = {"flight_number": "NV10", "date": "2026-12-01", "origin": "BOS", "destination": "SEA"}
    return {
        "reservation_id": key, "user_id": "ada_brook_7", "origin": "BOS", "destination": "SEA", "cabin": "business",
        "flight_type": "one_way", "flights": [flight], "passengers": [], "created_at": "2026-11-01T10:00:00",
        "total_baggages": 0, "nonfree_baggages": 0, "insurance": "no", "status": "active", **more,
    }  # fmt: skip


def moving(minor: int, **more: Any) -> dict[str, Any]:
    """The arguments of a transfer between the customer's accounts."""
    return {"amount": {"minor": minor, "currency": "USD"}, "from_account": SAVINGS, "to_account": CHECKING, **more}


def cleared(world: World, allowed: bool = True, **asked: Any) -> World:
    """The world after the bank's tool asked the authorization service, which says so at once."""
    question = {"customer": "C-1", "purpose": "transfer between own accounts", **asked}
    said = {"allowed": allowed, "reason": "", "reference": "AZ-1", "at": stamp(world.given.at)[:19]}
    context = SimpleNamespace(customer="C-1", session="s", key="k")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bank, "_ask", lambda *_: said)
        found = tools.find("authorize")
        assert found is not None
        assert found.run is not None
        result = found.run(question, context)  # type: ignore[arg-type]
    return world.asked(worlds.proposed("authorize", **question)).ran_last(result)
