"""What events change in plans: one is proposed or committed, instances are opened, calls are dropped, the round ends.

A function an event, named like it. What happens to a call of the plan otherwise (it runs, returns, is refused by a
person ...) reaches the plan through `followed`: the call keeps its lifecycle, the round learns of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from agentstate.engine import events as ev
from agentstate.engine import schemas
from agentstate.engine.conversation import Item, added
from agentstate.engine.handlers import event_handler
from agentstate.engine.lifecycle import CALL_ENDED, CallMove, CallStatus
from agentstate.engine.plan import model, ready, rounds
from agentstate.engine.plan.model import Plan
from agentstate.engine.plan.order import graph
from agentstate.engine.plan.rounds import Round
from agentstate.engine.policy.tally import added as summed
from agentstate.engine.policy.tally import today
from agentstate.engine.references import Path
from agentstate.engine.scratchpad import messages
from agentstate.engine.scratchpad.private import detail_without
from agentstate.engine.state import goals
from agentstate.engine.state.calls import KEPT_CALLS, moved, trimmed
from agentstate.engine.state.participants import people, took_part
from agentstate.engine.state.rounds import (
    KEPT_VERSIONS,
    PLAN,
    Approval,
    Instance,
    Plans,
    board_of,
    call_id,
    data_instance,
    not_offered,
    others_of,
    pad_of,
    place_of,
    private_schemas_of,
    round_of,
    views_of,
    with_part,
)
from agentstate.engine.state.session import Call, SessionState, remembering, remembering_also
from agentstate.engine.state.subjects import kid_of_instance
from agentstate.engine.state.value_authors import authors_of_inputs

_json = msgspec.json.Encoder(decimal_format="number")
FEW = 50  # calls whose results the agent is told one by one at the end of a round

_CALL_EVENTS = (
    ev.ApprovalRequested,
    ev.RequestEnded,
    ev.ToolIntended,
    ev.ToolReturned,
    ev.ToolFailed,
    ev.CallRefused,
    ev.CallWithdrawn,
    ev.CallIntervened,
)


@event_handler(ev.PlanProposed)
def plan_proposed(state: SessionState, event: ev.PlanProposed, at: str) -> SessionState:
    arguments: dict[str, Any] = {"calls": list(event.calls), "by": event.by, "source": event.source}
    arguments |= {"follow": event.follow, "inputs": event.inputs, "instances": event.instances, "saved": event.saved}
    arguments |= {"members": [msgspec.to_builtins(each) for each in event.members], "tools": event.tools}
    authors = () if event.source == "model" else people((event.by, *event.saved_by))
    waits = Call(event.round, PLAN, arguments, None, CallStatus.PROPOSED, authors=authors)
    calls = {**state.calls, event.round: waits}
    return replace(state, calls=calls, plans=replace(state.plans, proposed=event.round, shaken=None))


@event_handler(ev.InstanceProposed)
def instance_proposed(state: SessionState, event: ev.InstanceProposed, at: str) -> SessionState:
    """What an instance is offered changes nothing that is in force; a new one holds nothing else until it is opened."""
    part = state.plans.instances.get(event.instance) or Instance(subject=event.subject, kid=event.kid)
    part = replace(part, offered={**part.offered, event.round: event.inputs}, seq=state.seq)
    return replace(state, plans=replace(state.plans, instances={**state.plans.instances, event.instance: part}))


@event_handler(ev.PlanCommitted)
def plan_committed(state: SessionState, event: ev.PlanCommitted, at: str) -> SessionState:
    plan = model.read(list(event.calls))
    before, again = state.plans, event.round == state.plans.round
    approved = _approval(before, event, plan) if again else _new_approval(event, plan)
    plans = replace(
        before,
        version=event.version,
        rounds=before.rounds + (not again),
        round=event.round,
        is_open=True,
        plan=plan,
        by=event.by,
        authors=_authors(state, event, again),
        source=event.source,
        saved=event.saved,
        follow=event.follow,
        run=state.run,
        told=_told(state, event),
        approved=approved,
        committed=(*before.committed, state.seq)[-KEPT_VERSIONS:],
        inputs=event.inputs,
        many=event.instances > 0,
        proposed="" if before.proposed == event.round else before.proposed,
        own=_kept(before.own, plan, again, event.round, state.seq),
        instances={
            name: _kept(part, plan, again, event.round, state.seq) if part.round == event.round else part
            for name, part in before.instances.items()
        },
        ready=(),
    )
    return _begun(_without_proposal(replace(state, plans=not_offered(plans, event.round)), event.round))


def _authors(state: SessionState, event: ev.PlanCommitted, again: bool) -> tuple[str, ...]:
    """Returns the people who proposed the plan, in an earlier version of the round, by an edit of its request, or of
    the saved plan behind it.
    """
    proposal = state.calls.get(event.round)
    before = state.plans.authors if again else ()
    of_request = proposal.authors if proposal is not None and proposal.tool == PLAN else ()
    own = () if event.source == "model" else (event.by, *event.saved_by)
    return people((*before, *of_request, *own))


def _new_approval(event: ev.PlanCommitted, plan: Plan) -> Approval | None:
    if not event.request:
        return None
    return Approval(event.request, event.tier, event.quorum, tuple(plan.by_id), tools=event.tools)


def _approval(before: Plans, event: ev.PlanCommitted, plan: Plan) -> Approval | None:
    """After an edit the approval covers the calls that are as approved, and read from none that is not."""
    if before.approved is None:
        return None
    was, now = graph(before.plan), graph(plan)
    same: set[str] = set()
    for name in now.order:
        sources = {*now.sources(name), *(was.sources(name) if name in before.plan.by_id else ())}
        if name in before.approved.calls and plan.by_id[name] == before.plan.by_id[name] and sources <= same:
            same.add(name)
    kept = tuple(name for name in before.approved.calls if name in same)
    edited = {name: before.approved.edited.get(name, event.by) for name in plan.by_id if name not in same}
    return replace(before.approved, calls=kept, edited=edited)


def _told(state: SessionState, event: ev.PlanCommitted) -> Any:
    """How the agent is told: result by result when it proposed call by call, at the end when it proposed a plan."""
    if event.source != "model":
        return "note"
    if event.round == state.plans.round:
        return state.plans.told
    asked = any(call.id == event.round for item in state.items for call in item.calls)
    return "whole" if asked else "each"


def _kept(part: Instance, plan: Plan, again: bool, round_id: str, seq: int) -> Instance:
    """What a part brings into the round: nothing, but what has begun already when a plan is edited on the way."""
    if not again:
        return replace(part, round=round_id, outcomes={}, marks={}, rewritten={}, seq=seq)
    kept = {
        name: outcome
        for name, outcome in part.outcomes.items()
        if name in plan.by_id and (outcome.began or outcome.status not in ("skipped", "blocked"))
    }
    return replace(part, outcomes=kept, seq=seq)


def _without_proposal(state: SessionState, round_id: str) -> SessionState:
    """The calls as the model wrote them make room for those of the plan; the call that was approved is done."""
    calls = {
        key: call
        for key, call in state.calls.items()
        if not (call.status is CallStatus.PROPOSED and (key == round_id or key.startswith(round_id + ".")))
    }
    proposal = calls.get(round_id)
    if proposal is not None and proposal.status is CallStatus.READY:
        calls[round_id] = replace(proposal, status=CallStatus.DONE)
    return replace(state, calls=calls)


def _begun(state: SessionState) -> SessionState:
    """Every call of every instance counted, and those that may begin at once in the queue."""
    plans = state.plans
    others = others_of(plans, state.pad)
    queue: list[str] = []
    left = 0
    for instance in plans.members:
        now, views = round_of(plans, instance), views_of(plans, state.pad, instance)
        left += sum(name not in now.outcomes or now.outcomes[name].status in rounds.OPEN for name in plans.plan.by_id)
        for name, standing in ready.standings(now, views, others).items():
            if standing.status == "ready":
                queue.append(call_id(plans.round, name, instance))
    return replace(state, plans=replace(plans, ready=tuple(queue), left=left))


@event_handler(ev.InstanceOpened)
def instance_opened(state: SessionState, event: ev.InstanceOpened, at: str) -> SessionState:
    before = state.plans.instances.get(event.instance, Instance())
    opened = replace(
        before,
        inputs=event.inputs,
        round=event.round,
        seq=state.seq,
        subject=event.subject,
        kid=event.kid,
    )
    instances = {**state.plans.instances, event.instance: opened}
    return replace(state, plans=replace(state.plans, instances=instances))


@event_handler(ev.CallReadied)
def call_readied(state: SessionState, event: ev.CallReadied, at: str) -> SessionState:
    call = Call(
        event.call,
        event.tool,
        event.arguments,
        None,
        CallStatus.PROPOSED,
        instance=event.instance,
        round=state.plans.round,
        kid=kid_of_instance(state.plans, event.instance),
        activity=event.activity,
        authors=state.plans.authors,
        inputs_by=authors_of_inputs(state.plans, event.call),
    )
    plans = replace(state.plans, ready=_without(state.plans.ready, event.call))
    return replace(state, calls={**state.calls, event.call: call}, plans=plans)


@event_handler(ev.CallsDropped)
def calls_dropped(state: SessionState, event: ev.CallsDropped, at: str) -> SessionState:
    now = round_of(state.plans, event.instance)
    for each in event.calls:
        if each.status == "skipped":
            now = rounds.skipped(now, each.name, each.reason, at, kept=each.kept)
        else:
            now = rounds.blocked(now, each.name, each.reason, at)
    gone = {call_id(event.round, each.name, event.instance) for each in event.calls}
    queue = tuple(key for key in state.plans.ready if key not in gone)
    state = replace(state, plans=replace(state.plans, ready=queue))
    state = _with_round(state, event.instance, now, [each.name for each in event.calls])
    for each in event.calls:
        state = _tell(state, call_id(event.round, each.name), each)
    return state


def _tell(state: SessionState, call: str, dropped: ev.Dropped) -> SessionState:
    """The agent, which asked call by call, learns that this one will not run."""
    if state.plans.told != "each":
        return state
    text = _json.encode({"status": dropped.status, "reason": dropped.reason}).decode()
    item = Item(seq=state.seq, role="tool", text=text, by=state.plans.plan.by_id[dropped.name].tool, call=call)
    return replace(state, items=added(state.items, item), owes=not state.ended)


@event_handler(ev.RoundEnded)
def round_ended(state: SessionState, event: ev.RoundEnded, at: str) -> SessionState:
    if event.because:
        state = _withdrawn(state, event.beside)
    plans = replace(state.plans, is_open=False, ready=(), left=0, counts=event.counts)
    state = goals.plan_ended(replace(state, plans=plans), event)
    if plans.parent:  # what it came to is for the session that asked
        return state
    if plans.told == "each":
        return replace(state, owes=not state.ended)
    text = _json.encode(_report(state, event)).decode()
    if plans.told == "whole":
        item = Item(seq=state.seq, role="tool", text=text, by=PLAN, call=plans.round)
    else:
        item = Item(seq=state.seq, role="note", text=text, by=PLAN)
    return replace(state, items=added(state.items, item), owes=not state.ended)


def _report(state: SessionState, event: ev.RoundEnded) -> dict[str, Any]:
    """What the agent is told of a round that has ended: the counts, and what did not go well."""
    report: dict[str, Any] = {"status": "ended", "plan": state.plans.version, "calls": event.counts}
    if event.instances:
        report["instances"] = event.instances
    if event.because:
        report["because"] = event.because
    wrong: dict[str, str] = {}
    for instance in state.plans.members:
        part = state.plans.part(instance)
        if part.kid:
            continue  # the agent's conversation is with another
        for name, outcome in part.outcomes.items():
            if call_id(event.round, name, instance) in event.beside:
                continue
            if outcome.status != "done" and len(wrong) < FEW:
                label = f"{instance}: {name}" if instance else name
                wrong[label] = f"{outcome.status}: {outcome.reason}"[:200]
    if wrong:
        report["not_done"] = wrong
    if event.beside:
        report["approved_and_goes_on"] = [call.partition(".")[2] for call in event.beside]
    return report


def _withdrawn(state: SessionState, beside: tuple[str, ...]) -> SessionState:
    """What could still have run of a round that is ended from outside will not, but for the calls of `beside`."""
    for call in list(state.calls.values()):
        if call.id in beside or place_of(state.plans, call.id) is None:
            continue
        if call.status is CallStatus.READY:
            state = moved(state, call.id, CallMove.WITHDRAW)
    return state


@event_handler(ev.TaskTaken)
def task_taken(state: SessionState, event: ev.TaskTaken, at: str) -> SessionState:
    plans = replace(state.plans, parent=event.parent, parent_call=event.call, parent_authors=event.authors)
    loop = replace(state.loop, share=event.share)
    return replace(remembering(_with_customers(state, event.customers), event.remembered), plans=plans, loop=loop)


@event_handler(ev.TaskCustomersAdded)
def task_customers_added(state: SessionState, event: ev.TaskCustomersAdded, at: str) -> SessionState:
    return _with_customers(state, event.customers)


def _with_customers(state: SessionState, actors: tuple[str, ...]) -> SessionState:
    involved = state.involved
    for actor in actors:
        involved = took_part(involved, "customer", actor)
    return replace(state, involved=involved)


@event_handler(ev.TaskDelivered)
def task_delivered(state: SessionState, event: ev.TaskDelivered, at: str) -> SessionState:
    """What the other session set going is added to the day's sums: it has counted them apart from this one."""
    tally = summed(today(state.tally, at), event.remembered.tally)
    return replace(remembering(state, event.remembered), tally=tally)


@event_handler(ev.DelegateCounted)
def delegate_counted(state: SessionState, event: ev.DelegateCounted, at: str) -> SessionState:
    return remembering_also(state, event.remembered)


@event_handler(ev.CallDelegated)
def delegated(state: SessionState, event: ev.CallDelegated, at: str) -> SessionState:
    call = replace(state.calls[event.call], delegate=event.session)
    return replace(state, calls={**state.calls, call.id: call})


def followed(before: SessionState, state: SessionState, event: ev.AnyEvent, at: str) -> SessionState:
    """The plan's part in what happened to one of its calls."""
    if isinstance(event, ev.SessionEnded | ev.SessionCancelled) and state.plans.is_open:
        return replace(state, plans=replace(state.plans, is_open=False, ready=()))
    state = _proposal_over(state)
    if not state.plans.round or not isinstance(event, _CALL_EVENTS):
        return state
    key = before.requests[event.request].asked.call if isinstance(event, ev.RequestEnded) else event.call
    place = place_of(state.plans, key)
    call = state.calls.get(key)
    if place is None or call is None or not _concerns(state, place):
        return state
    name, instance = place
    now = round_of(state.plans, instance)
    match event:
        case ev.ToolIntended() | ev.ApprovalRequested():
            began = rounds.asked if isinstance(event, ev.ApprovalRequested) else rounds.began
            state = _with_round(state, instance, began(now, name, at), ())
            return replace(state, plans=replace(state.plans, ready=_without(state.plans.ready, key)))
        case ev.ToolReturned():
            return _wrote(state, instance, call, _done(state, now, key, event.result, at, event.outcome))
        case ev.ToolFailed() if call.status is CallStatus.FAILED:
            return _wrote(state, instance, call, _failed(state, now, key, event.reason, event.unwritten, at))
        case ev.CallIntervened():
            return _settled(before, state, event, now, at)
        case ev.CallWithdrawn():
            return _with_round(state, instance, rounds.rejected(now, name, event.because, at), (name,))
        case ev.CallRefused():
            return _with_round(state, instance, rounds.rejected(now, name, event.reason, at), (name,))
        case ev.RequestEnded() if call.status is CallStatus.RESPONDED:
            if event.unwritten:
                ended = rounds.unwritten(now, name, "done", event.unwritten, at)
                return _with_round(state, instance, ended, (name,))
            answer = state.requests[event.request].response if event.request in state.requests else ""
            return _wrote(state, instance, call, _done(state, now, key, answer, at, 0))
        case ev.RequestEnded() if call.status in CALL_ENDED:
            reason = _why(state, event)
            return _with_round(state, instance, rounds.rejected(now, name, reason, at), (name,))
        case _:
            return state


def _proposal_over(state: SessionState) -> SessionState:
    """Removes a plan that was not approved, with the inputs that its instances would have got."""
    waited = state.calls.get(state.plans.proposed)
    if not state.plans.proposed or (waited is not None and waited.status not in CALL_ENDED):
        return state
    plans = not_offered(state.plans, state.plans.proposed)
    return replace(state, plans=replace(plans, proposed="", shaken=None))


def _settled(before: SessionState, state: SessionState, event: ev.CallIntervened, now: Round, at: str) -> SessionState:
    """What a person made of a call of the plan. One that had ended before was reckoned with then."""
    was, call = before.calls[event.call].status, state.calls[event.call]
    name, instance = place_of(state.plans, event.call) or ("", "")
    if was in CALL_ENDED or call.status is CallStatus.READY:
        return state
    if call.status is CallStatus.DONE:
        return _wrote(state, instance, call, _done(state, now, event.call, event.result, at, 0))
    if call.status is CallStatus.WITHDRAWN:
        return _with_round(state, instance, rounds.rejected(now, name, event.reason, at), (name,))
    return _wrote(state, instance, call, _failed(state, now, event.call, event.reason, event.unwritten, at))


def _concerns(state: SessionState, place: tuple[str, str]) -> bool:
    name, instance = place
    if name not in state.plans.plan.by_id:
        return False
    return not state.plans.many or instance in state.plans.instances


def _why(state: SessionState, event: ev.RequestEnded) -> str:
    request = state.requests.get(event.request)
    said = request.reason if request is not None else ""
    return said or event.because or event.outcome


Written = tuple[Round, dict[str, Any], tuple[Path, ...]]


def _done(state: SessionState, now: Round, key: str, result: Any, at: str, outcome: int) -> Written:
    name, _ = place_of(state.plans, key) or ("", "")
    return _fitting(state, now, key, rounds.done(now, _whole(state, key), name, result, at, outcome), at)


def _failed(state: SessionState, now: Round, key: str, reason: str, unwritten: str, at: str) -> Written:
    """The error at the last alternative, unless the entry says why it is not written."""
    name, _ = place_of(state.plans, key) or ("", "")
    pad = _whole(state, key)
    if unwritten:
        return rounds.unwritten(now, name, "failed", f"{reason} {unwritten}", at), pad, ()
    return _fitting(state, now, key, rounds.failed(now, pad, name, {"error": reason}, at, reason), at)


def _fitting(state: SessionState, now: Round, key: str, wrote: Written, at: str) -> Written:
    """What an output wrote; nothing, where that would break the schema of a data message. A tool's result was judged
    before: this is for an error that goes to an alternative, and for a person's answer in the result's place.
    """
    name, _ = place_of(state.plans, key) or ("", "")
    instance = data_instance(state.plans, key)
    board = board_of(state.plans, instance)
    try:
        for kind in {path.kind for path in wrote[2]} & board.keys():
            messages.must_follow(replace(board[kind], value=wrote[1][messages.name_of(kind)]), kind)
    except schemas.BreaksSchema as broken:
        ended = wrote[0].outcomes[name]
        status: Any = "failed" if ended.status == "failed" else "done"
        why = detail_without(broken, messages.private_paths(private_schemas_of(state.plans, instance)))
        now = rounds.unwritten(now, name, status, f"{ended.reason} {why}".strip(), at)
        return now, _whole(state, key), ()
    return wrote


def _whole(state: SessionState, key: str) -> dict[str, Any]:
    """The scratchpad that a call writes, and the data messages beside it."""
    instance = data_instance(state.plans, key)
    return messages.whole(pad_of(state.plans, state.pad, instance), board_of(state.plans, instance))


def _wrote(state: SessionState, instance: str, call: Call, written: Written) -> SessionState:
    """The round, the scratchpad and the data messages after an output, and what may begin through it."""
    now, after, wrote = written
    name, _ = place_of(state.plans, call.id) or ("", "")
    target = data_instance(state.plans, call.id)
    before, board = pad_of(state.plans, state.pad, target), board_of(state.plans, target)
    pad, data = messages.parted(before, after, board, wrote, f"tool:{call.tool}")
    if not target:
        own = replace(state.plans.own, data=data)
        state = replace(state, pad=pad, plans=replace(state.plans, own=own))
    else:
        part = replace(state.plans.instances.get(target, Instance()), pad=pad, data=data, seq=state.seq)
        state = replace(state, plans=replace(state.plans, instances={**state.plans.instances, target: part}))
    return _with_round(state, instance, now, (name,))


def _with_round(state: SessionState, instance: str, now: Round, ended: Iterable[str]) -> SessionState:
    """The state with what has become of the round; the calls of `ended` have ended, and others may begin."""
    plans, names = state.plans, tuple(ended)
    part = replace(plans.part(instance), outcomes=dict(now.outcomes), marks=dict(now.marks), seq=state.seq)
    plans = with_part(plans, instance, part)
    if names and plans.is_open:
        plans = replace(plans, left=plans.left - len(names), ready=_longer(state, plans, instance, now, names))
    state = replace(state, plans=plans)
    return trimmed(state) if len(state.calls) > 2 * KEPT_CALLS else state


def _longer(state: SessionState, plans: Plans, instance: str, now: Round, ended: tuple[str, ...]) -> tuple[str, ...]:
    views, others = views_of(plans, state.pad, instance), others_of(plans, state.pad)
    found = ready.following(now, views, ended, others)
    fresh = (call_id(plans.round, each.call, instance) for each in found if each.status == "ready")
    queued = set(plans.ready)
    return (*plans.ready, *(key for key in fresh if key not in queued and key not in state.calls))


def _without(queue: tuple[str, ...], key: str) -> tuple[str, ...]:
    return tuple(each for each in queue if each != key) if key in queue else queue
