"""What is in force of the library, and what waits for approval. It is no secret among those who see sessions."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec

from agentstate.people.queries import the_tenant
from sessions.charts.queries import must_see_charts
from sessions.core.session_lines import Person
from sessions.library import in_force
from sessions.library.folders import ORIGIN
from sessions.library.in_force import InForce
from sessions.models.proposals import Proposal
from sessions.releases import proposal


class LibraryLine(msgspec.Struct, frozen=True):
    """One name in force. `origin` is `shipped`, a folder's name, or `proposal`; `waiting` is a change of it."""

    kind: str
    name: str
    versions: list[str]
    digest: str
    origin: str
    folder: str
    proposal: UUID | None
    waiting: UUID | None
    at: datetime


def lines(user: Person, kind: str = "") -> list[LibraryLine]:
    """Returns everything that is in force, by kind and name; of one kind if it is named. Raises PermissionDenied."""
    must_see_charts(user)
    waiting = _waiting()
    found = [held for _, held in sorted(in_force.newest().items()) if kind in ("", held.kind)]
    return [_line(held, waiting.get((held.kind, held.name))) for held in found]


def _waiting() -> dict[tuple[str, str], UUID]:
    kinds = [each.name for each in proposal.KINDS.values()]
    states = (Proposal.State.OPEN, Proposal.State.AGREED)
    rows = Proposal.objects.filter(tenant=the_tenant().pk, kind__in=kinds, state__in=states)
    return {(row.details["kind"], row.details["name"]): row.pk for row in rows}


def _line(held: InForce, waiting: UUID | None) -> LibraryLine:
    folder = "" if held.origin == ORIGIN else held.origin
    return LibraryLine(
        kind=held.kind,
        name=held.name,
        versions=versions_of(held),
        digest=held.digest,
        origin="proposal" if held.proposal else held.origin.rstrip("/").rpartition("/")[2],
        folder=folder,
        proposal=held.proposal,
        waiting=waiting,
        at=held.at,
    )


def versions_of(held: InForce) -> list[str]:
    """Returns the versions of a name, the oldest first; none for a kind without versions."""
    stems = (path.removesuffix(".json").removeprefix(held.name).strip("/.") for path in held.files)
    return [str(number) for number in sorted(int(stem) for stem in stems if stem.isdecimal())]
