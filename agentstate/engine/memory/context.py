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
Cluster = tuple[int, list[ContextMessage]]  # the entry where it stands, and messages that nothing comes between
_place = itemgetter(0)


def messages(
    items: tuple[Item, ...], summaries: tuple[Summary, ...] = (), private: tuple[str, ...] = ()
) -> tuple[ContextMessage, ...]:
    """The messages that stand for the conversation, oldest first: a summary stands where its range begins."""
    clusters = [*_clusters(items, private), *(_summary(each) for each in summaries)]
    return tuple(message for _, told in sorted(clusters, key=_place) for message in told)


def _summary(summary: Summary) -> Cluster:
    line = headline(summary.first, summary.last, summary.count)
    # Before an item of the same entry, which it cannot cover: a summary's first entry is one of its own.
    return summary.first, [ContextMessage("summary", f"{line}\n{summary.text}".rstrip(), name="summary")]


def _clusters(items: tuple[Item, ...], private: tuple[str, ...]) -> list[Cluster]:
    clusters: list[Cluster] = []
    told: set[str] = set()
    paths = {call.id: call.output_path for item in items for call in item.calls} if private else {}
    for index, item in enumerate(items):
        if item.role == "tool":
            if item.call not in told:
                text = result_without(item.text, paths.get(item.call), private)
                clusters.append((item.seq, [ContextMessage("note", text, name=item.by, call_id=item.call)]))
        elif item.calls:
            results = _prompt_results(items, index)
            answers = [_result(call, results.get(call.id, ""), private) for call in item.calls]
            clusters.append(_calling(clusters, item, answers))
            told |= results.keys()
        else:
            clusters.append((item.seq, [ContextMessage(item.role, item.text)]))
    return clusters


def _calling(clusters: list[Cluster], item: Item, answers: list[ContextMessage]) -> Cluster:
    """The calls and their results, joined to what the agent said with them: the entry just before."""
    calls = tuple(ProposedCall(call.id, call.tool, call.arguments, call.output_path) for call in item.calls)
    if clusters and clusters[-1][0] == item.seq - 1:
        (said,) = clusters[-1][1][-1:]
        if said.role == "agent" and not said.calls:
            clusters.pop()
            return item.seq - 1, [ContextMessage("agent", said.text, calls=calls), *answers]
    return item.seq, [ContextMessage("agent", item.text, calls=calls), *answers]


def _prompt_results(items: tuple[Item, ...], index: int) -> dict[str, str]:
    """The results that came before anybody spoke again."""
    results = {}
    for place in range(index + 1, len(items)):
        item = items[place]
        if item.role != "tool":
            break
        results[item.call] = item.text
    return results


def _result(call: ItemCall, text: str, private: tuple[str, ...]) -> ContextMessage:
    shown = result_without(text, call.output_path, private) if text else WAITING
    return ContextMessage("tool", shown, name=call.tool, call_id=call.id)
