"""A change of the library that every team agrees to: other files under a name that was in force before."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from agentstate.errors import Refused
from agentstate.people.roles import Permission
from audit import keys, ledger, staff
from audit.server_clock import now
from sessions.core import reach
from sessions.library import folders, in_force
from sessions.library.folders import Files, digest_of
from sessions.models.proposals import Proposal
from sessions.proposals import workflow
from sessions.proposals.kinds import Kind, register

CHANGED = "library.changed"
PREFIX = "library_"
#: Who agrees to a change, by kind: what may be known of customers is the privacy team's.
PERMISSIONS = dict.fromkeys(folders.KINDS, Permission.CONFIGURE) | {"profiles": Permission.RETENTION}
TITLES = {
    "policies": "Change of a policy",
    "charts": "Change of a statechart",
    "state_schemas": "Change of a state schema",
    "talks": "Change of what an agent's conversations are about",
    "profiles": "Change of what may be known of customers",
    "prices": "Change of what models cost",
}


class LibraryChanged(Refused):
    """Other files came into force under this name since this was proposed."""

    code = "library_changed"
    remedy = "Start again: the folder proposes them anew."


def make(tenant: UUID, kind: str, name: str, held: Files, wanted: Files) -> Proposal:
    """Records that a folder proposes other files under a name."""
    details: dict[str, object] = {
        "kind": kind,
        "name": name,
        "origin": folders.origin_of(wanted),
        "before": digest_of(held),
        "after": digest_of(wanted),
        "files": _differences(held, wanted),
    }
    return workflow.make(
        KINDS[kind],
        tenant=tenant,
        by=ledger.SYSTEM,
        own=set(),
        teams=reach.all_teams(tenant),
        details=details,
        content=in_force.dumped(wanted),
        kid=keys.subject_kid(tenant, ledger.SYSTEM),
    )


def _differences(held: Files, wanted: Files) -> list[str]:
    return [
        f"{path} {'is new' if path not in held else 'is gone' if path not in wanted else 'changes'}"
        for path in sorted({*held, *wanted})
        if path not in held or path not in wanted or held[path].data != wanted[path].data
    ]


def _teams(row: Proposal) -> frozenset[UUID]:
    return reach.all_teams(row.tenant_id)


def _carry_out(row: Proposal) -> None:
    facts = row.details
    held = in_force.newest().get((facts["kind"], facts["name"]))
    files = in_force.loaded(bytes(row.content), facts["origin"])
    if held is None or held.digest != facts["before"] or digest_of(files) != facts["after"]:
        raise LibraryChanged()
    in_force.add(facts["kind"], facts["name"], files, row.pk)
    known = {name: facts[name] for name in ("kind", "name", "before", "after", "origin")}
    staff.record(row.tenant_id, now(), CHANGED, ledger.SYSTEM, "", {**known, "proposal": str(row.pk)})
    folders.forget()


def _changes(row: Proposal, names: Mapping[UUID, str]) -> list[str]:
    facts = row.details
    told = [
        f"{facts['name']} in {facts['kind']}: digest {facts['before'][:12]} becomes {facts['after'][:12]}.",
        f"Proposed by {facts['origin']}.",
    ]
    return [*told, *(f"{each}." for each in facts["files"])]


KINDS = {
    kind: Kind(PREFIX + kind, PERMISSIONS[kind], TITLES[kind], _changes, _teams, _carry_out, of_subject=False)
    for kind in folders.KINDS
}
register(*KINDS.values())
