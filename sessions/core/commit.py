"""One commit: a command decided on the newest state and appended with its projections, outbox row and wake-up.

Commands of the runtime race (optimistically, five times, then with the head locked); a person's command locks the
head first, because against a busy worker it would lose for ever. Neither writes anything when it is refused.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import transaction

from agentstate.engine import events as ev
from agentstate.engine.decide import (
    Answer,
    Begin,
    Command,
    CommandContext,
    Compensate,
    CountDelegate,
    Decide,
    ProposePlan,
    TakeTask,
    decide,
)
from agentstate.engine.decide import families as counting
from agentstate.engine.decide.context import Giver
from agentstate.engine.decide.conversation import must_live
from agentstate.engine.decide.grants import counted
from agentstate.engine.decide.verdicts import grants_for
from agentstate.engine.instants import stamp
from agentstate.engine.remembered import Remembered
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.rounds import place_of
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.subjects import kid_of
from agentstate.errors import AgentStateError, Broken
from agentstate.ids import new_id
from audit import erasure, keys, ledger
from audit.server_clock import now
from sessions.agents.registry import context_for
from sessions.core import announcements, children, families, plan_checks, projections, standing_approvals, states, stops
from sessions.core.authority import Reviewer, approvers, reviewers
from sessions.core.committed import Author, Committed, Lease, LeaseLost
from sessions.core.guards import Guard
from sessions.core.states import Loaded

TRIES = 5
RESTING = (Answer, Begin, Compensate)  # commands that may let a call through on a standing approval


# A step decides on the state that the steps before it led to, and may consist of steps itself.
Step = Callable[[SessionState, CommandContext], Sequence["ev.AnyEvent | Step"]]


def decided(command: Command, state: SessionState, context: CommandContext) -> Sequence[ev.AnyEvent]:
    """The events that `command` amounts to, with what it names looked up beforehand. Raises what `decide` refuses."""
    if isinstance(command, TakeTask):
        context = msgspec.structs.replace(context, family=families.family_of(state, command.parent))
    return decide(
        _with_authorities(command, state),
        state,
        _with_givers(command, state, plan_checks.informed(command, state, context)),
    )


def _with_authorities(command: Command, state: SessionState) -> Command:
    """Returns the command to run an approved call, with what its approvers may still decide. Other commands cost no
    query.
    """
    if not isinstance(command, Begin) or state.opened is None:
        return command
    request = state.requests.get(_passed(state, command.call))
    if request is None or not request.approvals:
        return command
    held = reviewers(request.approvals, UUID(state.opened.team), too_few=request.asked.approvers_missing > 0)
    authorities = {actor: each.authorities for actor, each in held.items()}
    return msgspec.structs.replace(command, authorities=authorities)


def _with_givers(command: Command, state: SessionState, context: CommandContext) -> CommandContext:
    """Returns the context with what the givers of standing approvals may decide now. Only commands that may allow a
    call by a standing approval cost a query.
    """
    if not isinstance(command, RESTING) or state.opened is None:
        return context
    actors = {grant.by for grant in grants_for(state, context)}
    if not actors:
        return context
    held = reviewers(actors, UUID(state.opened.team))
    givers = {by: Giver(each.authorities, each.sharing) for by in actors for each in [held.get(by, Reviewer(by))]}
    return msgspec.structs.replace(context, givers=givers)


def _passed(state: SessionState, call_id: str) -> str:
    """The request that a call rests on, its own or that of its plan; empty: none."""
    call, plan = state.calls.get(call_id), state.plans.approved
    if call is not None:
        return call.request
    return plan.request if plan is not None and place_of(state.plans, call_id) else ""


def step(command: Command) -> Step:
    """The step that is one command."""
    return partial(decided, command)


def run_commands(lease: Lease, steps: Sequence[Step]) -> Committed:
    """Commands of the runtime, in one commit under `lease`. Raises LeaseLost, or what `decide` refuses.

    The first try trusts what this process remembers of the head: the appending statement compares it. What appends
    nothing is not compared, so a refusal or a "nothing to do" counts only on what was read. What a delegate sets
    going is committed with the session above it locked: it counts there.
    """
    try:
        return _raced(lease, steps)
    except families.RootNeeded:
        pass
    try:
        return _with_lock(lease, steps, with_root=True)
    except LeaseLost:
        stops.forget()  # perhaps a stop kept it from happening: then less is tried
        return _with_lock(lease, steps, with_root=True)


def _raced(lease: Lease, steps: Sequence[Step]) -> Committed:
    """`steps` committed against others, and with the lock once that was in vain."""
    remembered = states.recall(lease.session)
    if remembered is not None and remembered.head.size >= lease.seq:
        committed = _if_it_still_holds(lease, remembered, steps)
        if committed is not None:
            return committed
    for _ in range(TRIES):
        loaded = states.load(lease.session)
        committed = _under_lease(lease, loaded, steps)
        if committed is not None:
            announcements.announce(committed, wake=False)
            return committed
        stops.forget()  # perhaps a stop kept it from happening: then less is tried
        if ledger.read_head(lease.session).size == loaded.head.size and not _may_be_held_back(loaded):
            raise LeaseLost(str(lease.session))
    return _with_lock(lease, steps)


def _may_be_held_back(loaded: Loaded) -> bool:
    """Whether something else than a lost lease may keep a commit from happening: a stop, or a grant that has ended."""
    return bool(stops.halt_for(loaded.place, loaded.state)) or standing_approvals.may_rest_on(
        loaded.place, loaded.state
    )


def _if_it_still_holds(lease: Lease, remembered: Loaded, steps: Sequence[Step]) -> Committed | None:
    """`steps` committed on a remembered state; None when it is outdated, or when nothing proved that it is not."""
    try:
        committed = _under_lease(lease, remembered, steps)
    except AgentStateError:
        return None
    if committed is None or not committed.events:
        return None
    announcements.announce(committed, wake=False)
    return committed


def _with_lock(lease: Lease, steps: Sequence[Step], *, with_root: bool = False) -> Committed:
    with transaction.atomic():
        root = _locked_root(lease.session) if with_root else None
        loaded = states.load(lease.session, lock=True)
        committed = _under_lease(lease, loaded, steps, root)
        if committed is None:
            raise LeaseLost(str(lease.session))
        transaction.on_commit(lambda: announcements.announce(committed, wake=False))
    return committed


def _locked_root(session: UUID) -> Loaded | None:
    """The session in which a delegate counts, locked; None: there is none. Called before the delegate is locked."""
    root = families.root_of(states.load(session).state)
    return states.load(root, lock=True) if root is not None else None


def _under_lease(lease: Lease, loaded: Loaded, steps: Sequence[Step], root: Loaded | None = None) -> Committed | None:
    agent = loaded.state.opened.agent if loaded.state.opened else ""
    return _append(
        loaded,
        steps,
        Author(actor=f"agent:{agent}"),
        guard=lease.guard(),
        lease=settings.LEASE_SECONDS,
        root=root,
    )


# A command that rests on what is read from the log is made once nobody else can append.
CommandFactory = Callable[[Loaded], Command]


def _made(command: Command | CommandFactory, loaded: Loaded) -> Command:
    return command if isinstance(command, Command) else command(loaded)


def person_command(
    session: UUID,
    command: Command | CommandFactory,
    author: Author,
    *,
    guard: Guard | None = None,
    recheck: Callable[[], None] | None = None,
    extra_writes: Sequence[ledger.Fragment] = (),
    under: UUID | None = None,
) -> Committed:
    """Appends a command of a person, a caller or a timer.

    The session's head is locked first. A command factory and `recheck` run after that: `recheck` raises what the author
    may no longer do, because waiting for the lock may take long. The appending statement checks `guard` and writes
    `extra_writes` with the entries. `under` is a session that must live and stays as it is meanwhile. The end or a
    pause of the session also reaches the sessions that do its calls. Every change of a request is written by such a
    statement, so the lock on the head is all that a decision and an expiry need to take turns.

    The same idempotency key gives the first answer again; the same key with another command is refused.
    """

    def committed_once(with_root: bool) -> Committed:
        with transaction.atomic(durable=True):  # what is announced and remembered afterwards must be true
            root = _locked_root(session) if with_root else None
            if under is not None:
                must_live(states.load(under, lock=True).state)
            loaded = states.load(session, lock=True)
            if recheck is not None:
                recheck()
            made = _made(command, loaded)
            if author.key and (earlier := _answered_before(loaded, made, author)):
                return earlier
            digest, condition = _digest(loaded, made), guard.query if guard else None
            committed = _append(
                loaded, [step(made)], author, guard=condition, digest=digest, extra_writes=extra_writes, root=root
            )
            if committed is None:
                raise guard.failure if guard else Broken(f"session {session}: the head moved although it was locked")
            for each in (committed, *_answered_by_children(loaded.state, committed, author)):
                transaction.on_commit(partial(announcements.announce, each, wake=True))
        return committed

    try:
        return committed_once(with_root=False)
    except families.RootNeeded:
        return committed_once(with_root=True)


def _answered_by_children(before: SessionState, committed: Committed, author: Author) -> Iterator[Committed]:
    """What an end, a pause, a rollback or a new voice of the customer leads to in the sessions that do calls of this
    one, and in theirs: in the same transaction, under the same command id. `before`: its state before the commit.
    """
    for loaded, command in children.answering(committed.session, before, committed.state, committed.events):
        made = _linked(loaded, command, Author(author.actor), b"", committed.command)
        yield made
        yield from _answered_by_children(loaded.state, made, author)


def together(
    main: UUID, factories: Mapping[UUID, Callable[[Mapping[UUID, Loaded]], Command]], author: Author
) -> Committed:
    """One command a session, all in one transaction and under one command id; the answer and the idempotency key are
    those of `main`. All heads are locked first, in the order in which they are named: a session before what came of it
    (its fork, a session that does its call), so two of these cannot wait for each other.
    """
    with transaction.atomic(durable=True):
        loaded = {session: states.load(session, lock=True) for session in factories}
        command = factories[main](loaded)
        if author.key and (earlier := _answered_before(loaded[main], command, author)):
            return earlier
        digest = _digest(loaded[main], command)
        key = ledger.receipt_key(author.actor, author.key) if author.key else b""
        link = ledger.keyed_command(key, digest) if key else new_id()
        written = {
            session: _linked(
                each, factories[session](loaded), author if session == main else Author(author.actor), digest, link
            )
            for session, each in loaded.items()
        }
        for session, committed in written.items():
            for each in (committed, *_answered_by_children(loaded[session].state, committed, author)):
                transaction.on_commit(partial(announcements.announce, each, wake=True))
    return written[main]


def _linked(loaded: Loaded, command: Command, author: Author, digest: bytes, link: UUID) -> Committed:
    committed = _append(loaded, [step(command)], author, digest=digest, command=link)
    if committed is None:
        raise Broken(f"session {loaded.place.id}: the head moved although it was locked")
    return committed


def _digest(loaded: Loaded, command: Command) -> bytes:
    """By what a repeated command is known: a keyed token, because short sentences could be guessed from a hash. Nobody
    can try it out without the keys of all whom the command concerns.
    """
    digest = bytes.fromhex(ev.digest(type(command).__name__, _plain(command)))
    for kid in (loaded.place.kid, *_others_in(loaded.state, command)):
        digest = keys.token(kid, "command", digest)
    return digest


def _others_in(state: SessionState, command: Command) -> list[UUID]:
    """The keys of the other data subjects whom a command concerns."""
    match command:
        case TakeTask(plan=ProposePlan() as plan):
            return _others_in(state, plan)
        case ProposePlan(instances=instances):
            return sorted({UUID(each.kid) for each in instances if each.kid})
        case Decide(request=request) if state.plans.instances or state.plans.erased:
            kid = projections.kid_of_request(request)
            return [kid] if kid is not None else []
        case _:
            return []


def _plain(command: Command) -> dict[str, Any]:
    """Returns the fields that identify a command: without what its author held then, and what was looked up for it."""
    fields = msgspec.structs.asdict(command)
    return {name: value for name, value in fields.items() if name != "may" and name not in command.excluded_from_digest}


def _answered_before(loaded: Loaded, command: Command, author: Author) -> Committed | None:
    receipt = ledger.read_receipt(loaded.place.id, ledger.receipt_key(author.actor, author.key))
    if receipt is None:
        return None
    if receipt.digest != _digest(loaded, command):
        raise ledger.SameKeyOtherCommand()
    return Committed(loaded.place, receipt.command, receipt.first, receipt.size, loaded.state, repeated=True)


def _append(
    loaded: Loaded,
    steps: Sequence[Step],
    author: Author,
    *,
    guard: ledger.Fragment | None = None,
    digest: bytes = b"",
    lease: float | None = None,
    command: UUID | None = None,
    extra_writes: Sequence[ledger.Fragment] = (),
    root: Loaded | None = None,
) -> Committed | None:
    context = _context_now(loaded)
    at = stamp(context.at)
    state, events, drafts = _decided(loaded.state, steps, context, at)
    if not events:
        return Committed(loaded.place, new_id(), loaded.head.size, loaded.head.size, state, head=loaded.head)
    news = counting.news(loaded.state, state)
    if news != Remembered() and root is None and families.root_of(state) is not None:
        raise families.RootNeeded()
    key = ledger.receipt_key(author.actor, author.key) if author.key else b""
    kept = _is_due(loaded.head.size, state.seq) and not state.plans.instances
    batch = ledger.Batch(
        drafts=drafts,
        kid=loaded.place.kid,
        actor=author.actor,
        at=at,
        command=command or (ledger.keyed_command(key, digest) if key else new_id()),
        epoch=state.epoch,
        key=key,
        digest=digest,
        guard=standing_approvals.in_time(
            stops.guarded(guard, loaded.place, state, events), state, events, loaded.state, context.grants
        ),
        extra_writes=(
            *projections.fragments(loaded.place, state, events, before=loaded.state, lease=lease),
            *standing_approvals.fragments(loaded.place, loaded.state, events, context.grants, at),
            *([states.snapshot(loaded.place, state)] if kept else []),
            *extra_writes,
        ),
        seals=isinstance(events[-1], ev.SessionSealed),
    )
    head = ledger.append(loaded.head, batch)
    if head is None:
        return None
    if root is not None and news != Remembered():
        told = _linked(root, CountDelegate(str(loaded.place.id), news), Author(author.actor), b"", batch.command)
        transaction.on_commit(partial(announcements.announce, told, wake=False))
    return _kept(Loaded(loaded.place, head, state), batch, loaded.head.size, events, with_snapshot=kept)


def _context_now(loaded: Loaded) -> CommandContext:
    """Returns what deciding needs besides the state: the stops, the standing approvals, and the team's approvers."""
    context = context_for(loaded.state.opened.agent if loaded.state.opened else "", now())
    return msgspec.structs.replace(
        context,
        halt=stops.halt_for(loaded.place, loaded.state),
        grants=standing_approvals.standing_for(loaded.place, loaded.state, context.policy),
        givers={},
        approvers=cache(partial(approvers, loaded.place.team)),
        family=families.family_of(loaded.state, loaded.state.plans.parent),
    )


def _is_due(first: int, size: int) -> bool:
    """Whether a snapshot is to be kept once entries `first` to `size` - 1 are there."""
    every: int = settings.SNAPSHOT_EVERY
    return size // every > first // every


def _decided(
    state: SessionState, steps: Sequence[Step], context: CommandContext, at: str
) -> tuple[SessionState, list[ev.AnyEvent], list[ledger.Draft]]:
    """The state after `steps`, their events, and each event as the entry to be."""
    events: list[ev.AnyEvent] = []
    drafts: list[ledger.Draft] = []

    def take(step: Step) -> None:
        nonlocal state, context
        for made in step(state, context):
            if isinstance(made, ev.Event):
                drafts.append(_draft(state, made))
                context, before = counted(context, state, made), state
                state = evolve(state, made, at)
                context = counting.counted(context, before, state)
                events.append(made)
            else:
                take(made)

    for each in steps:
        take(each)
    return state, events, drafts


def _draft(state: SessionState, event: ev.AnyEvent) -> ledger.Draft:
    """The entry of an event that happens in `state`, under the key of the one data subject whom it concerns."""
    kid = kid_of(state, event)
    return ledger.Draft(ev.kind_of(event), ev.encode(event), answers(state, event), UUID(kid) if kid else None)


def answers(state: SessionState, event: ev.AnyEvent) -> int:
    """The seq of the entry that `event` answers: a result its intent, a decision its request; -1 for none."""
    match event:
        case ev.ToolReturned() | ev.ToolFailed() if event.call in state.versions.late:
            return state.versions.late[event.call].intent
        case ev.ToolReturned() | ev.ToolFailed() | ev.CallDoubted() | ev.CallIntervened():
            return state.calls[event.call].intent
        case (
            ev.DecisionMade()
            | ev.RequestEnded()
            | ev.RequestEscalated()
            | ev.RequestHeld()
            | ev.RequestUndone()
            | ev.RequestClaimed()
            | ev.RequestReleased()
        ):
            return state.requests[event.request].seq
        case ev.ToolIntended() | ev.CallWithdrawn() if event.request in state.requests:
            return state.requests[event.request].seq
        case _:
            return -1


def _kept(
    loaded: Loaded, batch: ledger.Batch, first: int, events: list[ev.AnyEvent], *, with_snapshot: bool = False
) -> Committed:
    """Remember the new state; inside a transaction only once it has committed. `with_snapshot`: its snapshot was
    written with it.
    """

    def keep() -> None:
        states.remember(loaded)
        if _is_due(first, loaded.head.size) and not with_snapshot:
            states.keep_snapshot(loaded)

    if transaction.get_connection().in_atomic_block:
        transaction.on_commit(keep)
    else:
        keep()
    head = loaded.head
    return Committed(loaded.place, batch.command, first, head.size, loaded.state, tuple(events), head=head)


def open_session(place: projections.Place, command: Command, author: Author) -> Committed | None:
    """The first commit of a session; None when a session of that id exists. Raises keys.Erased when the erasure of its
    customer has begun: who asks again gets a new key.
    """
    context = context_for(getattr(command, "agent", ""), now())
    at = stamp(context.at)
    state, events, drafts = _decided(SessionState(), [step(command)], context, at)
    batch = ledger.Batch(
        drafts=drafts,
        kid=place.kid,
        actor=author.actor,
        at=at,
        command=new_id(),
        extra_writes=projections.fragments(place, state, events),
        guard=erasure.living([place.kid]),
    )
    with transaction.atomic(durable=True):
        head = ledger.create(place.id, place.tenant, batch)
    if head is None:
        erasure.must_live(place.kid)
        return None
    committed = _kept(Loaded(place, head, state), batch, 0, events)
    announcements.announce(committed, wake=True)
    return committed


def jitter(base: float, attempt: int) -> float:
    """Seconds to pause before try `attempt` + 1: exponential, capped at a minute, with full jitter above a half."""
    pause = min(60.0, base * 2.0 ** max(0, attempt - 1))
    return pause * (0.5 + random.random() / 2)
