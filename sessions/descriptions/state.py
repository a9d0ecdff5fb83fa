"""What entries about the state say: it is changed, contested, moved by its chart, brought into another form."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import MOST_FACTS, clipped, plain, value


def _moved_chart(data: Data, tool: str) -> Sentence:
    """Where the chart stands, in its innermost state, and on what it moved."""
    if data.get("stopped"):
        return Sentence("Workflow stopped", str(data["stopped"]), "r")
    here = [plain(name) for name in data["after"].get("configuration", ())][-1:]
    on = f"signal {data['event']}" if data.get("by") else data["event"] or "it begins"
    return Sentence(f"Workflow state: {', '.join(here).lower() or 'none'}", on, "p" if data.get("by") else "")


def _changed(data: Data, tool: str) -> Sentence:
    told = [f"{plain(write['path'])}: {_written(write)}" for write in data["writes"][:MOST_FACTS]]
    return Sentence("State changed", clipped("; ".join(told)), "p")


def _written(write: Data) -> str:
    held = "removed" if write.get("removed") else value(write.get("value"))
    return f"{held}, instead of {value(write['lost'][0])}" if write.get("lost") else held


def _contested(data: Data, tool: str) -> Sentence:
    settles = "a person must resolve it" if data["rule"] == "arbiter" else f"{data['quorum']} votes resolve it"
    return Sentence(f"{plain(data['path'])} has conflicting values", f"{_proposal(data['proposal'])}; {settles}", "r")


def _proposal(proposal: Data) -> str:
    return value(proposal["value"][0]) if proposal["value"] else "nothing"


def _settled(data: Data, tool: str) -> Sentence:
    if data["outcome"] == "withdrawn":
        return Sentence("Conflict withdrawn", data.get("reason", ""))
    held = value(data["value"][0]) if data.get("value") else "nothing"
    return Sentence("Resolved" if data["outcome"] == "arbitrated" else "Resolved by votes", held, "p")


def _migrated(data: Data, tool: str) -> Sentence:
    held = ", pinned to this version" if data.get("held") else ""
    return Sentence("State migrated", f"{data['schema']} {data['before']} to {data['after']}{held}")


TELL: dict[str, Tell] = {
    "data.added": lambda data, tool: Sentence(f"{plain(data['of'])} added", value(data["data"]), "p"),
    "chart.moved": _moved_chart,
    "state.changed": _changed,
    "conflict.opened": _contested,
    "value.proposed": lambda data, tool: Sentence("Proposed", _proposal(data["proposal"]), "p"),
    "vote.cast": lambda data, tool: Sentence("Voted", data.get("reason", ""), "p"),
    "conflict.ended": _settled,
    "state.migrated": _migrated,
    "value.proved": lambda data, tool: Sentence("Proof created", f"{plain(data['path'])}: {value(data['value'])}"),
    "state.pruned": lambda data, tool: Sentence("Unused values removed", ", ".join(data["paths"][:MOST_FACTS])),
}
