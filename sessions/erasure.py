"""What a session does when a data subject of some of its instances is about to be erased.

`recorded` comes first and the destruction of the key after it: an entry under that key says that what is under it was
erased on purpose, and in the same commit the subject's instances, requests and what waits for them go. A key that was
destroyed without it costs nothing but that proof: folding passes over what nobody can read.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.engine.decide import EraseSubject
from audit import ledger
from sessions import states
from sessions.commit import Author, Committed, person_command


def sessions_of(kid: UUID) -> list[UUID]:
    """The sessions with entries of instances under this key. It looks through the whole ledger: erasure is rare."""
    rows = ledger.run(
        "SELECT DISTINCT e.log FROM audit_entry e JOIN agent_sessions_agentsession s ON s.id = e.log"
        " WHERE s.kid <> %(kid)s AND position(convert_to(%(named)s, 'UTF8') IN e.envelope) > 0 ORDER BY 1",
        {"kid": kid, "named": f'"kid":"{kid}"'},
    )
    return [row[0] for row in rows]


def recorded(session: UUID, kid: UUID) -> Committed:
    """Append the erasure of instances under `kid` to a session; their key must be destroyed next. Nothing when there
    are none. The session itself goes on.
    """
    committed = person_command(session, EraseSubject(str(kid)), Author(ledger.SYSTEM))
    states.forget(session)  # in this process at once, in others with the key
    return committed
