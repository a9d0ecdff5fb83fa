"""Taking in what happened: one row for each trigger and occurrence, however often the source tells of it.

What waits is sealed under the key of the customer whom the trigger's act names by it, and goes with their erasure;
where it names none, or not before it is judged, under a key of the team.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid5

import msgspec

from agentstate.errors import Refused
from audit import keys, ledger
from sessions.automation.triggers import conditions
from sessions.automation.triggers.definition import Definition
from sessions.automation.triggers.repository import version_of
from sessions.models.triggers import Trigger, TriggerFiring

FIRINGS = UUID("1c6f4f0e-93d7-5f0b-9d61-0a8f2f6f5d11")  # namespace of firings' ids
PURPOSE = "agent_sessions/firing"
MAX_DUE = 1_000  # firings of one trigger that wait; then its source waits, or is refused
_json = msgspec.json.Encoder(decimal_format="number")


class QueueFull(Refused):
    """As much waits for this trigger as may."""

    code = "trigger_queue_full"
    status = 429


class Happened(msgspec.Struct, frozen=True):
    """Something that happened, by the name that its source has for it. `event` waits sealed; of an entry, which can be
    read again, only its place is kept.
    """

    occurrence: str
    event: dict[str, Any] | None = None
    about: UUID | None = None
    about_seq: int | None = None


def firing_id(trigger: UUID, occurrence: str) -> UUID:
    """The id of one occurrence's firing, and the key under which it acts."""
    return uuid5(FIRINGS, f"{trigger}/{occurrence}")


def room(trigger: UUID) -> int:
    """How much more may wait for a trigger."""
    return max(0, MAX_DUE - TriggerFiring.objects.filter(trigger=trigger, state="due").count())


def take_in_what_fits(trigger: Trigger, happened: Sequence[Happened]) -> int:
    """As `take_in`, of a source that cannot wait: what there is no room for is refused by name, in the history."""
    fits = room(trigger.pk)
    taken = take_in(trigger, happened[:fits])
    if happened[fits:]:
        take_in(trigger, happened[fits:], refused=QueueFull.code)
    return taken


def take_in(trigger: Trigger, happened: Sequence[Happened], *, refused: str = "") -> int:
    """Let these wait for the trigger, or with `refused` end so at once; those that are known already are left as they
    are. Gives how many are new.
    """
    if not happened:
        return 0
    definition = version_of(trigger.pk, trigger.version)
    rows = [_row(trigger, definition, each) for each in happened]
    found = ledger.run(
        "INSERT INTO agent_sessions_triggerfiring"
        " (id, trigger, version, state, why, about, about_seq, at, due_at, ended_at, attempts, kid, sealed)"
        " SELECT r.id, %(trigger)s, %(version)s, %(state)s, %(refused)s, r.about, r.about_seq, now(), now(),"
        "  CASE WHEN %(ended)s THEN now() END, 0, r.kid, CASE WHEN %(ended)s THEN ''::bytea ELSE r.sealed END"
        " FROM unnest(%(ids)s::uuid[], %(abouts)s::uuid[], %(seqs)s::int8[],"
        "  %(kids)s::uuid[], %(sealeds)s::bytea[]) AS r(id, about, about_seq, kid, sealed)"
        " ON CONFLICT (id) DO NOTHING RETURNING id",
        {
            "trigger": trigger.pk,
            "version": trigger.version,
            "state": "refused" if refused else "due",
            "refused": refused,
            "ended": bool(refused),
            "ids": [row[0] for row in rows],
            "abouts": [each.about for each in happened],
            "seqs": [each.about_seq for each in happened],
            "kids": [row[1] for row in rows],
            "sealeds": [row[2] for row in rows],
        },
    )
    return len(found)


def _row(trigger: Trigger, definition: Definition, happened: Happened) -> tuple[UUID, UUID | None, bytes]:
    """Id, key and sealed words. An entry needs none: it is read again, under its own key."""
    pk = firing_id(trigger.pk, happened.occurrence)
    if happened.event is None:
        return pk, None, b""
    whose = conditions.customer_of(definition, {"event": happened.event}) or f"team:{trigger.team_id}"
    kid = keys.subject_kid(trigger.tenant_id, whose)
    return pk, kid, keys.seal(kid, f"{PURPOSE}/{pk}", _json.encode(happened.event))


def opened(firing: TriggerFiring) -> dict[str, Any]:
    """What happened, as it waited. Raises audit.keys.Erased."""
    if firing.kid is None or not firing.sealed:
        return {}
    found: dict[str, Any] = msgspec.json.decode(keys.unseal(firing.kid, f"{PURPOSE}/{firing.pk}", bytes(firing.sealed)))
    return found
