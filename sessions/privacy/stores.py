"""Every place that holds something of a data subject, and how it is swept: one list, which the tests walk.

A new table, cache or folder that holds anything derived from a payload gets a line in `STORES`. A sweep deletes what is
under a key that was destroyed, gives how much, and may run twice; the count tells beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple
from uuid import UUID

import redis
from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from audit import erasure, keys
from audit.models import ErasureRequest, LegalHold
from sessions.automation.notifications import retention as forgetting
from sessions.core import states
from sessions.exports import storage as exports
from sessions.models.proposals import Proposal
from sessions.models.sessions import (
    AgentSession,
    ApprovalRequest,
    CustomerProfile,
    Disclosure,
    RecordedState,
    Snapshot,
    SnapshotPart,
    StandingGrant,
    Taught,
)
from sessions.models.triggers import TriggerFiring


class Store(NamedTuple):
    """One place: its name, what it holds in words, how much is there under a key, and its sweep."""

    name: str
    words: str
    count: Callable[[UUID], int]
    sweep: Callable[[UUID], int]


def own_sessions(kid: UUID) -> list[UUID]:
    """The sessions whose customer has this key."""
    return list(AgentSession.objects.filter(kid=kid).values_list("pk", flat=True))


def _sessions(kid: UUID) -> QuerySet[AgentSession]:
    return AgentSession.objects.filter(kid=kid).exclude(card=b"", alias_token=None)


def _sweep_sessions(kid: UUID) -> int:
    """The rows stay, for lists and figures, without a word; nothing is due in them any more."""
    found = _sessions(kid).update(card=b"", alias_token=None)
    AgentSession.objects.filter(kid=kid).update(ready_at=None, lease_until=None)
    return found


def _requests(kid: UUID) -> QuerySet[ApprovalRequest]:
    theirs = Q(kid=kid) | Q(kid__isnull=True, session__in=own_sessions(kid))
    return ApprovalRequest.objects.filter(theirs).exclude(card=b"")


def _snapshots(kid: UUID) -> QuerySet[Snapshot]:
    return Snapshot.objects.filter(session__in=own_sessions(kid))


def _parts(kid: UUID) -> QuerySet[SnapshotPart]:
    return SnapshotPart.objects.filter(Q(kid=kid) | Q(kid__isnull=True, session__in=own_sessions(kid)))


def _recorded(kid: UUID) -> QuerySet[RecordedState]:
    return RecordedState.objects.filter(session__in=own_sessions(kid))


def _profiles(kid: UUID) -> QuerySet[CustomerProfile]:
    return CustomerProfile.objects.filter(kid=kid)


def _taught(kid: UUID) -> QuerySet[Taught]:
    return Taught.objects.filter(session__in=own_sessions(kid))


def _proposed(kid: UUID) -> QuerySet[Proposal]:
    return Proposal.objects.filter(kid=kid).exclude(content=b"")


def _reasons(kid: UUID) -> int:
    kinds = (ErasureRequest, LegalHold, Proposal)
    return sum(kind.objects.filter(kid=kid).exclude(reason=b"").count() for kind in kinds)


def _sweep_reasons(kid: UUID) -> int:
    kinds = (ErasureRequest, LegalHold, Proposal)
    return sum(kind.objects.filter(kid=kid).exclude(reason=b"").update(reason=b"") for kind in kinds)


def _waiting(kid: UUID) -> QuerySet[TriggerFiring]:
    return TriggerFiring.objects.filter(kid=kid, state=TriggerFiring.State.DUE)


def _grants(kid: UUID) -> QuerySet[StandingGrant]:
    return StandingGrant.objects.filter(kid=kid).exclude(sealed=b"")


def _sweep_waiting(kid: UUID) -> int:
    """What waited ends by name: nothing is done with it any more."""
    return _waiting(kid).update(
        state=TriggerFiring.State.REFUSED, why="erased", sealed=b"", lease_until=None, ended_at=Now()
    )


def _disclosures(kid: UUID) -> QuerySet[Disclosure]:
    return Disclosure.objects.filter(kid=kid).exclude(reason=b"")


def _keys_in_valkey(client: redis.Redis, kid: UUID) -> Iterator[bytes]:
    for named in (kid, *own_sessions(kid)):
        yield from client.scan_iter(match=f"*{named}*", count=1000)


def _in_valkey(kid: UUID) -> int:
    with redis.Redis.from_url(settings.STACK.cache_url) as client:
        return len(set(_keys_in_valkey(client, kid)))


def _sweep_valkey(kid: UUID) -> int:
    with redis.Redis.from_url(settings.STACK.cache_url) as client:
        found = set(_keys_in_valkey(client, kid))
        return int(client.delete(*found)) if found else 0


def _in_memory(kid: UUID) -> int:
    return sum(states.recall(session) is not None for session in own_sessions(kid))


def _sweep_memory(kid: UUID) -> int:
    """Of this process, at once; others forget what they have not looked at for as long as keys are remembered."""
    found = _in_memory(kid)
    keys.forget_all()
    states.forget_all()
    return found


def _deleted(rows: Callable[[UUID], QuerySet]) -> Callable[[UUID], int]:  # type: ignore[type-arg]
    return lambda kid: rows(kid).delete()[0]


STORES: tuple[Store, ...] = (
    Store("payloads", "Encrypted words of entries", erasure.count_payloads, erasure.delete_payloads),
    Store("snapshots", "Folded states", lambda kid: _snapshots(kid).count(), _deleted(_snapshots)),
    Store("snapshot_parts", "Folded states of instances", lambda kid: _parts(kid).count(), _deleted(_parts)),
    Store("recorded", "States that stand for deleted entries", lambda kid: _recorded(kid).count(), _deleted(_recorded)),
    Store("sessions", "Rows of sessions with words", lambda kid: _sessions(kid).count(), _sweep_sessions),
    Store(
        "requests",
        "Rows of requests with words",
        lambda kid: _requests(kid).count(),
        lambda kid: _requests(kid).update(card=b""),
    ),
    Store("profiles", "What is known of the customer", lambda kid: _profiles(kid).count(), _deleted(_profiles)),
    Store("taught", "How far sessions have taught the profile", lambda kid: _taught(kid).count(), _deleted(_taught)),
    Store("exports", "Bundles of exports", lambda kid: exports.of_subject(kid).count(), exports.sweep),
    Store("reasons", "Reasons of erasure requests, legal holds and proposals", _reasons, _sweep_reasons),
    Store(
        "profile_proposals",
        "Proposed changes of the customer's profile",
        lambda kid: _proposed(kid).count(),
        lambda kid: _proposed(kid).update(content=b""),
    ),
    Store(
        "disclosures",
        "Why something was shown to others",
        lambda kid: _disclosures(kid).count(),
        lambda kid: _disclosures(kid).update(reason=b""),
    ),
    Store("notices", "Notices about the customer's sessions", forgetting.of_subject, forgetting.sweep),
    Store(
        "grants",
        "What was let through beyond a session",
        lambda kid: _grants(kid).count(),
        lambda kid: _grants(kid).update(sealed=b"", until=Now()),
    ),
    Store("waiting", "What waits for triggers", lambda kid: _waiting(kid).count(), _sweep_waiting),
    Store("valkey", "Caches", _in_valkey, _sweep_valkey),
    Store("memory", "Memory of the process that erases", _in_memory, _sweep_memory),
)
