"""Changes of the state by people and programs, beside the agent and each other.

Where two clash, the path's rule decides: the change is refused, those concerned vote, or a person settles it.
"""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import schemas, scratchpad
from agentstate.engine.decide.commands.scratchpad import Arbitrate, ChangeState, Propose, Vote
from agentstate.engine.decide.context import CommandContext
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.schema import in_force
from agentstate.engine.decide.versions import MAX_REASON, bounded
from agentstate.engine.handlers import command_handler
from agentstate.engine.merge import three_way
from agentstate.engine.merge.kept import MOST_OPEN, MOST_PROPOSALS, MOST_VOTES, Conflict
from agentstate.engine.merge.paths import in_the_way, read
from agentstate.engine.merge.rules import NO_RULES, Rules, declared_by
from agentstate.engine.merge.three_way import MAX_VALUE, Clash, Merge, Versions
from agentstate.engine.merge.values import ABSENT, same
from agentstate.engine.schemas import Actor, bounds
from agentstate.engine.state.session import SessionState
from agentstate.errors import Invalid, NotFound, Refused


class ChangedMeanwhile(Refused):
    """Somebody has changed the same meanwhile."""

    code = "changed_meanwhile"
    remedy = "Read the state again, and change what you still want to change."


class TooManyConflicts(Refused):
    """So many paths are contested already."""

    code = "too_many_conflicts"
    remedy = "Settle some of them first."


class NoSuchConflict(NotFound):
    """There is no such conflict in this session."""

    code = "no_such_conflict"


class NoSuchProposal(NotFound):
    """Nobody has proposed this."""

    code = "no_such_proposal"


class ConflictOver(Refused):
    """This conflict has been settled."""

    code = "conflict_over"


class OwnCause(Refused):
    """Nobody settles a conflict in which they have proposed something."""

    code = "own_cause"
    status = 403


@command_handler(ChangeState)
def changed(command: ChangeState, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The change merged into what stands now. Raises ChangedMeanwhile, NotMergeable, NotAWriter, BreaksSchema, ..."""
    must_live(state)
    if command.change in state.changes.applied:
        return []
    if not 0 < command.seen <= state.seq:
        raise Invalid(f"got {command.seen}, want 1 to {state.seq}", field="seen")
    declared = in_force(state, context)
    rules = declared_by(declared) if declared is not None else NO_RULES
    found = _merged(command, state, rules)
    for write in found.writes:
        _must_fit(state, context, command.actor, write.path, ABSENT if write.removed else write.value)
    for clash in found.clashes:
        _must_fit(state, context, command.actor, clash.path, clash.ours[0] if clash.ours else ABSENT)
    changes: list[ev.AnyEvent] = (
        [ev.StateChanged(command.change, command.seen, command.by, found.writes, command.reason[:MAX_REASON])]
        if found.writes
        else []
    )
    return [*changes, *_opened(found.clashes, command, state, context)]


def _merged(command: ChangeState, state: SessionState, rules: Rules) -> Merge:
    """The merge, unless a clash is to be refused: then all of it is, so that nobody gets half of what they wanted."""
    versions = Versions(command.base, state.pad, command.seen, state.seq, state.changes.marks)
    found = three_way.merge(command.changes, command.change, versions, rules)
    refused = [clash.path for clash in found.clashes if clash.becomes.rule == "refuse"]
    if refused:
        raise ChangedMeanwhile(", ".join(refused), paths=refused, seq=state.seq)
    return found


def _must_fit(state: SessionState, context: CommandContext, actor: Actor, path: str, value: object) -> None:
    """Raises NotAWriter, BreaksSchema, BadPath."""
    declared = in_force(state, context)
    if value is ABSENT:
        schemas.check_removal(declared, actor, path, state.pad)
    else:
        schemas.check_write(declared, actor, path, value, state.pad, whole=False)


def _opened(
    clashes: tuple[Clash, ...], command: ChangeState, state: SessionState, context: CommandContext
) -> list[ev.AnyEvent]:
    if len(state.changes.open) + len(clashes) > MOST_OPEN:
        raise TooManyConflicts(f"{MOST_OPEN} at most")
    return [
        ev.ConflictOpened(
            conflict=context.new_id(),
            path=clash.path,
            rule="vote" if clash.becomes.rule == "vote" else "arbiter",
            quorum=clash.becomes.quorum,
            declared=clash.becomes.declared,
            base=clash.base,
            standing=clash.theirs,
            proposal=ev.Proposal(context.new_id(), command.by, clash.ours, command.reason[:MAX_REASON]),
            change=command.change,
            seen=command.seen,
        )
        for clash in clashes
    ]


@command_handler(Propose)
def proposed(command: Propose, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The proposal with its author's vote; for a value that is proposed already, or stands, the vote alone."""
    conflict = _open(state, command.conflict)
    if not command.remove:
        bounds.check(command.value, conflict.path, MAX_VALUE)
    wanted = () if command.remove else (command.value,)
    _must_fit(state, context, command.actor, conflict.path, ABSENT if command.remove else command.value)
    known = {each.id: each.value for each in conflict.proposals} | {"": conflict.standing}
    found = next((key for key, value in known.items() if _alike(value, wanted)), None)
    if found is not None:
        return _voted(conflict, found, command.by, command.reason, state)
    if len(conflict.proposals) >= MOST_PROPOSALS:
        raise TooManyConflicts(f"{MOST_PROPOSALS} proposals at most")
    made = ev.Proposal(context.new_id(), command.by, wanted, command.reason[:MAX_REASON])
    grown = _grown(conflict, made)
    return [ev.ValueProposed(conflict.id, made), *_voted(grown, made.id, command.by, command.reason, state)]


def _grown(conflict: Conflict, made: ev.Proposal) -> Conflict:
    return replace(conflict, proposals=(*conflict.proposals, made))


def _alike(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return same(one[0] if one else ABSENT, other[0] if other else ABSENT)


@command_handler(Vote)
def voted(command: Vote, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """The vote, and the end of the conflict once a quorum is for one value."""
    return _voted(_open(state, command.conflict), command.proposal, command.by, command.reason, state)


def _voted(conflict: Conflict, proposal: str, by: str, reason: str, state: SessionState) -> list[ev.AnyEvent]:
    if proposal and conflict.proposal(proposal) is None:
        raise NoSuchProposal()
    if by not in conflict.votes and len(conflict.votes) >= MOST_VOTES:
        raise TooManyConflicts(f"{MOST_VOTES} votes at most")
    cast: list[ev.AnyEvent] = [ev.VoteCast(conflict.id, proposal, by, reason[:MAX_REASON])]
    behind = sum(chosen == proposal for voter, chosen in conflict.votes.items() if voter != by) + 1
    if conflict.rule != "vote" or behind < conflict.quorum:
        return cast
    return [*cast, _ended(conflict, proposal, state, outcome="voted")]


@command_handler(Arbitrate)
def arbitrated(command: Arbitrate, state: SessionState, context: CommandContext) -> list[ev.AnyEvent]:
    """A person's settlement, of a vote too that does not come to an end. Raises OwnCause."""
    conflict = _open(state, command.conflict)
    if command.proposal and conflict.proposal(command.proposal) is None:
        raise NoSuchProposal()
    if command.by in {each.by for each in conflict.proposals}:
        raise OwnCause()
    reason = bounded(command.reason, "reason", MAX_REASON)
    return [_ended(conflict, command.proposal, state, outcome="arbitrated", by=command.by, reason=reason)]


def _ended(conflict: Conflict, proposal: str, state: SessionState, **how: str) -> ev.ConflictEnded:
    chosen = conflict.proposal(proposal)
    now = read(state.pad, conflict.path)
    obstacle = in_the_way(state.pad, scratchpad.parts(conflict.path))
    stood = read(state.pad, obstacle) if obstacle else now
    others = tuple(each for each in conflict.proposals if each.id != proposal)
    lost = (*others, ev.Proposal("", "", () if stood is ABSENT else (stood,))) if chosen is not None else others
    value = chosen.value if chosen is not None else conflict.standing
    return ev.ConflictEnded(conflict=conflict.id, proposal=proposal, value=value, lost=lost, **how)  # type: ignore[arg-type]


def _open(state: SessionState, conflict: str) -> Conflict:
    must_live(state)
    found = state.changes.conflicts.get(conflict)
    if found is None:
        raise NoSuchConflict()
    if found.status != "open":
        raise ConflictOver(f"{found.status} by {found.by or 'those who voted'}", outcome=found.status)
    return found
