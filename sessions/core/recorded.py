"""States that were recorded for good: each stands for the entries before it, whose payloads are deleted.

Unlike a snapshot it is no cache: without it the session cannot be folded. So it is written in the commit of the entry
`snapshot.recorded` that holds the digest of its sealed bytes, and counts only as long as it has that digest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.snapshot import form, from_snapshot, to_snapshot
from agentstate.errors import Broken
from audit import keys, ledger

SEALED = "agent_sessions/recorded"
KIND = str(ev.SnapshotRecorded.__struct_config__.tag)


class Lost(Broken):
    """The state that stands for deleted entries is missing, or was altered."""

    code = "recorded_state_lost"
    remedy = "Bring it back from a backup of the database: the entries before it cannot be folded without it."


@dataclass(frozen=True, slots=True)
class Recorded:
    """A state about to be recorded: after the first `upto` entries, sealed, with the digest of that."""

    session: UUID
    upto: int
    form: str
    sealed: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the sealed bytes, in hexadecimal: what the entry says."""
        return hashlib.sha256(self.sealed).hexdigest()

    def row(self) -> ledger.Fragment:
        """Its row, written with the entry, which is the first of its commit."""
        return ledger.Fragment(
            "INSERT INTO agent_sessions_recordedstate (session, upto, entry, form, sealed)"
            " SELECT head.log, %(r_upto)s, %(base)s, %(r_form)s, %(r_sealed)s FROM head",
            {"r_upto": self.upto, "r_form": self.form, "r_sealed": self.sealed},
        )


def sealed(session: UUID, kid: UUID, state: SessionState) -> Recorded:
    """`state` as it is recorded, under the key of the session's data subject."""
    data = keys.seal(kid, _purpose(session, state.seq), to_snapshot(state))
    return Recorded(session, state.seq, form(), data)


def newest(session: UUID, kid: UUID, most: int) -> SessionState | None:
    """The newest recorded state after `most` entries or fewer; None when there is none. Raises Lost, keys.Erased."""
    rows = ledger.run(
        "SELECT upto, entry, sealed FROM agent_sessions_recordedstate"
        " WHERE session = %(session)s AND upto <= %(most)s ORDER BY upto DESC LIMIT 1",
        {"session": session, "most": most},
    )
    if not rows:
        _must_not_be_told_of(session, most)
        return None
    upto, entry, data = rows[0]
    digest = hashlib.sha256(bytes(data)).hexdigest()
    if _told(session, entry) != (upto, digest):
        raise Lost(f"{session}, after {upto} entries: no entry holds its digest")
    try:
        return from_snapshot(keys.unseal(kid, _purpose(session, upto), bytes(data)))
    except (keys.Unreadable, msgspec.MsgspecError) as error:
        raise Lost(f"{session}, after {upto} entries: {type(error).__name__}") from None


def upto(session: UUID) -> int:
    """How many entries recorded states stand for; 0: there is none."""
    rows = ledger.run(
        "SELECT coalesce(max(upto), 0) FROM agent_sessions_recordedstate WHERE session = %(session)s",
        {"session": session},
    )
    return int(rows[0][0])


def forget_before(session: UUID, kept: int) -> None:
    """Drop the recorded states that a newer one, after `kept` entries, replaces."""
    ledger.run(
        "DELETE FROM agent_sessions_recordedstate WHERE session = %(session)s AND upto < %(kept)s",
        {"session": session, "kept": kept},
    )


def _told(session: UUID, entry: int) -> tuple[int, str] | None:
    """What entry `entry` says of a recorded state; None when it says nothing of one."""
    for row in ledger.read_rows(session, entry, entry + 1):
        if ledger.parse_envelope(row.envelope).kind == KIND:
            event = ev.decode(ledger.open_row(row)[1])
            if isinstance(event, ev.SnapshotRecorded):
                return event.upto, event.digest
    return None


def _must_not_be_told_of(session: UUID, most: int) -> None:
    """Raises Lost when an entry that can still be read says that there is a recorded state. Seldom asked, and slow."""
    rows = ledger.run(
        "SELECT seq FROM audit_entry JOIN audit_payload USING (log, seq) WHERE log = %(log)s"
        " AND position(convert_to(%(kind)s, 'UTF8') IN envelope) > 0 ORDER BY seq DESC",
        {"log": session, "kind": f'"kind":"{KIND}"'},
    )
    for (entry,) in rows:
        told = _told(session, entry)
        if told is not None and told[0] <= most:
            raise Lost(f"{session}, after {told[0]} entries: it is gone")


def _purpose(session: UUID, upto: int) -> str:
    return f"{SEALED}/{session}/{upto}"
