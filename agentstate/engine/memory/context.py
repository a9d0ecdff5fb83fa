"""What a model is shown of a conversation, word for word, in forms 1 and 2.

The form is a promise: from the same items and summaries come the same bytes, for ever, since old steps are rebuilt and
compared with their digest. What would change them is a new form beside these (`tests/vectors/context-1.json` and
`context-2.json` hold them to their bytes). Both forms have these messages; a chat model is told them otherwise: the
words of others were system messages in form 1 and are data in envelopes in form 2 (`sessions.agents.chat_request`).

A call and its result are never parted. A call that still waits for a person is shown with the result "waiting"; what
became of it after somebody spoke again is told at the place where it became known.
"""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from agentstate.engine.conversation import Item, ItemCall
from agentstate.engine.memory.shown import ContextMessage, ProposedCall
from agentstate.engine.memory.sight import result_without
from agentstate.engine.memory.summaries import Summary, headline

FORM = "2"
FORMS = ("1", "2")  # whose requests are made again
WAITING = '{"status":"waiting","reason":"A colleague has to decide. Keep the customer company; promise nothing."}'
Cluster = tuple[int, tuple[ContextMessage, ...]]  # the entry where it stands, messages that nothing comes between
FEW = 16  # items that are assembled anew each time: fewer than it takes to look for what is kept
_place = itemgetter(0)


def messages(
    items: tuple[Item, ...], summaries: tuple[Summary, ...] = (), private: tuple[str, ...] = ()
) -> tuple[ContextMessage, ...]:
    """The messages that stand for the conversation, oldest first: a summary stands where its range begins."""
    anchor = _last_said(items, len(items)) if len(items) > FEW else 0
    if not anchor or any(each.first >= items[anchor].seq for each in summaries):
        return _in_order([*_clusters(items, private, 0, set()), *map(_summary, summaries)])
    before = _before(items, anchor, summaries, private)
    return (*before.messages, *_in_order(_clusters(items, private, anchor, set(before.told))))


def _in_order(clusters: list[Cluster]) -> tuple[ContextMessage, ...]:
    clusters.sort(key=_place)
    return tuple([message for _, told in clusters for message in told])


class _Before(NamedTuple):
    """What stands before words of the customer, and will as long as these items, summaries and private paths are held:
    nothing that comes later changes it. `told` are the calls whose results are among it.
    """

    items: tuple[Item, ...]
    summaries: tuple[Summary, ...]
    private: tuple[str, ...]
    messages: tuple[ContextMessage, ...]
    told: frozenset[str]


def _last_said(items: tuple[Item, ...], end: int) -> int:
    """The place of the customer's last words before `end`; 0 where there are none, or nothing before them."""
    for place in range(end - 1, 0, -1):
        if items[place].role == "customer":
            return place
    return 0


def _before(items: tuple[Item, ...], anchor: int, summaries: tuple[Summary, ...], private: tuple[str, ...]) -> _Before:
    """Kept with the customer's words, and taken over by their next: so a turn assembles what it brought, not all."""
    held = items[:anchor]
    kept: _Before | None = items[anchor].__dict__.get("before")
    if kept is not None and kept[:3] == (held, summaries, private):
        return kept
    start = _last_said(items, anchor)
    earlier: _Before | None = items[start].__dict__.pop("before", None) if start else None
    if earlier is not None and earlier[:3] == (items[:start], summaries, private):
        told = set(earlier.told)
        messages = (*earlier.messages, *_in_order(_clusters(held, private, start, told)))
    else:
        told = set()
        messages = _in_order([*_clusters(held, private, 0, told), *map(_summary, summaries)])
    made = items[anchor].__dict__["before"] = _Before(held, summaries, private, messages, frozenset(told))
    return made


def _summary(summary: Summary) -> Cluster:
    kept: Cluster | None = summary.__dict__.get("told")
    if kept is None:
        line = headline(summary.first, summary.last, summary.count)
        # Before an item of the same entry, which it cannot cover: a summary's first entry is one of its own.
        kept = summary.first, (ContextMessage("summary", f"{line}\n{summary.text}".rstrip(), name="summary"),)
        summary.__dict__["told"] = kept
    return kept


def _clusters(items: tuple[Item, ...], private: tuple[str, ...], start: int, told: set[str]) -> list[Cluster]:
    """Those of `items` from the place `start` on; `told` takes up the calls whose results are told with them."""
    clusters: list[Cluster] = []
    paths = {call.id: call.output_path for item in items for call in item.calls} if private else {}
    for index in range(start, len(items)):
        item = items[index]
        if item.role == "tool":
            if item.call not in told:
                text = result_without(item.text, item.place or paths.get(item.call), private)
                clusters.append((item.seq, (ContextMessage("note", text, name=item.by, call_id=item.call),)))
        elif item.calls:
            said = items[index - 1] if index and _is_said_with(items[index - 1], item) else None
            results = _prompt_results(items, index)
            if said is not None:
                clusters.pop()
            clusters.append(_calling(said, item, results, private))
            told.update([result.call for result in results])
        elif item.place:  # a note of a result: what of it is told follows from what is private too
            text = result_without(item.text, item.place, private)
            clusters.append((item.seq, (ContextMessage(item.role, text),)))
        else:
            clusters.append(item.__dict__.get("told") or _said(item))
    return clusters


def _said(item: Item) -> Cluster:
    kept = item.seq, (ContextMessage(item.role, item.text),)
    item.__dict__["told"] = kept
    return kept


def _is_said_with(said: Item, item: Item) -> bool:
    """Whether `said`, the item before, is what the agent said with the calls of `item`: the entry just before."""
    return said.seq == item.seq - 1 and said.role == "agent" and not said.calls


def _calling(said: Item | None, item: Item, results: tuple[Item, ...], private: tuple[str, ...]) -> Cluster:
    """The calls and their results, joined to what the agent said with them. Made once for the same company."""
    company = (said, results, private)
    kept: tuple[object, Cluster] | None = item.__dict__.get("told")
    if kept is not None and kept[0] == company:
        return kept[1]
    found = {result.call: result for result in results}
    calls = tuple(ProposedCall(call.id, call.tool, call.arguments, call.output_path) for call in item.calls)
    answers = [_result(call, found.get(call.id), private) for call in item.calls]
    place, words = (item.seq, item.text) if said is None else (said.seq, said.text)
    made = place, (ContextMessage("agent", words, calls=calls), *answers)
    item.__dict__["told"] = company, made
    return made


def _prompt_results(items: tuple[Item, ...], index: int) -> tuple[Item, ...]:
    """The results of these calls that came before anybody spoke again; one of an earlier call may stand among them."""
    own, end = {call.id for call in items[index].calls}, index + 1
    while end < len(items) and items[end].role == "tool":
        end += 1
    return tuple(item for item in items[index + 1 : end] if item.call in own)


def _result(call: ItemCall, found: Item | None, private: tuple[str, ...]) -> ContextMessage:
    has_come = found is not None and found.text
    shown = result_without(found.text, found.place or call.output_path, private) if found and has_come else WAITING
    return ContextMessage("tool", shown, name=call.tool, call_id=call.id)
