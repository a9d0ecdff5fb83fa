"""Whether the files of a name can be used, for each kind. The kinds' own modules say what is wrong."""

from __future__ import annotations

from collections.abc import Callable

from agentstate.errors import AgentStateError
from sessions.agents import prices, registry
from sessions.library import charts, folders, policies, state_schemas
from sessions.library.folders import BadLibrary, Names
from sessions.profiles import declarations


def _policy(name: str) -> None:
    for version in policies.versions(name):
        policies.results_of(f"{name}@{version}")
    policies.must_hold(name)


def _chart(name: str) -> None:
    if not charts.versions(name):
        raise BadLibrary(f"there is no {name}.1.json")
    charts.cases_of(name)


CHECKS: dict[str, Callable[[str], object]] = {
    "policies": _policy,
    "charts": _chart,
    "state_schemas": state_schemas.named,
    "talks": registry.declared_talk,
    "profiles": declarations.for_agent,
    "prices": prices.named,
}


def check(proposed: Names) -> None:
    """Returns if these files of the folders can be used. Raises BadLibrary naming folder, kind and name."""
    with folders.as_proposed():
        for (kind, name), files in sorted(proposed.items()):
            try:
                CHECKS[kind](name)
            except (AgentStateError, ValueError) as error:
                what = error.detail if isinstance(error, AgentStateError) else str(error)
                raise BadLibrary(f"{folders.origin_of(files)}: {kind} of {name!r}: {what}") from None
