"""What must hold of every effect, judged from the events of all sessions alone and without the engine's rules.

An effect that begins was allowed by the rules of `approval_policy`, or approved by somebody who may decide it now and
did not propose it; with the values that they approved; once. An allowed call begins, waits to begin, or ends by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agentstate.engine import events as ev
from agentstate.engine import scratchpad
from agentstate.engine.advance import LetExpire, Nothing, next_action
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import calls_in, pending
from tests.core.approval_policy import WINDOW, WINDOWED, asks
from tests.core.approval_system import System
from tests.core.laws import require

APPROVES = ("approve", "edit")
ALLOWING = ("approved", "edited", "unopposed")
REST = ("customer", "nobody")  # what a session waits for in which nothing is to be done


def judge(before: System, after: System) -> None:
    """Judges what one move has led to. Raises Unlawful naming the law."""
    for place in range(len(before.trail), len(after.trail)):
        name, event, seconds = after.trail[place]
        if isinstance(event, ev.ToolIntended) and event.effect != "delegate" and event.tool != "look":
            _judge_effect(after, place, name, event, seconds)
    for name in after.sessions:
        _judge_ends(after, name)


def _judge_effect(system: System, place: int, name: str, intent: ev.ToolIntended, seconds: int) -> None:
    before = system.trail[:place]
    if not _is_open(before, intent.call):  # what began before it ended is settled
        _in_force(system, before, name)
    _once(before, name, intent)
    if intent.tool == "transfer" and not system.state(name).ended:
        _in_chart(before, name, seconds)
    if intent.attempt > 1:
        _in_time(replace(system, seconds=seconds), before, name, intent.call)
        return
    tier = asks(intent.tool, intent.arguments, _moved(system, before, name))
    if tier:
        _approved(system, before, name, intent, tier)


def _in_time(system: System, before: tuple[Any, ...], name: str, call: str) -> None:
    """No try begins after the total time of its tool, which a person or a new request begins anew."""
    until = ""
    for session, event, _ in before:
        if session == name and isinstance(event, ev.ToolIntended) and event.call == call:
            until = until or event.retry_until
        elif session == name and isinstance(event, ev.CallIntervened | ev.ApprovalRequested) and event.call == call:
            until = ""
    require(not until or system.at <= until, "no try begins after the total time of its tool")


def _is_open(before: tuple[Any, ...], call: str) -> bool:
    """Whether the call had begun, and what came of it is not known."""
    kinds = (ev.ToolIntended, ev.ToolReturned, ev.ToolFailed)
    found = [event for _, event, _ in before if isinstance(event, kinds) and event.call == call]
    return bool(found) and isinstance(found[-1], ev.ToolIntended)


def _in_chart(before: tuple[Any, ...], name: str, seconds: int) -> None:
    """A session stays with the version of the chart that it began with; that allows transfers for a while."""
    charts = [event.chart for each, event, _ in before if each == name and isinstance(event, ev.ChartMoved)]
    if charts:
        require(charts[0] == WINDOWED.reference, "a chart that allows no transfer lets none begin")
        opened = max((at for each, event, at in before if each == name and _opens_window(event)), default=-WINDOW)
        require(seconds - opened <= WINDOW + 1, "a transfer begins only while the chart allows it")


def _opens_window(event: ev.AnyEvent) -> bool:
    """Whether the chart allows transfers from now on, for WINDOW seconds at most: the customer has spoken, or the chart
    stands again where it stood, with the time that was left.
    """
    again = isinstance(event, ev.SessionRolledBack | ev.SessionForked | ev.ForkPromoted)
    return again or (isinstance(event, ev.MessageAdded) and event.role == "customer")


def _in_force(system: System, before: tuple[Any, ...], name: str) -> None:
    """Neither the session nor one that it does a call of has ended, is paused, or is a fork that nobody promoted."""
    each = name
    while each:
        events = [event for session, event, _ in before if session == each]
        ended = any(isinstance(event, ev.SessionEnded | ev.SessionCancelled) for event in events)
        require(not ended, "nothing begins in a session that has ended, nor for one")
        stops = [event for event in events if isinstance(event, ev.SessionPaused | ev.SessionResumed)]
        require(not stops or isinstance(stops[-1], ev.SessionResumed), "nothing begins while it is paused")
        forked = any(isinstance(event, ev.SessionForked) for event in events)
        promoted = any(isinstance(event, ev.ForkPromoted) for event in events)
        require(promoted or not forked, "a fork does not act, nor does what it handed over")
        taken = next((at for at, event in enumerate(events) if isinstance(event, ev.TaskTaken)), None)
        parent = _parent(before, each)
        if parent and taken is not None:
            since = [event for session, event, _ in _since_task(before, each) if session == parent]
            back = any(isinstance(event, ev.SessionRolledBack) for event in since)
            require(not back, "nothing begins for a call that was rolled back")
        each = parent


def _parent(trail: tuple[Any, ...], name: str) -> str:
    found = [event.parent for session, event, _ in trail if session == name and isinstance(event, ev.TaskTaken)]
    return found[0] if found else ""


def _since_task(trail: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    at = next(at for at, (each, event, _) in enumerate(trail) if each == name and isinstance(event, ev.TaskTaken))
    return trail[at:]


def _once(before: tuple[Any, ...], name: str, intent: ev.ToolIntended) -> None:
    """No call that was done begins again, in any session; one that may be done once not while nobody knows."""
    unknown = False
    for _, event, _ in before:
        if isinstance(event, ev.ToolIntended) and event.call == intent.call and event.effect == "once":
            unknown = True
        elif isinstance(event, ev.ToolReturned) and event.call == intent.call:
            require(False, "what was done is not begun again")
        elif isinstance(event, ev.ToolFailed) and event.call == intent.call:
            unknown = False
        elif isinstance(event, ev.CallIntervened) and event.call == intent.call:
            require(event.how not in ("happened", "supply"), "what a person says was done is not begun again")
            unknown = unknown and event.how != "not_happened"
    require(not unknown, "what may be done once is not begun again while nobody knows whether it was")


def _moved(system: System, before: tuple[Any, ...], name: str) -> int:
    """What was moved today by the session, by those above it and their delegates, and by those whose place it took."""
    family, size = {name}, 0
    while size < len(family):
        size = len(family)
        for session, event, _ in before:
            if isinstance(event, ev.ForkPromoted) and session in family:
                family.add(event.parent)
            if isinstance(event, ev.TaskTaken) and {session, event.parent} & family:
                family |= {session, event.parent}
    found = [event for session, event, _ in before if session in family]
    return sum(
        event.arguments["amount"]["minor"]
        for event in found
        if isinstance(event, ev.ToolIntended) and event.tool == "transfer" and event.attempt == 1
    )


def _approved(system: System, before: tuple[Any, ...], name: str, intent: ev.ToolIntended, tier: int) -> None:
    """Somebody who may decide it now and did not propose it approved exactly this."""
    events = [event for session, event, _ in before if session == name]
    require(bool(intent.request), "what a rule asks a person about rests on a request")
    asked = next(e for e in events if isinstance(e, ev.ApprovalRequested) and e.request == intent.request)
    decisions = [e for e in events if isinstance(e, ev.DecisionMade) and e.request == intent.request]
    ended = [e for e in events if isinstance(e, ev.RequestEnded) and e.request == intent.request]
    require(bool(ended) and ended[-1].outcome in ALLOWING, "the request it rests on was let through")
    edits = [at for at, made in enumerate(decisions) if made.decision == "edit"]
    behind = [made for made in decisions[edits[-1] if edits else 0 :] if made.decision in APPROVES]
    need = "decide_tier3" if tier == 3 else "decide"
    entitled = [
        made
        for made in behind
        if need in system.rights[made.under or made.by]
        and (not made.under or _lends(system, made))
        and not {made.by, made.under} & _authors(system, before, name, made, intent.call, tier)
    ]
    require(bool(entitled), "somebody who may decide it and did not propose it approved it")
    if asked.tool == "plan":
        _as_planned(events, intent, asked, ended[-1])
        return
    for made in behind:
        if made.decision == "edit":
            _lowered(decisions, made, asked)
    _as_shown(system, before, name, asked)
    arguments = next((made.arguments for made in reversed(decisions) if made.arguments is not None), asked.arguments)
    require(intent.arguments == arguments, "what begins has the arguments that were approved")
    if tier == 3:
        require(any(made.retyped for made in behind), "the amount was typed by whoever approved it")


def _lends(system: System, made: ev.DecisionMade) -> bool:
    """Whether the authority that a decision rests on is still delegated to who decided."""
    return any((each.giver, each.receiver) == (made.under, made.by) for each in system.delegated(system.seconds))


def _lowered(decisions: list[ev.DecisionMade], made: ev.DecisionMade, asked: ev.ApprovalRequested) -> None:
    """An edit counts as its author's approval where it lowers the amount and changes nothing else."""
    earlier = [each.arguments for each in decisions[: decisions.index(made)] if each.arguments is not None]
    old, new = (earlier or [asked.arguments])[-1], made.arguments or {}
    only_that = {**new, "amount": old.get("amount")} == old
    require(only_that and new["amount"]["minor"] < old["amount"]["minor"], "only a lower amount counts as approved")


def _as_shown(system: System, before: tuple[Any, ...], name: str, asked: ev.ApprovalRequested) -> None:
    """The values that an approval was shown have not changed since: of the instance, or of the session itself."""
    count = sum(each == name for each, _, _ in before)
    state = fold(system.sessions[name].history[:count])
    instance = asked.call.partition("@")[2]
    pad = state.plans.instances[instance].pad if instance else state.pad
    for shown in asked.basis:
        require(scratchpad.read(pad, shown.path) == shown.value, "what was shown with it stands as it was shown")


def _authors(
    system: System, trail: tuple[Any, ...], name: str, made: ev.DecisionMade, call: str, tier: int
) -> set[str]:
    """Who had proposed the call when a decision was made, and who shared a right with them then."""
    at = next(at for at, (session, event, _) in enumerate(trail) if session == name and event is made)
    found = set(_proposers(trail[:at], name, call, tier)) - {""}
    return found.union(*(system.sharing(each, trail[at][2]) for each in found))


def _as_planned(
    events: list[ev.AnyEvent], intent: ev.ToolIntended, asked: ev.ApprovalRequested, ended: ev.RequestEnded
) -> None:
    """The call as it stands in the approved plan; a value that was open then is a tool's, and no person has changed it
    since, nor what it is made of. Nor has the state got another form.
    """
    at = events.index(ended)
    name, _, instance = intent.call.rpartition(".")[2].partition("@")
    written = next((call for call in asked.arguments["calls"] if call["_id"] == name), None)
    require(written is not None, "the call stands in the approved plan")
    assert written is not None
    offers = [event for event in events if isinstance(event, ev.InstanceProposed) and event.round == asked.call]
    inputs = {offer.instance: offer.inputs for offer in offers}
    migrated = any(isinstance(event, ev.StateMigrated) for event in events[at:])
    require(not migrated, "the state keeps its form while a plan is carried out")
    for key, value in intent.arguments.items():
        if not isinstance(written[key], str) or not written[key].startswith("†"):
            require(written[key] == value, "a value that stands in the plan is the approved one")
        elif written[key].startswith("†input"):
            require(inputs[instance]["to"] == value, "an instance is given what was approved")
        else:
            for event in events[at:]:
                require(not isinstance(event, ev.StateChanged), "nobody changed what it reads since it was approved")
                edit = isinstance(event, ev.PlanCommitted) and event.source == "person" and event.request == ""
                require(not edit, "nobody changed the plan that it reads from since it was approved")


def _proposers(trail: tuple[Any, ...], name: str, call: str, tier: int) -> Iterator[str]:
    """The people who wrote the plan, an argument of the call or a value that it reads, spoke as the customer, or as the
    agent since the last hand-back; who has the session; at the highest tier who whispered. Of a task those of the call
    that asked as well.
    """
    events = [event for session, event, _ in trail if session == name]
    rounds = {event.round for event in events if isinstance(event, ev.PlanProposed | ev.PlanCommitted)}
    mine = next((each for each in rounds if call == each or call.startswith(each + ".")), "")
    speakers: set[str] = set()
    taken = ""
    for event in events:
        match event:
            case ev.PlanProposed(round=mine_, by=by) | ev.PlanCommitted(round=mine_, by=by) if mine_ == mine:
                yield by
            case ev.DecisionMade(decision="edit", by=by, request=request) if _is_of(events, request, call):
                yield by
            case ev.CompensationOrdered(by=by, calls=calls) if call in {each.id for each in calls}:
                yield by
            case ev.MessageAdded(role="customer", by=by) if by.startswith("user:"):
                yield by
            case ev.MessageAdded(role="staff", by=by):
                speakers.add(by)
            case ev.GuidanceGiven(by=by) if tier == 3:
                yield by
            case ev.SessionTakenOver(by=by):
                taken = by
            case ev.SessionHandedBack():
                taken, speakers = "", set()
    yield from speakers
    yield taken
    yield from _writers(events, call, mine)
    for event in events:
        if isinstance(event, ev.TaskTaken):
            at = trail.index(next(each for each in trail if each[1] is event))
            yield from _proposers(trail[:at], event.parent, event.call, tier)


def _writers(events: list[ev.AnyEvent], call: str, round_: str) -> Iterator[str]:
    """The people who wrote what the plan's check gives, since a tool last did, when the call that reads it was asked
    about with its plan, or was resolved.
    """
    plans = [e for e in events if isinstance(e, ev.PlanProposed | ev.PlanCommitted) and e.round == round_]
    if not any(
        each["_id"] == call.rpartition(".")[2] and "†state.check" in str(each) for e in plans for each in e.calls
    ):
        return
    held: set[str] = set()
    for event in events:
        match event:
            case ev.StateChanged(by=by, writes=writes) if any(each.path.startswith("state.check") for each in writes):
                held.add(by)
            case ev.ToolReturned(output_path="state.check") | ev.SessionRolledBack() | ev.SessionForked():
                held.clear()
            case ev.ApprovalRequested(call=asked) if asked == round_:
                yield from held
            case ev.CallReadied(call=readied) if readied == call:
                yield from held


def _is_of(events: list[ev.AnyEvent], request: str, call: str) -> bool:
    """Whether an edit of this request led to the call: it is the call's, or an earlier one's that it was asked as."""
    return any(isinstance(e, ev.ApprovalRequested) and e.request == request and e.call == call for e in events)


def _judge_ends(system: System, name: str) -> None:
    """Every call that was let through has begun, waits to begin, or ended by name; a live session can go on."""
    state = system.state(name)
    allowed: dict[str, bool] = {}
    asked: dict[str, str] = {}
    waiting: set[str] = set()
    over = False
    for event, _ in system.sessions[name].history:
        match event:
            case ev.ApprovalRequested(request=request, call=call):
                asked[request] = call
                waiting.add(request)
                allowed.pop(call, None)
            case ev.CallAllowed(call=call):
                allowed[call] = True
            case ev.RequestEnded(request=request, outcome=outcome):
                waiting.discard(request)
                allowed[asked[request]] = outcome in ALLOWING
            case ev.PlanCommitted(round=round_):
                allowed.pop(round_, None)
            case ev.SessionEnded() | ev.SessionCancelled():
                over = True
            case ev.ForkPromoted(lasting=lasting):  # names what its parent has done meanwhile
                allowed |= {each.call: False for each in lasting if each.outcome == "done"}
            case ev.SessionExpired():
                require(not waiting and not any(allowed.values()), "no session expires in which something waits")
            case ev.CallIntervened(call=call, how=how):
                allowed[call] = how in ("retry", "not_happened") and not over
            case ev.ToolIntended(call=call) | ev.CallRefused(call=call) | ev.CallWithdrawn(call=call):
                allowed.pop(call, None)
    for call in [call for call, waits in allowed.items() if waits]:
        held = state.calls.get(call)
        require(
            held is not None and held.status is CallStatus.READY, "what was let through begins, waits, or ends by name"
        )
    if state.ended:
        require(not pending(state) and not calls_in(state, CallStatus.READY), "nothing waits in what has ended")
        return
    if state.paused_at or state.taken_by or system.halt:
        return
    action = next_action(state, system.at)
    if calls_in(state, CallStatus.READY) or state.plans.ready:
        idle = isinstance(action, LetExpire) or (isinstance(action, Nothing) and action.waiting_for in REST)
        require(not idle, "what may begin is looked at")
    due = _timers(system, name)
    looked_at = not isinstance(action, Nothing) or "" < action.until <= min(due, default="")
    require(not due or looked_at, "a timer that is set is waited for")


def _timers(system: System, name: str) -> set[str]:
    """When the timers that are set are due."""
    found: dict[str, str] = {}
    for event, _ in system.sessions[name].history:
        match event:
            case ev.TimerSet(timer=timer, due=due):
                found[timer] = due
            case ev.TimerFired(timer=timer) | ev.TimerCancelled(timer=timer):
                found.pop(timer)
            case ev.SessionRolledBack() | ev.SessionForked():
                found.clear()
    return set(found.values())
