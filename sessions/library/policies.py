"""The policies of this installation: data, versioned, with cases beside them.

A folder a policy in `policies/` of the library: `bank/1.json`, `bank/2.json`, and for each version `bank/1.cases.json`.
A version that was released is never changed: what a call was gated by must stay readable; write the next one. An agent
names a policy (its newest version is in force) or one version of it (`bank@1`). A superseded version of which a missing
value turns a rule off can be read and dry-run; it cannot be put in force.

Nothing that cannot be read is passed over: a file, a rule, a guard, a case that the policy does not meet, a role that
nobody can have. It is refused by name, and the process that needs it does not start.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from zoneinfo import ZoneInfo

from agentstate.engine import policy as pol
from agentstate.engine.policy import cases as tests_of
from agentstate.engine.policy.cases import Cases, Result
from agentstate.people.roles import Role
from sessions.library import folders
from sessions.library.folders import File

KIND = "policies"
_REFERENCE = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}(@[1-9][0-9]{0,8})?\Z")
ROLES = frozenset(role.value for role in Role)


class BadFile(pol.BadPolicy):
    """This file of a policy cannot be used."""


@folders.cached
def named(reference: str) -> pol.Policy:
    """The policy `bank`, in its newest version, or `bank@1`. Raises BadPolicy naming the file."""
    if not _REFERENCE.match(reference):
        raise BadFile(f"got {reference!r:.120}, want the name of a policy, or name@version")
    name, _, version = reference.partition("@")
    newest = max(versions(name), default=0)
    wanted = int(version or newest)
    return read(_file(f"{name}/{wanted}.json"), superseded=wanted < newest)


def _file(path: str) -> File:
    """The file of that path. Raises BadFile."""
    found = folders.files(KIND).get(path)
    if found is None:
        raise BadFile(f"{path}: there is no such file")
    return found


def names() -> list[str]:
    """Every policy that there is, sorted."""
    return sorted({name for name, _ in _versions()})


def versions(name: str) -> list[int]:
    """The versions of a policy, the oldest first."""
    return sorted(version for each, version in _versions() if each == name)


@folders.cached
def _versions() -> tuple[tuple[str, int], ...]:
    parts = (path.removesuffix(".json").partition("/") for path in folders.files(KIND))
    return tuple((name, int(stem)) for name, _, stem in parts if stem.isdecimal())


def read(file: File, *, superseded: bool) -> pol.Policy:
    """The policy in a file, with everything it names checked. Raises BadFile."""
    try:
        policy = (pol.load_superseded if superseded else pol.load)(file.data)
        ZoneInfo(policy.zone)
    except (OSError, ValueError, KeyError) as error:
        raise BadFile(f"{file.path}: {type(error).__name__}: {error}") from None
    except pol.BadPolicy as error:
        raise BadFile(f"{file.path}: {error.detail}") from None
    if f"{policy.name}/{policy.version}.json" != file.path:
        raise BadFile(f"{file.path}: it says that it is {policy.reference}")
    for rule in policy.rules:
        for unknown in sorted(roles_of(rule) - ROLES):
            raise BadFile(f"{file.path}: rule {rule.name!r}: there is no role {unknown!r}")
    return policy


def roles_of(rule: pol.Rule) -> set[str]:
    """The roles that a rule names as reviewers."""
    return {name.removeprefix("role:") for name in reviewers_of(rule) if name.startswith("role:")}


def reviewers_of(rule: pol.Rule) -> list[str]:
    """Everybody whom a rule names, in its chain as well."""
    return [*rule.reviewers, *(name for step in rule.chain for name in step.reviewers)]


@folders.cached
def cases_of(reference: str) -> Cases:
    """The cases of a version. Raises BadFile."""
    policy = named(reference)
    file = _file(f"{policy.name}/{policy.version}.cases.json")
    try:
        return tests_of.load_cases(file.data)
    except pol.BadPolicy as error:
        raise BadFile(f"{file.path}: {error.detail}") from None


@folders.cached
def results_of(reference: str) -> tuple[Result, ...]:
    """What the version says of its cases. Raises BadFile."""
    return tests_of.run(named(reference), cases_of(reference))


def must_hold(reference: str) -> None:
    """Raises BadFile unless a missing value turns no rule of the version off, it meets its cases, and every rule of it
    decides one.
    """
    policy = named(reference)
    for finding in (*pol.open_rules(policy), *tests_of.findings(policy, cases_of(reference))):
        raise BadFile(f"{policy.reference}: {finding}")


def digest_of(reference: str) -> str:
    """SHA-256, in hex, of a version's file: what is compared when it is said that a policy changed."""
    policy = named(reference)
    return hashlib.sha256(_file(f"{policy.name}/{policy.version}.json").data).hexdigest()


@lru_cache
def zone_named(zone: str) -> ZoneInfo:
    """The time zone by whose clock rules read `time`."""
    return ZoneInfo(zone)
