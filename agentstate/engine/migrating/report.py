"""A migration tried on stored states, with nothing written: how many it would carry, and why not the others.

A report names states by their ids and faults by path and rule, never a value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from agentstate.engine.migrating.catalogue import Catalogue
from agentstate.engine.migrating.in_force import InForce
from agentstate.engine.migrating.refusals import CannotMigrate

MOST_NAMED = 200  # states that a report names


class Blocked(msgspec.Struct, frozen=True):
    """A state that cannot be carried: which, from which version, and the first thing that is wrong with it."""

    id: Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
    version: int
    path: str
    rule: str


class Report(msgspec.Struct, frozen=True):
    """What a migration to version `to` would do to `states` states. `there` are of that version already; of those that
    would be `carried`, `lossy` could not be brought back the same. `blocked` names the first MOST_NAMED of `stuck`.
    """

    schema: str
    to: int
    states: Annotated[int, Meta(description="open sessions that were looked at")] = 0
    there: Annotated[int, Meta(description="of that version already")] = 0
    carried: Annotated[int, Meta(description="that would be carried")] = 0
    lossy: Annotated[int, Meta(description="of those, how many could not be brought back the same")] = 0
    held: int = 0
    stuck: Annotated[int, Meta(description="that would stay where they are")] = 0
    blocked: Annotated[tuple[Blocked, ...], Meta(description="the first of them, each with path and rule")] = ()


def tried(catalogue: Catalogue, to: int, stored: Iterable[tuple[str, InForce, dict[str, Any]]]) -> Report:
    """The report of carrying `stored` (id, version, state) to version `to`. Raises CannotMigrate when there is no such
    version.
    """
    catalogue.declared(to)
    report = Report(catalogue.name, to)
    for name, now, pad in stored:
        report = _with(report, catalogue, name, now, pad)
    return report


def _with(report: Report, catalogue: Catalogue, name: str, now: InForce, pad: dict[str, Any]) -> Report:
    seen = msgspec.structs.replace(report, states=report.states + 1, held=report.held + now.held)
    if now.version == report.to:
        return msgspec.structs.replace(seen, there=seen.there + 1)
    try:
        carried = catalogue.carry(pad, now.version, report.to)
    except CannotMigrate as fault:
        named = seen.blocked
        if len(named) < MOST_NAMED:
            named = (*named, Blocked(name, now.version, fault.path, fault.rule))
        return msgspec.structs.replace(seen, stuck=seen.stuck + 1, blocked=named)
    return msgspec.structs.replace(seen, carried=seen.carried + 1, lossy=seen.lossy + (not carried.lossless))
