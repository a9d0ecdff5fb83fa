"""Compares what folders have with what is in force: a new name is in force at once, other files are proposed."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.db import connection, transaction

from agentstate.people.queries import the_tenant
from sessions.library import folders, in_force
from sessions.library.folders import Files, digest_of
from sessions.library.in_force import InForce
from sessions.models.proposals import Proposal
from sessions.proposals import workflow
from sessions.releases import checks, proposal

State = Proposal.State
GOING = (State.OPEN, State.AGREED)
ANSWERED = (*GOING, State.REJECTED)  # files that were rejected are not proposed again


def record() -> list[str]:
    """Checks what the folders propose and is not in force, puts new names in force and proposes the rest.

    Returns what changed, in words. Raises BadLibrary. Starts at the same time wait for each other.
    """
    known = {key: held.digest for key, held in in_force.newest().items()}
    checks.check({key: files for key, files in folders.proposed().items() if known.get(key) != digest_of(files)})
    tenant = the_tenant().pk
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('agentstate/library'))")
        held, wanted = in_force.newest(), folders.proposed()
        _outdate(tenant, held, wanted)
        told = [_recorded(tenant, *key, held.get(key), files) for key, files in sorted(wanted.items())]
    folders.forget()
    return [each for each in told if each]


def _recorded(tenant: UUID, kind: str, name: str, held: InForce | None, wanted: Files) -> str:
    if held is None:
        in_force.add(kind, name, wanted)
        return f"in force: {kind} of {name} ({folders.origin_of(wanted)})"
    if held.digest == digest_of(wanted) or _is_answered(tenant, kind, name, held.digest, digest_of(wanted)):
        return ""
    row = proposal.make(tenant, kind, name, held.files, wanted)
    return f"{row.get_state_display()}: {kind} of {name} ({folders.origin_of(wanted)}), proposal {row.pk}"


def _is_answered(tenant: UUID, kind: str, name: str, before: str, after: str) -> bool:
    """Whether this change waits already, or was rejected."""
    asked = {"kind": kind, "name": name, "before": before, "after": after}
    return Proposal.objects.filter(tenant=tenant, state__in=ANSWERED, details__contains=asked).exists()


def _outdate(tenant: UUID, held: Mapping[tuple[str, str], InForce], wanted: Mapping[tuple[str, str], Files]) -> None:
    """Ends proposals of files that no folder has any more, or that other files came before."""
    kinds = [each.name for each in proposal.KINDS.values()]
    for row in Proposal.objects.filter(tenant=tenant, state__in=GOING, kind__in=kinds):
        key = row.details["kind"], row.details["name"]
        files, found = wanted.get(key), held.get(key)
        same = files is not None and digest_of(files) == row.details["after"]
        if not same or found is None or found.digest != row.details["before"]:
            workflow.outdate(row.pk, proposal.LibraryChanged.code)
