"""A customer's profile as a log: loaded from its row or its entries, appended to with its row in one statement.

The log's id follows from the id of the subject's key, and everything in it is sealed under that key: who is erased
takes the profile along, and who calls again afterwards begins a new one. The head is locked before anything is
decided: profiles change seldom, and two writers must not decide on the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid5

import msgspec
from django.db import transaction

from agentstate.clock import now
from agentstate.engine import profile as core
from agentstate.engine.events import digest, kind_of
from agentstate.engine.instants import stamp
from agentstate.engine.profile import Declaration, ProfileState
from agentstate.engine.profile import events as ev
from agentstate.engine.profile.commands import ProfileCommand
from agentstate.errors import Broken
from agentstate.ids import new_id
from audit import erasure, keys, ledger
from sessions.core.committed import Author

LOGS = UUID("2f1a6c0e-8b1d-5d57-9a41-6a1d0c7be3f4")  # namespace of the logs' ids
SEALED = "agent_sessions/profile"


class Subject(msgspec.Struct, frozen=True):
    """Whose profile: the id of the data subject's key, and the tenant."""

    kid: UUID
    tenant: UUID

    @property
    def log(self) -> UUID:
        """The id of the profile's log."""
        return uuid5(LOGS, str(self.kid))


class Kept(msgspec.Struct, frozen=True):
    """What a command wrote: entries `first` to `seq` - 1 of the profile's log, and the profile after them."""

    subject: Subject
    command: UUID
    first: int
    seq: int
    state: ProfileState
    repeated: bool = False

    @property
    def customer(self) -> UUID:
        """By what the API knows the customer."""
        return self.subject.kid


_ROW = """INSERT INTO agent_sessions_customerprofile (log, kid, tenant_id, seq, opened_at, last_at, sealed)
  SELECT head.log, %(p_kid)s, %(p_tenant)s, %(p_seq)s, %(p_opened_at)s::timestamptz, %(p_last_at)s::timestamptz,
   %(p_sealed)s FROM head ON CONFLICT (log) DO UPDATE SET seq = EXCLUDED.seq, last_at = EXCLUDED.last_at,
   sealed = EXCLUDED.sealed"""


def read(subject: Subject) -> ProfileState:
    """The profile as its row has it: of a customer of whom nothing is known an empty one. Raises keys.Erased."""
    rows = ledger.run(
        "SELECT seq, sealed FROM agent_sessions_customerprofile WHERE log = %(log)s", {"log": subject.log}
    )
    return unsealed(subject, rows[0][0], bytes(rows[0][1])) if rows else ProfileState()


def unsealed(subject: Subject, seq: int, data: bytes) -> ProfileState:
    """The state of a row. Raises keys.Erased, keys.Unreadable, msgspec.ValidationError."""
    return core.from_snapshot(keys.unseal(subject.kid, f"{SEALED}/{subject.log}/{seq}", data))


def row(subject: Subject, state: ProfileState) -> dict[str, Any]:
    """The columns of a profile's row."""
    data = core.to_snapshot(state)
    return {
        "kid": subject.kid,
        "tenant": subject.tenant,
        "seq": state.seq,
        "opened_at": state.opened_at,
        "last_at": state.last_at,
        "sealed": keys.seal(subject.kid, f"{SEALED}/{subject.log}/{state.seq}", data),
    }


def folded(subject: Subject, size: int) -> ProfileState:
    """The profile folded from its first entry. Raises Broken when the entries do not amount to `size`."""
    stored = ledger.open_rows(ledger.read_rows(subject.log, 0, size))
    state = core.fold((ev.decode(payload), envelope.at) for envelope, payload in stored)
    if state.seq != size:
        raise Broken(f"profile {subject.log}: the head says {size} entries, {state.seq} were found")
    return state


def write(
    subject: Subject,
    declared: Declaration,
    command: ProfileCommand,
    author: Author,
    extra_writes: Sequence[ledger.Fragment] = (),
) -> Kept:
    """`command` decided on the newest profile and appended. The same idempotency key gives the first answer again.

    `extra_writes` are written only when the command has events. Raises what `decide` refuses; keys.Erased.
    """
    with transaction.atomic():
        head, state = _locked(subject)
        if head is not None and (earlier := answered_before(subject, state, command, author)):
            return earlier
        at = stamp(now())
        events = core.decide(command, state, declared, at)
        if not events:
            return Kept(subject, new_id(), state.seq, state.seq, state)
        after = core.fold(((event, at) for event in events), state)
        batch = _batch(subject, command, author, at, events, after, extra_writes)
        written = ledger.append(head, batch) if head else ledger.create(subject.log, subject.tenant, batch)
        if written is not None:
            return Kept(subject, batch.command, state.seq, after.seq, after)
    return write(subject, declared, command, author, extra_writes)  # somebody else has just opened the profile


def _locked(subject: Subject) -> tuple[ledger.Head | None, ProfileState]:
    try:
        head = ledger.read_head(subject.log, lock=True)
    except ledger.UnknownLog:
        erasure.must_live(subject.kid)
        return None, ProfileState()
    if head.sealed:
        raise keys.Erased(f"profile {subject.log}")
    state = read(subject)
    return head, state if state.seq == head.size else folded(subject, head.size)


def _batch(
    subject: Subject,
    command: ProfileCommand,
    author: Author,
    at: str,
    events: Sequence[ev.AnyProfileEvent],
    after: ProfileState,
    extra_writes: Sequence[ledger.Fragment],
) -> ledger.Batch:
    key = ledger.receipt_key(author.actor, author.key) if author.key else b""
    token = _token(subject, command) if key else b""
    columns = {f"p_{name}": value for name, value in row(subject, after).items()}
    return ledger.Batch(
        drafts=[ledger.Draft(kind_of(event), ev.encode(event)) for event in events],
        kid=subject.kid,
        actor=author.actor,
        at=at,
        command=ledger.keyed_command(key, token) if key else new_id(),
        key=key,
        digest=token,
        extra_writes=[ledger.Fragment(_ROW, columns), *extra_writes],
        guard=erasure.living([subject.kid]),
    )


def _token(subject: Subject, command: ProfileCommand) -> bytes:
    """By what a repeated command is known: keyed, because what it says of a customer could be guessed from a hash."""
    content = digest(type(command).__name__, msgspec.structs.asdict(command))
    return keys.token(subject.kid, "command", bytes.fromhex(content))


def answered_before(subject: Subject, state: ProfileState, command: ProfileCommand, author: Author) -> Kept | None:
    """Returns what was written under this idempotency key, if anything was. Raises ledger.SameKeyOtherCommand."""
    if not author.key:
        return None
    receipt = ledger.read_receipt(subject.log, ledger.receipt_key(author.actor, author.key))
    if receipt is None:
        return None
    if receipt.digest != _token(subject, command):
        raise ledger.SameKeyOtherCommand()
    return Kept(subject, receipt.command, receipt.first, receipt.size, state, repeated=True)
