"""The policies of this installation: data, versioned, with cases beside them.

A folder a policy: `bank/1.json`, `bank/2.json`, and for each version `bank/1.cases.json`. A version that was released
is never changed: what a call was gated by must stay readable; write the next one. An agent names a policy (its newest
version is in force) or one version of it (`bank@1`). A superseded version of which a missing value turns a rule off can
be read and dry-run; it cannot be put in force.

Nothing that cannot be read is passed over: a file, a rule, a guard, a case that the policy does not meet, a role that
nobody can have. It is refused by name, and the process that needs it does not start.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

from agentstate.engine import policy as pol
from agentstate.engine.policy import cases as tests_of
from agentstate.engine.policy.cases import Cases, Result
from agentstate.people.roles import Role

FOLDER = Path(__file__).resolve().parent.parent / "shipped" / "policies"
_further: list[Path] = []  # of the installation's own, told once at start
_REFERENCE = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}(@[1-9][0-9]{0,8})?\Z")
ROLES = frozenset(role.value for role in Role)


class BadFile(pol.BadPolicy):
    """This file of a policy cannot be used."""


@lru_cache
def named(reference: str) -> pol.Policy:
    """The policy `bank`, in its newest version, or `bank@1`. Raises BadPolicy naming the file."""
    if not _REFERENCE.match(reference):
        raise BadFile(f"got {reference!r:.120}, want the name of a policy, or name@version")
    name, _, version = reference.partition("@")
    newest = max(versions(name), default=0)
    wanted = int(version or newest)
    return read(_home(name) / f"{wanted}.json", superseded=wanted < newest)


def add_folder(folder: Path) -> None:
    """Policies of the installation's own: a folder of folders, as this one. Raises BadFile where a name is taken."""
    if not folder.is_dir():
        raise BadFile(f"{folder}: there is no such folder")
    if taken := sorted({each.name for each in _homes(folder)} & {each.name for each in _homes(FOLDER)}):
        raise BadFile(f"{folder}: there is a policy {taken[0]!r} already")
    if folder not in _further:
        _further.append(folder)


def _homes(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if each.is_dir() and _versions(each)]


def _home(name: str) -> Path:
    """The folder of a policy; where there is none, the one in which it would be."""
    return next((each / name for each in _further if (each / name).is_dir()), FOLDER / name)


def names() -> list[str]:
    """Every policy that there is, sorted."""
    return sorted(home.name for folder in (FOLDER, *_further) for home in _homes(folder))


def versions(name: str) -> list[int]:
    """The versions of a policy, the oldest first."""
    return _versions(_home(name))


def _versions(home: Path) -> list[int]:
    found = (file.stem for file in home.glob("*.json") if "." not in file.stem)
    return sorted(int(stem) for stem in found if stem.isdecimal())


def read(file: Path, *, superseded: bool) -> pol.Policy:
    """The policy in a file of its folder, with everything it names checked. Raises BadFile."""
    try:
        policy = (pol.load_superseded if superseded else pol.load)(file.read_bytes())
        ZoneInfo(policy.zone)
    except (OSError, ValueError, KeyError) as error:
        raise BadFile(f"{file.parent.name}/{file.name}: {type(error).__name__}: {error}") from None
    except pol.BadPolicy as error:
        raise BadFile(f"{file.parent.name}/{file.name}: {error.detail}") from None
    if policy.reference != f"{file.parent.name}@{file.stem}":
        raise BadFile(f"{file.parent.name}/{file.name}: it says that it is {policy.reference}")
    for rule in policy.rules:
        for unknown in sorted(roles_of(rule) - ROLES):
            raise BadFile(f"{file.parent.name}/{file.name}: rule {rule.name!r}: there is no role {unknown!r}")
    return policy


def roles_of(rule: pol.Rule) -> set[str]:
    """The roles that a rule names as reviewers."""
    return {name.removeprefix("role:") for name in reviewers_of(rule) if name.startswith("role:")}


def reviewers_of(rule: pol.Rule) -> list[str]:
    """Everybody whom a rule names, in its chain as well."""
    return [*rule.reviewers, *(name for step in rule.chain for name in step.reviewers)]


@lru_cache
def cases_of(reference: str) -> Cases:
    """The cases of a version. Raises BadFile."""
    policy = named(reference)
    file = _home(policy.name) / f"{policy.version}.cases.json"
    try:
        return tests_of.load_cases(file.read_bytes())
    except OSError as error:
        raise BadFile(f"{policy.name}/{file.name}: {type(error).__name__}: {error}") from None
    except pol.BadPolicy as error:
        raise BadFile(f"{policy.name}/{file.name}: {error.detail}") from None


@lru_cache
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
    return hashlib.sha256((_home(policy.name) / f"{policy.version}.json").read_bytes()).hexdigest()


@lru_cache
def zone_named(zone: str) -> ZoneInfo:
    """The time zone by whose clock rules read `time`."""
    return ZoneInfo(zone)
