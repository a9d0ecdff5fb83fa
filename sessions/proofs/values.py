"""The value of a state path as an entry of its session, and that entry as one compact file for others.

People and programs come by `commands.prove_value`, agents by the tool `prove`; both end here.
"""

from __future__ import annotations

from uuid import UUID

from agentstate.engine import events as ev
from agentstate.engine.decide import Command
from agentstate.engine.decide.commands.scratchpad import Prove
from agentstate.errors import Broken
from audit import ledger
from audit.proofs import making
from sessions.core import states
from sessions.core.commit import CommandFactory
from sessions.core.committed import Committed
from sessions.core.states import Loaded

LOOK_BACK = 500  # entries in which the writer of a value is looked for


def factory(path: str, of: int = 0) -> CommandFactory:
    """Returns the factory of the command that proves the value at `path` after `of` entries (0: now)."""

    def made(loaded: Loaded) -> Command:
        if not of or of == loaded.head.size:
            return Prove(path, written=last_writer(loaded.place.id, path, loaded.head.size))
        past = states.as_of(loaded.place.id, of)
        return Prove(path, of, past.pad, last_writer(loaded.place.id, path, of))

    return made


def last_writer(session: UUID, path: str, size: int) -> int:
    """The seq of the newest entry before `size` that wrote at, above or below `path`; -1 where none is near."""
    found = -1
    for seq, event in states.events_since(session, max(0, size - LOOK_BACK), size):
        match event:
            case ev.ToolReturned(output_path=str(to)) if any(_meet(path, each) for each in _places(to)):
                found = seq
            case ev.StateChanged(writes=writes) if any(_meet(path, write.path) for write in writes):
                found = seq
            case ev.SessionRolledBack() | ev.StateMigrated():
                found = seq
            case _:
                pass
    return found


def _places(output: str) -> list[str]:
    return [each.strip().removeprefix("†") for each in output.replace("||", "&&").split("&&")]


def _meet(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def proof_of(committed: Committed) -> bytes:
    """The document that proves what the command put on record. Raises as making.entry."""
    for row in ledger.read_rows(committed.session, committed.first, committed.seq):
        if ledger.parse_envelope(row.envelope).kind == ev.ValueProved.__struct_config__.tag:
            return making.entry(committed.session, row.seq)
    raise Broken(f"session {committed.session}: no value was proved from entry {committed.first} on")
