"""What is done on the way: the executable content of a chart, action by action, in blocks that an error ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentstate.engine.charts import chart as ch
from agentstate.engine.charts.state import PROCESSOR, Happening, Logged, Timer
from agentstate.engine.charts.tree import SYSTEM
from agentstate.engine.charts.values import Unusable, delay_of, later, must_fit, placed, split_path
from agentstate.engine.charts.work import (
    MAX_LOGS,
    Work,
    add_timer,
    complain,
    outermost,
    put,
    queue,
    text_of,
    true_now,
    value_of,
)

_PROCESSORS = ("", "scxml", PROCESSOR)
MAX_ITEMS = 1_000  # that one foreach goes through


def do_block(work: Work, block: ch.Block, where: str) -> None:
    """Carry out a block. The first action that cannot be done ends it and becomes an error event."""
    try:
        _do_all(work, block, where)
    except Unusable as error:
        complain(work, error, where)


def _do_all(work: Work, block: ch.Block, where: str) -> None:
    for action in block:
        work.budget.act()
        _DO[type(action)](work, action, where)


def _assign(work: Work, action: ch.Assign, where: str) -> None:
    assign(work, action.path, value_of(work, action.value))


def assign(work: Work, path: str, value: Any) -> None:
    """Put a value at a path of the declared data. Raises Unusable."""
    parts = split_path(path.strip())
    name = parts[0]
    if name in SYSTEM or name in work.tree.chart.reads:
        raise Unusable(f"{name!r} is only read")
    if name not in work.tree.declared and name not in work.scope:
        raise Unusable(f"{name!r} is not declared")
    put(work, name, placed(work.scope, parts, value))


def _raise(work: Work, action: ch.Raise, where: str) -> None:
    queue(work, Happening(action.event, type="internal"), internal=True)


def _log(work: Work, action: ch.Log, where: str) -> None:
    logs = outermost(work).logs
    value = value_of(work, action.value) if action.value else None
    if len(logs) < MAX_LOGS:
        logs.append(Logged(action.label, value))


def _choose(work: Work, action: ch.Choose, where: str) -> None:
    for branch in action.branches:
        if true_now(work, branch.when, where):
            _do_all(work, branch.do, where)
            return


def _foreach(work: Work, action: ch.ForEach, where: str) -> None:
    items = value_of(work, action.items)
    if not isinstance(items, list) or len(items) > MAX_ITEMS:
        raise Unusable(f"{action.items!r:.200} is no list of at most {MAX_ITEMS} items")
    for number, item in enumerate(items):
        work.budget.act()
        _bind(work, action.item, item)
        if action.index:
            _bind(work, action.index, number)
        _do_all(work, action.do, where)


def _bind(work: Work, name: str, value: Any) -> None:
    if name not in work.tree.names or name in SYSTEM or name in work.tree.chart.reads:
        raise Unusable(f"{name!r:.100} is no name for an item")
    put(work, name, value)


def _cancel(work: Work, action: ch.Cancel, where: str) -> None:
    sendid = text_of(work, action.id, action.id_expr)
    kept = [timer for timer in work.timers if timer.id != sendid]
    if len(kept) < len(work.timers):
        outermost(work).cancelled.append(sendid)
    work.timers[:] = kept


def _send(work: Work, action: ch.Send, where: str) -> None:
    work.sent += 1
    sendid = action.id
    if action.id_to:
        sendid = f"send.{work.sent}"
        assign(work, action.id_to, sendid)
    target = text_of(work, action.target, action.target_expr)
    event = Happening(
        text_of(work, action.event, action.event_expr),
        payload(work, action.params, action.content),
        type="internal" if target == "#_internal" else "external",
        sendid=sendid,
        origin="" if target == "#_internal" else f"#_scxml_{work.id}",
        origintype="" if target == "#_internal" else PROCESSOR,
    )
    _must_be_sendable(event, text_of(work, action.type, action.type_expr), sendid)
    span = delay_of(text_of(work, action.after, action.after_expr))
    if not span:
        dispatch(work, target, event)
        return
    if target == "#_internal":
        raise Unusable("what is raised inside cannot be delayed", sendid=sendid)
    add_timer(work, Timer(later(work.at, span), work.sent, target, event, sendid))


def _must_be_sendable(event: Happening, kind: str, sendid: str) -> None:
    if kind not in _PROCESSORS:
        raise Unusable(f"there is no event processor {kind!r:.100}", sendid=sendid)
    if not event.name or len(event.name) > 200:
        raise Unusable("an event that is sent has a short name", sendid=sendid)


def dispatch(work: Work, target: str, event: Happening) -> None:
    """Hand an event over. Raises Unusable when there is nobody of that name."""
    if target in ("", f"#_scxml_{work.id}"):
        queue(work, event)
    elif target == "#_internal":
        queue(work, event, internal=True)
    elif target == "#_parent" and work.up is not None:
        queue(work.up, _from(work, event))
    elif target.startswith("#_") and _lives(work, target[2:]):
        queue(work.inside[target[2:]], event)
    elif target.startswith("#_"):
        raise Unusable(f"nobody is reached by {target!r:.100}", "error.communication", event.sendid)
    else:
        raise Unusable(f"{target!r:.100} is no target", sendid=event.sendid)


def _lives(work: Work, name: str) -> bool:
    return name in work.inside and work.inside[name].running


def _from(work: Work, event: Happening) -> Happening:
    """The event as the parent sees it: with the id under which it invoked this chart."""
    assert work.up is not None
    invokeid = next(name for name, inside in work.up.inside.items() if inside is work)
    return Happening(event.name, event.data, "external", event.sendid, f"#_{invokeid}", event.origintype, invokeid)


def payload(work: Work, params: tuple[ch.Param, ...], content: str) -> Any:
    """What an event carries: the content, or the named values, or null. Raises Unusable."""
    if content:
        return value_of(work, content, "the event")
    if not params:
        return None
    return must_fit({param.name: value_of(work, param.value) for param in params}, "the event")


_DO: Mapping[type, Callable[[Work, Any, str], None]] = {
    ch.Assign: _assign,
    ch.Raise: _raise,
    ch.Send: _send,
    ch.Cancel: _cancel,
    ch.Log: _log,
    ch.Choose: _choose,
    ch.ForEach: _foreach,
}
