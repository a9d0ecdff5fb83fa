"""The tools by which agents vouch for what they know: one makes the proof of a value of their own session's state, the
other checks a proof that came with a call or a message.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from agentstate.errors import AgentStateError, Broken
from audit import signer, verify
from audit.tlog import canonical
from sessions.core import states
from sessions.core.commit import person_command
from sessions.core.committed import Author
from sessions.proofs import values
from sessions.tools.registry import Arguments, ToolContext, ToolFailed, tool

MOST_PATH = 400  # characters
SECONDS = 20.0  # a round of the sequencer may have to be waited for
_PATH = {"type": "string", "minLength": 1, "maxLength": MOST_PATH, "pattern": r"^state\.", "description": "state.a.b"}


@tool(
    name="prove",
    version=1,
    description=(
        "Make a proof of one value of this session's state, to attach to a call or a message. Whoever gets it can check"
        " it without asking us, and learns nothing else."
    ),
    effect="pure",  # all that it leaves is one entry of its own session under its key, however often it runs
    timeout=SECONDS,
    arguments={
        "type": "object",
        "required": ["path"],
        "properties": {
            "path": _PATH,
            "of": {"type": "integer", "minimum": 1, "description": "the state after so many entries; without, now"},
        },
        "additionalProperties": False,
    },
)
def prove(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """{proof}: the document, of the tool's own session. Called again under one key it is of the same entry."""
    session = UUID(context.session)
    try:
        opened = states.load(session).state.opened
        author = Author(f"agent:{opened.agent if opened else ''}", f"prove/{context.key}")
        committed = person_command(session, values.factory(arguments["path"], arguments.get("of", 0)), author)
        return {"proof": canonical.loads(values.proof_of(committed))}
    except Broken as error:
        raise ToolFailed(f"{error.code}: {error.title}", transient=error.status == 503) from None
    except AgentStateError as error:
        raise ToolFailed(f"{error.code}: {error.title}") from None


@tool(
    name="verify_proof",
    version=1,
    description=(
        "Check a proof of a value that somebody attached. Fails when it is forged, altered, of another session or of"
        " another value than expected; otherwise says what it proves."
    ),
    effect="pure",
    arguments={
        "type": "object",
        "required": ["proof"],
        "properties": {
            "proof": {"type": "object", "description": "as it was attached"},
            "session": {"type": "string", "maxLength": 36, "description": "the session it must be of"},
            "path": {**_PATH, "description": "the place it must be about"},
        },
        "additionalProperties": False,
    },
)
def verify_proof(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """{session, path, value, state, written, seq, at, entries}: what is proven, by the key of this log."""
    try:
        data = canonical.dumps(arguments["proof"])
    except (canonical.NotCanonical, TypeError):
        raise ToolFailed("the proof does not hold: it is no proof") from None
    verdict = verify.verify_proof(data, signer.vkey(), demand=verify.Demand(session=arguments.get("session", "")))
    said = (verdict.proof or {}).get("value")
    if not verdict.ok:
        raise ToolFailed(f"the proof does not hold: {verdict.failures[0].message}"[:400])
    if said is None or verdict.head is None or verdict.proof is None:
        raise ToolFailed("the proof holds, and proves no value")
    if arguments.get("path") not in (None, said["path"]):
        raise ToolFailed(f"the proof is about {str(said['path'])[:100]}, not about {arguments['path']}")
    entry = verdict.proof["entries"][0]
    about = {"session": verdict.head["log"], "entries": verdict.head["size"], "seq": entry["seq"], "at": entry["at"]}
    return {
        **about,
        "path": said["path"],
        "value": _read(said["value"]),
        "state": said["state"],
        "written": said["written"],
    }


def _read(value: Any) -> Any:
    """Numbers that are no integers as decimals: the verifier keeps their text."""
    if isinstance(value, verify.Number):
        return Decimal(value)
    if isinstance(value, dict):
        return {name: _read(item) for name, item in value.items()}
    return [_read(item) for item in value] if isinstance(value, list) else value
