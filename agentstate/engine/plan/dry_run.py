"""A dry run: what a plan would do on given values, in which order, with every effect simulated.

It is the same machinery that works through a plan for real (`rounds`, `ready`); only the results are made up: a tool's
declared example, or else a value that its schema of results allows. Each step's arguments are checked against the
tool's schema as they would be. `fates` says what else is to become of a call: an outcome by its number, `failed` or
`rejected`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from agentstate.engine import schemas
from agentstate.engine.plan import ready, rounds
from agentstate.engine.plan.check import accepted
from agentstate.engine.plan.facts import Facts, ToolCard
from agentstate.engine.plan.model import Plan
from agentstate.engine.plan.ready import Standing
from agentstate.engine.plan.rounds import Round
from agentstate.engine.references import Views
from agentstate.engine.schemas.compiled import encode
from agentstate.engine.schemas.examples import examples

Fate = int | Literal["failed", "rejected"]
Gate = Callable[[str, dict[str, Any], Views], str]
NO_FATES: Mapping[str, Fate] = {}


class Step(msgspec.Struct, frozen=True):
    """One call that would run: its wave, arguments, simulated result, what it would write, and what would stop it for
    a person first (`gate`), if anything would.
    """

    call: str
    tool: str
    wave: int
    arguments: dict[str, Any]
    result: Any
    status: str
    wrote: tuple[str, ...] = ()
    reason: str = ""
    gate: str = ""


class DryRun(msgspec.Struct, frozen=True):
    """The steps in their order, where every call stands at the end, and the state then (instance -> scratchpad)."""

    steps: tuple[Step, ...]
    standings: Mapping[str, Standing]
    states: Mapping[str, dict[str, Any]]

    @property
    def waves(self) -> tuple[tuple[str, ...], ...]:
        """The calls that would run, side by side and one after the other."""
        count = max((step.wave for step in self.steps), default=-1) + 1
        return tuple(tuple(step.call for step in self.steps if step.wave == wave) for wave in range(count))


def dry_run(plan: Plan, facts: Facts, fates: Mapping[str, Fate] = NO_FATES, gate: Gate | None = None) -> DryRun:
    """Work through a plan on the values of `facts`. `gate` says of a call, its arguments and what there is to see then
    why it would stop for a person, or an empty string. Raises PlanRefused, BadOutcome.
    """
    stage = _Stage(Round(accepted(plan, facts)), facts, fates, gate)
    found = list(ready.standings(stage.now, stage.views(""), stage.others()).values())
    wave = 0
    while found:
        stage.record(found)
        ran = [stage.run(each, wave) for each in found if each.status == "ready"]
        found = list(ready.following(stage.now, stage.views(""), ran, stage.others()))
        wave += 1
    standings = ready.standings(stage.now, stage.views(""), stage.others())
    return DryRun(tuple(stage.steps), standings, stage.pads)


class _Stage:
    """Where a dry run stands: the round, and the scratchpad of each instance."""

    def __init__(self, now: Round, facts: Facts, fates: Mapping[str, Fate], gate: Gate | None) -> None:
        self.now, self._facts, self._fates, self._gate = now, facts, fates, gate
        self.pads = {name: dict(facts.of(name).get("state", {})) for name in ("", *facts.instances)}
        self.steps: list[Step] = []

    def views(self, instance: str) -> Views:
        return {**self._facts.of(instance), "state": self.pads[instance]}

    def others(self) -> Mapping[str, Views]:
        return {name: self.views(name) for name in self._facts.instances}

    def record(self, found: list[Standing]) -> None:
        for each in found:
            if each.status == "skipped":
                self.now = rounds.skipped(self.now, each.call, each.reason, kept=each.kept)
            elif each.status == "blocked":
                self.now = rounds.blocked(self.now, each.call, each.reason)

    def run(self, standing: Standing, wave: int) -> str:
        call = self.now.plan.by_id[standing.call]
        card = self._facts.card_of(call)
        assert card is not None  # it was checked
        arguments = standing.arguments or {}
        gate = self._gate(call.id, arguments, self.views(call.instance)) if self._gate else ""
        pad, fate = self.pads[call.instance], self._fates.get(call.id, 0)
        broken = schemas.problems(card.parameters, arguments, "arguments", limit=1)
        result: Any = None
        wrote: tuple[Any, ...] = ()
        if broken or fate == "rejected":
            reason = f"{broken[0].path}: {broken[0].rule}" if broken else "simulated"
            self.now = rounds.rejected(self.now, call.id, reason)
        elif fate == "failed":
            result = {"error": "simulated"}
            self.now, pad, wrote = rounds.failed(self.now, pad, call.id, result, reason="simulated")
        else:
            result = simulated(card)
            self.now, pad, wrote = rounds.done(self.now, pad, call.id, result, outcome=int(fate))
        self.pads[call.instance] = pad
        became = self.now.outcomes[call.id]
        paths = tuple(map(str, wrote))
        self.steps.append(Step(call.id, call.tool, wave, arguments, result, became.status, paths, became.reason, gate))
        return call.id


def simulated(card: ToolCard) -> Any:
    """A result as the tool could give it."""
    if card.example is not msgspec.UNSET:
        return card.example
    if card.result is None or isinstance(card.result, bool):
        return {"simulated": card.name}
    return _made(encode(card.result), card.name)


@lru_cache(maxsize=1_000)
def _made(source: bytes, tool: str) -> Any:
    schema = schemas.compiled.decode(source)
    definitions = schema.pop("$defs", {})
    try:
        declared = schemas.declare(
            "result",
            1,
            {"type": "object", "properties": {"result": schema}, "required": ["result"], "$defs": definitions},
        )
        found = [each["result"] for each in examples(declared) if "result" in each]
    except schemas.BadSchema:
        found = []  # nothing can be made of it, so nothing is claimed
    return max(found, key=lambda value: len(repr(value)), default={"simulated": tool})
