"""Entries of sessions on their way to triggers: taken in before the outbox forgets that they were committed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from sessions.automation.triggers import intake
from sessions.automation.triggers.intake import Happened
from sessions.automation.triggers.repository import version_of
from sessions.core.announcements import Announced
from sessions.events.entries import agents_of, of_kinds
from sessions.models.triggers import Trigger

log = logging.getLogger(__name__)


def take_in(announced: Sequence[Announced]) -> int:
    """Let the entries of these commits wait for the triggers of their teams that ask for such. Gives how many."""
    asking = _asking({each.team for each in announced})
    if not asking:
        return 0
    sessions = agents_of({each.session for each in announced if each.team in asking})
    taken = 0
    for trigger, kinds, agent in (row for rows in asking.values() for row in rows):
        theirs = [
            each
            for each in announced
            if each.team == trigger.team_id
            and each.at >= trigger.since
            and each.session in sessions
            and agent in ("", sessions[each.session])
        ]
        taken += intake.take_in_what_fits(trigger, list(_happened(theirs, kinds)))
    return taken


def _asking(teams: set[UUID]) -> dict[UUID, list[tuple[Trigger, frozenset[str], str]]]:
    """The triggers on entries that are on, by team."""
    found: dict[UUID, list[tuple[Trigger, frozenset[str], str]]] = {}
    for trigger in Trigger.objects.filter(on=True, source="entry", team__in=teams):
        entry = version_of(trigger.pk, trigger.version).on.entry
        if entry is not None:
            found.setdefault(trigger.team_id, []).append((trigger, frozenset(entry.kinds), entry.agent))
    return found


def _happened(announced: Iterable[Announced], kinds: frozenset[str]) -> Iterator[Happened]:
    for each, seq, _ in of_kinds(announced, kinds):
        yield Happened(f"entry:{each.session}:{seq}", about=each.session, about_seq=seq)
