"""What the versions of a session need of the outside: older states, what followed them, and what tools declare.

Nothing here writes, and nothing checks a permission: commands and queries do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from operator import itemgetter
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide.versions import Consequences, consequences
from agentstate.engine.state import subjects
from agentstate.engine.state.session import SessionState
from agentstate.engine.versions import effects
from audit import keys, ledger
from sessions.core import standing_approvals, states
from sessions.core.states import Loaded
from sessions.tools import registry

INTENDED = str(ev.ToolIntended.__struct_config__.tag)
DELEGATED = str(ev.CallDelegated.__struct_config__.tag)
FORKED = str(ev.SessionForked.__struct_config__.tag)
PROMOTED = str(ev.ForkPromoted.__struct_config__.tag)


@lru_cache(maxsize=1)
def declared_tools() -> Mapping[str, effects.Declared]:
    """What every registered tool declares; the registry never changes once it is filled."""
    found = {name: registry.find(name) for name in registry.names()}
    return {
        name: effects.Declared(tool.effect, tool.preview, _compensation(tool.compensation), tool.undone_by, tool.undo)
        for name, tool in found.items()
        if tool is not None
    }


def _compensation(declared: str) -> str:
    """A tool's name as a sentence; words as they are."""
    return f"Call {declared}." if registry.find(declared) else declared


def since(session: UUID, older: SessionState, size: int) -> effects.Since:
    """What the session did after `older` outside of itself, up to `size` entries, and what those did that do its calls:
    oldest first, theirs where the call was handed over. With the standing approvals that were given in them.
    """
    stored = list(states.events_since(session, older.seq, size))
    own = subjects.own(older)
    found = effects.since(own, stored, declared_tools())
    began, delegated = _of_others(session, older.seq, size)
    others = [_done_for(session, each) for each in effects.handed_over(older, [*stored, *delegated])]
    approvals = (*effects.given_since(stored), *(each for _, theirs in others for each in theirs.approvals))
    more = found.more + began + sum(each.more for _, each in others)
    placed = [(each.seq, 0, each) for each in found.lasting]
    placed += [(seq, 1 + number, each) for seq, theirs in others for number, each in enumerate(theirs.lasting)]
    lasting = tuple(each for _, _, each in sorted(placed, key=itemgetter(0, 1)))
    kept = lasting[-effects.MOST_LASTING :]
    return effects.Since(kept, more + len(lasting) - len(kept), standing_approvals.still_usable(approvals))


def _done_for(session: UUID, handed: effects.HandedOver) -> tuple[int, effects.Since]:
    """What the delegate of a call did. The effects of another data subject's delegate are counted, and not told; the
    standing approvals that were given in it are named by their ids.
    """
    child = UUID(handed.session)
    try:
        loaded = states.load(child)
    except keys.Erased:
        return handed.seq, effects.Since()
    found = since(child, SessionState(), loaded.head.size)
    if loaded.place.kid != states.load(session).place.kid:
        return handed.seq, effects.Since((), found.more + len(found.lasting), found.approvals)
    told = tuple(each if each.session else msgspec.structs.replace(each, session=str(child)) for each in found.lasting)
    return handed.seq, effects.Since(told, found.more, found.approvals)


def lasting_at(session: UUID, rollback: int) -> tuple[ev.Lasting, ...]:
    """What the rollback in that entry left standing outside; nothing for an entry that is none."""
    for _, event in states.events_since(session, rollback, rollback + 1):
        if isinstance(event, ev.SessionRolledBack):
            return event.lasting
    return ()


def _of_others(session: UUID, start: int, stop: int) -> tuple[int, list[tuple[int, ev.AnyEvent]]]:
    """How many calls for instances of other data subjects began here: counted, because nothing of them may be told. And
    the entries by which such calls were handed over.
    """
    own = states.load(session).place.kid
    began, delegated = 0, list[tuple[int, ev.AnyEvent]]()
    for envelope, payload in ledger.open_living(_begun_for_others(session, start, stop, str(own)), own):
        event = ev.decode(payload) if payload is not None else None
        if isinstance(event, ev.CallDelegated):
            delegated.append((envelope.seq, event))
        elif not isinstance(event, ev.ToolIntended) or event.effect != effects.DELEGATE:
            began += envelope.kind == INTENDED
    return began, delegated


def _begun_for_others(session: UUID, start: int, stop: int, own: str) -> Iterator[ledger.Row]:
    for row in ledger.read_rows(session, start, stop):
        envelope = ledger.parse_envelope(row.envelope)
        if envelope.kid != own and envelope.kind in (INTENDED, DELEGATED):
            yield row


def heard(session: UUID, start: int, size: int) -> tuple[ev.Heard, ...]:
    """What was said aloud in the entries from `start` up to `size`."""
    said = (event for _, event in states.events_since(session, start, size) if isinstance(event, ev.MessageAdded))
    return tuple(ev.Heard(each.role, each.text, each.by) for each in said if each.role != "note")


def speaks_from(session: UUID) -> int:
    """The seq from which on what is said in the session is said by its customer: 0, but in a fork not before it was
    promoted.
    """
    second = next(iter(ledger.read_rows(session, 1, 2)), None)
    if second is None or ledger.parse_envelope(second.envelope).kind != FORKED:
        return 0
    rows = ledger.read_rows(session, 2, states.load(session).head.size)
    kinds = ((row.seq, ledger.parse_envelope(row.envelope).kind) for row in rows)
    return next((seq for seq, kind in kinds if kind == PROMOTED), 2**53)


def looked_at(loaded: Loaded, older: SessionState) -> Consequences:
    """What a rollback to `older` would do now. Raises NoSuchPoint, SessionOver."""
    return consequences(loaded.state, older, since(loaded.place.id, older, loaded.head.size))
