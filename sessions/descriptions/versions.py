"""What entries about points, rollbacks and forks say."""

from __future__ import annotations

from sessions.descriptions.sentence import Data, Sentence, Tell
from sessions.descriptions.values import clipped


def _named(data: Data, tool: str) -> Sentence:
    return Sentence("Checkpoint", f"“{data['name']}”, the state after entry {data['seq'] - 1}", "p")


def _put_back(data: Data, tool: str) -> Sentence:
    lasting = len(data.get("lasting", ())) + data.get("more", 0)
    many = f"; {lasting} external effects are not undone" if lasting else ""
    stays = "; one external effect is not undone" if lasting == 1 else many
    return Sentence(f"Rolled back to entry {data['to'] - 1}", f"{data['reason']}{stays}", "p")


TELL: dict[str, Tell] = {
    "checkpoint.named": _named,
    "session.rolled_back": _put_back,
    "session.forked": lambda data, tool: Sentence(f"Forked at entry {data['seq'] - 1}", data["reason"], "p"),
    "message.drafted": lambda data, tool: Sentence("Draft reply", f"“{clipped(data['text'])}”"),
    "fork.promoted": lambda data, tool: Sentence("Fork promoted", data["reason"], "p"),
    "session.superseded": lambda data, tool: Sentence("Replaced by another version", data["reason"], "p"),
}
