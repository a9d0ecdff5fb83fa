"""What a model is shown of a conversation, word for word, in form 1.

The form is a promise: from the same items and summaries come the same bytes, for ever, since old steps are rebuilt and
compared with their digest. What would change them is a new form beside this one (`tests/vectors/context-1.json` holds
this one to its bytes).

A call and its result are never parted. A call that still waits for a person is shown with the result "waiting"; what
became of it after somebody spoke again is told at the place where it became known.
"""

from __future__ import annotations

from operator import itemgetter

from agentstate.engine.conversation import Item, ItemCall
from agentstate.engine.memory.shown import ContextMessage, ProposedCall
from agentstate.engine.memory.sight import result_without
from agentstate.engine.memory.summaries import Summary, headline

FORM = "1"
WAITING = '{"status":"waiting","reason":"A colleague has to decide. Keep the customer company; promise nothing."}'
Cluster = tuple[int, tuple[ContextMessage, ...]]  # the entry where it stands, messages that nothing comes between
_place = itemgetter(0)


def messages(
    items: tuple[Item, ...], summaries: tuple[Summary, ...] = (), private: tuple[str, ...] = ()
) -> tuple[ContextMessage, ...]:
    """The messages that stand for the conversation, oldest first: a summary stands where its range begins."""
    clusters = [*_clusters(items, private), *map(_summary, summaries)]
    clusters.sort(key=_place)
    return tuple([message for _, told in clusters for message in told])


def _summary(summary: Summary) -> Cluster:
    kept: Cluster | None = summary.__dict__.get("told")
    if kept is None:
        line = headline(summary.first, summary.last, summary.count)
        # Before an item of the same entry, which it cannot cover: a summary's first entry is one of its own.
        kept = summary.first, (ContextMessage("summary", f"{line}\n{summary.text}".rstrip(), name="summary"),)
        summary.__dict__["told"] = kept
    return kept


def _clusters(items: tuple[Item, ...], private: tuple[str, ...]) -> list[Cluster]:
    clusters: list[Cluster] = []
    told: set[str] = set()
    paths = {call.id: call.output_path for item in items for call in item.calls} if private else {}
    for index, item in enumerate(items):
        if item.role == "tool":
            if item.call not in told:
                text = result_without(item.text, paths.get(item.call), private)
                clusters.append((item.seq, (ContextMessage("note", text, name=item.by, call_id=item.call),)))
        elif item.calls:
            said = items[index - 1] if index and _is_said_with(items[index - 1], item) else None
            results = _prompt_results(items, index)
            if said is not None:
                clusters.pop()
            clusters.append(_calling(said, item, results, private))
            told.update([result.call for result in results])
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
    texts = {result.call: result.text for result in results}
    calls = tuple(ProposedCall(call.id, call.tool, call.arguments, call.output_path) for call in item.calls)
    answers = [_result(call, texts.get(call.id, ""), private) for call in item.calls]
    place, words = (item.seq, item.text) if said is None else (said.seq, said.text)
    made = place, (ContextMessage("agent", words, calls=calls), *answers)
    item.__dict__["told"] = company, made
    return made


def _prompt_results(items: tuple[Item, ...], index: int) -> tuple[Item, ...]:
    """The results that came before anybody spoke again."""
    end = index + 1
    while end < len(items) and items[end].role == "tool":
        end += 1
    return items[index + 1 : end]


def _result(call: ItemCall, text: str, private: tuple[str, ...]) -> ContextMessage:
    shown = result_without(text, call.output_path, private) if text else WAITING
    return ContextMessage("tool", shown, name=call.tool, call_id=call.id)
