"""The policies of this installation in words: rules, cases with their results, versions and what changed between two.

Policies are no secret among those who see sessions, as charts are not.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from agentstate.engine import policy as pol
from agentstate.engine.policy.cases import Result
from agentstate.errors import NotFound
from sessions.agents import registry
from sessions.charts.queries import must_see_charts
from sessions.core.session_lines import Person
from sessions.http.bodies import About
from sessions.library import policies


class UnknownPolicy(NotFound):
    """There is no such policy, or no such version of it."""

    code = "unknown_policy"


class PolicyLine(msgspec.Struct, frozen=True):
    """A policy in a list. `agents` work under this version."""

    reference: Annotated[str, About("`name@version`")]
    name: str
    version: int
    versions: Annotated[list[int], About("the oldest first")]
    rules: int
    asking: Annotated[int, About("rules that ask a person or hold")]
    cases: int
    failed: int
    agents: Annotated[list[str], About("those that work under this version")]
    digest: Annotated[str, About("SHA-256 of its file, in hex")]


class RuleChange(msgspec.Struct, frozen=True):
    """What became of a rule from one version to the next: `fields` names what is otherwise."""

    rule: str
    how: Annotated[str, About("added, removed or changed")]
    fields: list[str] = []


class PolicyView(msgspec.Struct, frozen=True):
    """A version in full; `changes` are those since the version before, `before` (0: there is none). `fails_open`: where
    a missing value turns a rule off, which only a superseded version may have.
    """

    line: PolicyLine
    policy: pol.Policy
    results: list[Result]
    before: int
    changes: list[RuleChange]
    fails_open: list[str]


def policy_lines(user: Person) -> list[PolicyLine]:
    """Every policy in its newest version, by name. Raises PermissionDenied."""
    must_see_charts(user)
    return [_line(policies.named(name)) for name in policies.names()]


def policy_view(user: Person, reference: str) -> PolicyView:
    """One policy, `bank` or `bank@1`. Raises UnknownPolicy, PermissionDenied."""
    must_see_charts(user)
    try:
        policy = policies.named(reference)
    except policies.BadFile as error:
        raise UnknownPolicy(error.detail) from None
    older = [each for each in policies.versions(policy.name) if each < policy.version]
    before = policies.named(f"{policy.name}@{older[-1]}") if older else None
    results = list(policies.results_of(policy.reference))
    found = changes(before, policy)
    return PolicyView(_line(policy), policy, results, older[-1] if older else 0, found, pol.open_rules(policy))


def changes(before: pol.Policy | None, policy: pol.Policy) -> list[RuleChange]:
    """What became of each rule; nothing where there is no version before."""
    if before is None:
        return []
    was, now = ({rule.name: rule for rule in each.rules} for each in (before, policy))
    found = [RuleChange(name, "removed") for name in was if name not in now]
    for name, rule in now.items():
        if name not in was:
            found.append(RuleChange(name, "added"))
        elif fields := [each for each in rule.__struct_fields__ if getattr(rule, each) != getattr(was[name], each)]:
            found.append(RuleChange(name, "changed", fields))
    return found


def _line(policy: pol.Policy) -> PolicyLine:
    results = policies.results_of(policy.reference)
    return PolicyLine(
        reference=policy.reference,
        name=policy.name,
        version=policy.version,
        versions=policies.versions(policy.name),
        rules=len(policy.rules),
        asking=sum(rule.gate in ("hold", "approve") for rule in policy.rules),
        cases=len(results),
        failed=sum(bool(result.fault) for result in results),
        agents=[name for name in registry.names() if _works_under(name, policy)],
        digest=policies.digest_of(policy.reference),
    )


def _works_under(agent: str, policy: pol.Policy) -> bool:
    return registry.policy_named(registry.find(agent).policy).reference == policy.reference


def as_json(policy: pol.Policy) -> dict[str, Any]:
    """A policy as its file has it."""
    found: dict[str, Any] = msgspec.to_builtins(policy)
    return found
