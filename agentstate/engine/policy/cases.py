"""Cases beside a policy: calls with the values that rules read, and what the policy must say of them.

A policy without a case for each of its rules is not finished: `findings` says which rule decides none.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec

from agentstate.engine import guards
from agentstate.engine.policy import Policy, Verdict, evaluate
from agentstate.engine.policy.rules import MAX_BYTES, BadPolicy
from agentstate.engine.policy.terms import Gate
from agentstate.engine.speech import SAY, read

MAX_CASES = 5_000
UNREADABLE = "could not be read"


class Want(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must be said. `terms`: any other fields of the verdict, as JSON. `unreadable`: that rule cannot be read."""

    gate: Gate
    tier: int
    rule: str
    terms: dict[str, Any] = {}
    unreadable: bool = False


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call. `given` holds the other values that rules read, by name; what it leaves out is as the file says. Of
    words (`say`) `arguments` holds the text, and `private` where rules ask about it; the rest is read from the text.
    """

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    tool: str
    want: Want
    arguments: dict[str, Any] = {}
    effect: Literal["pure", "idempotent", "once"] = "once"
    given: dict[str, Any] = {}


class Cases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of cases; `given` is what is usual."""

    cases: Annotated[tuple[Case, ...], msgspec.Meta(max_length=MAX_CASES)]
    given: dict[str, Any] = {}


_decoder = msgspec.json.Decoder(Cases, float_hook=Decimal)


class Result(msgspec.Struct, frozen=True):
    """What became of a case. `fault` is empty where the policy says what it must."""

    case: Case
    said: Verdict
    fault: str


def load_cases(data: bytes) -> Cases:
    """The cases from their JSON. Raises BadPolicy."""
    if len(data) > MAX_BYTES:
        raise BadPolicy(f"cases: {len(data)} bytes, {MAX_BYTES} allowed")
    try:
        cases = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadPolicy(f"cases: {error}") from None
    for given in (cases.given, *(case.given for case in cases.cases)):
        if unknown := sorted(set(given) - set(guards.NAMES)):
            raise BadPolicy(f"cases: rules read no {', '.join(unknown)}; they read {', '.join(guards.NAMES)}")
    return cases


def run(policy: Policy, cases: Cases) -> tuple[Result, ...]:
    """Every case judged."""
    return tuple(_judged(policy, cases, case) for case in cases.cases)


def arguments_of(case: Case) -> dict[str, Any]:
    """Returns the arguments of a case as rules read them."""
    return case.arguments if case.tool != SAY else {**read(str(case.arguments.get("text"))), **case.arguments}


def _judged(policy: Policy, cases: Cases, case: Case) -> Result:
    values = {**cases.given, **case.given, "arguments": arguments_of(case)}
    said = evaluate(policy, case.tool, case.effect, values)
    return Result(case, said, _fault(case.want, said))


def _fault(want: Want, said: Verdict) -> str:
    wanted = {"gate": want.gate, "tier": want.tier, "rule": want.rule, **want.terms}
    plain = msgspec.json.decode(msgspec.json.encode(said))
    wrong = [
        f"{name}: got {plain.get(name)!r:.200}, want {value!r:.200}"
        for name, value in wanted.items()
        if plain.get(name) != value
    ]
    if (UNREADABLE in said.why) != want.unreadable:
        wrong.append(f"unreadable: got {not want.unreadable}, want {want.unreadable}")
    return "; ".join(wrong)


def undecided(policy: Policy, cases: Cases) -> list[str]:
    """The rules that decide no case."""
    named = {case.want.rule for case in cases.cases}
    return [rule.name for rule in policy.rules if rule.name not in named]


def findings(policy: Policy, cases: Cases) -> list[str]:
    """Everything that is wrong, in words; empty: the policy says what its cases want, and each rule has one."""
    names: Sequence[str] = [case.name for case in cases.cases]
    twice = sorted({name for name in names if names.count(name) > 1})
    return [
        *(f"two cases are called {name!r}" for name in twice),
        *(f"case {result.case.name!r}: {result.fault}" for result in run(policy, cases) if result.fault),
        *(f"rule {name!r} decides no case" for name in undecided(policy, cases)),
    ]
