"""A chart as SCXML. What `from_scxml` reads of it is the same chart, timed transitions written out as sends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from agentstate.engine.charts import chart as ch
from agentstate.engine.charts.scxml.xml import OURS, SCXML

_Attributes = Mapping[str, str]


def to_scxml(chart: ch.Chart) -> bytes:
    """The document, UTF-8, indented."""
    head = {"xmlns": SCXML, "xmlns:as": OURS}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', *_chart(chart, head)]
    return ("\n".join(lines) + "\n").encode()


def _chart(chart: ch.Chart, head: _Attributes) -> list[str]:
    attributes = {
        **head,
        "version": "1.0",
        "datamodel": "cel",
        "name": chart.title,
        "binding": chart.binding if chart.binding == "late" else "",
        "as:name": chart.name,
        "as:version": str(chart.version),
        "as:about": chart.about,
        "as:events": " ".join(chart.events),
        "as:reads": " ".join(chart.reads),
    }
    inside = [*_data(chart.data), *_initial(chart), *_each(_state, chart.states)]
    return _element("scxml", attributes | _initial_attribute(chart), inside)


def _element(name: str, attributes: _Attributes, inside: Iterable[str] = ()) -> list[str]:
    """An element's lines; attributes without a value are left out."""
    written = "".join(f" {key}={quoteattr(value, _KEPT)}" for key, value in attributes.items() if value)
    lines = [f"  {line}" for line in inside]
    return [f"<{name}{written}>", *lines, f"</{name}>"] if lines else [f"<{name}{written}/>"]


# Line breaks in attributes would be read back as blanks.
_KEPT = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def _each(write: Callable[[Any], list[str]], items: Iterable[Any]) -> list[str]:
    return [line for item in items for line in write(item)]


def _initial_attribute(owner: ch.Chart | ch.State) -> dict[str, str]:
    return {"initial": " ".join(owner.initial)} if owner.initial and not owner.initial_do else {}


def _initial(owner: ch.Chart | ch.State) -> list[str]:
    if not owner.initial_do:
        return []
    return _element("initial", {}, _default(owner))


def _default(owner: ch.Chart | ch.State) -> list[str]:
    return _element("transition", {"target": " ".join(owner.initial)}, _block(owner.initial_do))


def _data(data: tuple[ch.Datum, ...]) -> list[str]:
    items = [line for datum in data for line in _element("data", {"id": datum.name, "expr": datum.value})]
    return _element("datamodel", {}, items) if items else []


def _state(state: ch.State) -> list[str]:
    attributes = {
        "id": state.id,
        "as:about": state.about,
        "as:instructions": state.instructions,
        "as:prompt": "true" if state.prompt else "",
    }
    if state.kind == "history":
        kind = {"type": "deep" if state.deep else "shallow"}
        return _element("history", attributes | kind, _default(state))
    lines = [*_data(state.data), *_initial(state)]
    lines += [line for block in state.entry for line in _element("onentry", {}, _block(block))]
    lines += [line for block in state.exit for line in _element("onexit", {}, _block(block))]
    lines += [*_each(_transition, state.transitions), *_each(_state, state.states), *_each(_invoke, state.invoke)]
    lines += _done(state)
    opened = _element(state.kind, attributes | _initial_attribute(state), lines)
    if state.tools is None:
        return opened
    # An empty list of tools says something too, so it is written even when it is empty.
    mark = f"<{state.kind} as:tools={quoteattr(' '.join(state.tools))}"
    return [opened[0].replace(f"<{state.kind}", mark, 1), *opened[1:]]


def _done(state: ch.State) -> list[str]:
    inside = [*_each(_param, state.done_params), *_content(state.done_content)]
    return _element("donedata", {}, inside) if inside else []


def _transition(one: ch.Transition) -> list[str]:
    attributes = {
        "event": one.event,
        "cond": one.when,
        "target": " ".join(one.to),
        "type": "internal" if one.internal else "",
        "as:after": one.after,
        "as:about": one.about,
    }
    return _element("transition", attributes, _block(one.do))


def _invoke(one: ch.Invoke) -> list[str]:
    attributes = {
        "id": one.id,
        "idlocation": one.id_to,
        "type": one.type,
        "typeexpr": one.type_expr,
        "autoforward": "true" if one.forward else "",
    }
    finalize = _element("finalize", {}, _block(one.finalize)) if one.finalize else []
    content = _element("content", {}, _chart(one.chart, {}))
    return _element("invoke", attributes, [*_each(_param, one.params), *finalize, *content])


def _param(param: ch.Param) -> list[str]:
    return _element("param", {"name": param.name, "expr": param.value})


def _content(expression: str) -> list[str]:
    return _element("content", {"expr": expression}) if expression else []


def _block(block: ch.Block) -> list[str]:
    return [line for action in block for line in _WRITE[type(action)](action)]


def _send(send: ch.Send) -> list[str]:
    attributes = {
        "event": send.event,
        "eventexpr": send.event_expr,
        "target": send.target,
        "targetexpr": send.target_expr,
        "type": send.type,
        "typeexpr": send.type_expr,
        "id": send.id,
        "idlocation": send.id_to,
        "delay": send.after,
        "delayexpr": send.after_expr,
    }
    return _element("send", attributes, [*_each(_param, send.params), *_content(send.content)])


def _choose(choose: ch.Choose) -> list[str]:
    first, *others = choose.branches
    lines = _block(first.do)
    for branch in others:
        name = "elseif" if branch.when else "else"
        lines += [*_element(name, {"cond": branch.when}), *_block(branch.do)]
    return _element("if", {"cond": first.when}, lines)


_WRITE: Mapping[type, Callable[[Any], list[str]]] = {
    ch.Assign: lambda one: _element("assign", {"location": one.path, "expr": one.value}),
    ch.Raise: lambda one: _element("raise", {"event": one.event}),
    ch.Send: _send,
    ch.Cancel: lambda one: _element("cancel", {"sendid": one.id, "sendidexpr": one.id_expr}),
    ch.Log: lambda one: _element("log", {"label": one.label, "expr": one.value}),
    ch.Choose: _choose,
    ch.ForEach: lambda one: _element(
        "foreach", {"array": one.items, "item": one.item, "index": one.index}, _block(one.do)
    ),
}
