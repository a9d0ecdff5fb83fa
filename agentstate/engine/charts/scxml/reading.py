"""SCXML to a chart. Scripts, sources that would be fetched and foreign data models are refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from agentstate.engine.charts import chart as ch
from agentstate.engine.charts.literal import literal
from agentstate.engine.charts.reading import bounded
from agentstate.engine.charts.scxml.xml import Element, parse

_STATES = ("state", "parallel", "final", "history")
_DATAMODELS = ("cel", "null", "")


def from_scxml(data: bytes) -> ch.Chart:
    """The chart that a document draws. Raises BadChart naming line and rule."""
    chart = _chart(parse(data), _numbers())
    # Through the same door as JSON: names, lengths and counts are judged in one place.
    return bounded(msgspec.json.encode(chart))


def _numbers() -> Iterator[int]:
    return iter(range(1, 1_000_000))


def refused(element: Element, why: str, rule: str) -> ch.BadChart:
    return ch.BadChart(f"<{element.name}>: {why}", field=f"line {element.line}", rule=rule)


def _chart(root: Element, numbers: Iterator[int]) -> ch.Chart:
    if root.name != "scxml":
        raise refused(root, "want <scxml>", "not_scxml")
    if root.attributes.get("datamodel", "").lower() not in _DATAMODELS:
        raise refused(root, f"the data model is cel, not {root.attributes['datamodel']!r:.50}", "datamodel")
    if root.all("script"):
        raise refused(root.all("script")[0], "a chart is data and runs no script", "no_script")
    title = root.attributes.get("name", "")
    return ch.Chart(
        name=root.ours.get("name", "") or _plain(title),
        version=_version(root),
        title=title,
        about=root.ours.get("about", ""),
        initial=_initial(root),
        initial_do=_initial_do(root),
        states=_states(root, numbers),
        data=_data(root),
        binding="late" if root.attributes.get("binding") == "late" else "early",
        events=tuple(root.ours.get("events", "").split()),
        reads=tuple(root.ours.get("reads", "").split()),  # type: ignore[arg-type]  # judged by the door
    )


def _plain(title: str) -> str:
    """A name made of a title, where a document of somebody else's has none of ours."""
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in title.lower()).strip("-")
    return (kept if kept[:1].isalpha() else f"chart-{kept}".rstrip("-"))[:60]


def _version(root: Element) -> int:
    written = root.ours.get("version", "1")
    if not (written.isascii() and written.isdigit()) or len(written) > 7:
        raise refused(root, f"{written!r:.50} is no version", "version")
    return int(written)


def _initial(element: Element) -> tuple[str, ...]:
    inner = element.one("initial")
    transition = inner.one("transition") if inner is not None else None
    if element.name == "history":
        transition = element.one("transition")
    written = transition.attributes.get("target", "") if transition is not None else ""
    return tuple((element.attributes.get("initial", "") or written).split())


def _initial_do(element: Element) -> ch.Block:
    holder = element if element.name == "history" else element.one("initial")
    transition = holder.one("transition") if holder is not None else None
    return _block(transition) if transition is not None else ()


def _states(element: Element, numbers: Iterator[int]) -> tuple[ch.State, ...]:
    return tuple(_state(child, numbers) for child in element.all(*_STATES))


def _state(element: Element, numbers: Iterator[int]) -> ch.State:
    done = element.one("donedata")
    tools = element.ours.get("tools")
    return ch.State(
        id=element.attributes.get("id") or f"unnamed_{next(numbers)}",
        kind=element.name,  # type: ignore[arg-type]  # one of _STATES
        about=element.ours.get("about", ""),
        initial=_initial(element),
        initial_do=_initial_do(element),
        states=_states(element, numbers),
        transitions=() if element.name == "history" else tuple(map(_transition, element.all("transition"))),
        entry=tuple(map(_block, element.all("onentry"))),
        exit=tuple(map(_block, element.all("onexit"))),
        deep=element.attributes.get("type") == "deep",
        data=_data(element),
        invoke=tuple(_invoke(child, numbers) for child in element.all("invoke")),
        done_params=_params(done) if done is not None else (),
        done_content=_content(done) if done is not None else "",
        instructions=element.ours.get("instructions", ""),
        tools=tuple(tools.split()) if tools is not None else None,
        prompt=element.ours.get("prompt") == "true",
    )


def _transition(element: Element) -> ch.Transition:
    given = element.attributes
    return ch.Transition(
        event=given.get("event", ""),
        when=given.get("cond", ""),
        to=tuple(given.get("target", "").split()),
        after=element.ours.get("after", ""),
        internal=given.get("type") == "internal",
        do=_block(element),
        about=element.ours.get("about", ""),
    )


def _data(element: Element) -> tuple[ch.Datum, ...]:
    model = element.one("datamodel")
    return tuple(_datum(child) for child in model.all("data")) if model is not None else ()


def _datum(element: Element) -> ch.Datum:
    if "src" in element.attributes:
        raise refused(element, "nothing is fetched", "no_source")
    return ch.Datum(element.attributes.get("id", ""), _value(element))


def _value(element: Element) -> str:
    """The expression of an element's value: its `expr`, else its text as JSON, else its text."""
    if "expr" in element.attributes:
        return element.attributes["expr"]
    if element.children:
        raise refused(element, "a value is an expression, JSON or text, not XML", "no_xml_data")
    text = element.text.strip()
    return _text_literal(text) if text else ""


def _text_literal(text: str) -> str:
    try:
        return literal(json.loads(text))
    except (ValueError, RecursionError):
        return literal(" ".join(text.split()))


def _content(element: Element) -> str:
    inner = element.one("content")
    if inner is None:
        return ""
    return _value(inner) or "''"


def _params(element: Element) -> tuple[ch.Param, ...]:
    names = element.attributes.get("namelist", "").split()
    listed = [ch.Param(name, name) for name in names]
    written = [_param(child) for child in element.all("param")]
    return (*listed, *written)


def _param(element: Element) -> ch.Param:
    given = element.attributes
    return ch.Param(given.get("name", ""), given.get("expr") or given.get("location", "").strip())


def _invoke(element: Element, numbers: Iterator[int]) -> ch.Invoke:
    given = element.attributes
    content = element.one("content")
    inner = content.one("scxml") if content is not None else None
    if inner is None:
        raise refused(element, "a chart that is invoked stands inside, in <content>; nothing is fetched", "no_source")
    finalize = element.one("finalize")
    return ch.Invoke(
        chart=_chart(inner, numbers),
        id=given.get("id", ""),
        id_to=given.get("idlocation", ""),
        type=given.get("type", ""),
        type_expr=given.get("typeexpr", ""),
        params=_params(element),
        forward=given.get("autoforward") == "true",
        finalize=_block(finalize) if finalize is not None else (),
    )


def _block(element: Element) -> ch.Block:
    return tuple(_action(child) for child in element.children)


def _action(element: Element) -> ch.AnyAction:
    made = _ACTIONS.get(element.name)
    if made is None:
        rule = "no_script" if element.name == "script" else "unknown_element"
        raise refused(element, "this cannot be done in a chart", rule)
    return made(element, element.attributes)


def _send(element: Element, given: dict[str, str]) -> ch.Send:
    return ch.Send(
        event=given.get("event", ""),
        event_expr=given.get("eventexpr", ""),
        target=given.get("target", ""),
        target_expr=given.get("targetexpr", ""),
        type=given.get("type", ""),
        type_expr=given.get("typeexpr", ""),
        id=given.get("id", ""),
        id_to=given.get("idlocation", ""),
        after=given.get("delay", ""),
        after_expr=given.get("delayexpr", ""),
        params=_params(element),
        content=_content(element),
    )


def _choose(element: Element, given: dict[str, str]) -> ch.Choose:
    """<if> holds its branches side by side, parted by <elseif> and <else>."""
    branches: list[tuple[str, list[ch.AnyAction]]] = [(_question(element), [])]
    for child in element.children:
        if child.name in ("elseif", "else"):
            branches.append(("" if child.name == "else" else _question(child), []))
        else:
            branches[-1][1].append(_action(child))
    return ch.Choose(tuple(ch.Branch(when, tuple(do)) for when, do in branches))


def _question(element: Element) -> str:
    question = element.attributes.get("cond", "").strip()
    if not question:
        raise refused(element, "want a question in `cond`", "form")
    return question


_ACTIONS: Mapping[str, Callable[[Element, dict[str, Any]], ch.AnyAction]] = {
    "assign": lambda element, given: ch.Assign(given.get("location", ""), _value(element)),
    "raise": lambda element, given: ch.Raise(given.get("event", "")),
    "send": _send,
    "cancel": lambda element, given: ch.Cancel(given.get("sendid", ""), given.get("sendidexpr", "")),
    "log": lambda element, given: ch.Log(given.get("label", ""), given.get("expr", "")),
    "if": _choose,
    "foreach": lambda element, given: ch.ForEach(
        given.get("array", ""), given.get("item", ""), given.get("index", ""), _block(element)
    ),
}
