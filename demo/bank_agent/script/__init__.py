"""The scripted model: an adapter that needs no network and answers as a good bank agent would.

Not a language model. It understands a handful of wishes, asks again when it does not understand, and does
exactly the same for the same request. It goes through the same loop, tools and policy as any other model.
Read `moves.py` for its conduct, `lines.py` for its words, `talk.py` for what it makes of a conversation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec

from agentstate.engine.model import ANSWER, ModelAnswer, ModelFailed, ModelRequest, ProposedCall
from demo.bank_agent.script.complaints import sorted_complaint
from demo.bank_agent.script.lines import say
from demo.bank_agent.script.moves import COMPLAINT, Move, next_move
from demo.bank_agent.script.talk import fold
from sessions.tools.human_request import ASK_FOR_PERSON
from sessions.tools.withdrawal import WITHDRAW_CALL

INSTEAD = {COMPLAINT: "complaint_heard", ASK_FOR_PERSON: "person_asked", WITHDRAW_CALL: "wait_regret"}
_encoder = msgspec.json.Encoder(order="sorted", decimal_format="number")


class ScriptedModel:
    """Implements `Model` by script. Counts no tokens, because it uses none."""

    name = "scripted"

    def answer(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelAnswer:
        """The script's next move. Raises ModelFailed when it would need a tool that is not offered."""
        if any(tool.name == ANSWER for tool in request.tools):
            return _done(request)
        digest = hashlib.sha256(_encoder.encode((request.messages, request.state))).hexdigest()
        move = next_move(fold(request.messages, request.state), request.state, variant=int(digest[:8], 16))
        if move.tool in INSTEAD and move.tool not in {tool.name for tool in request.tools}:
            move = Move(say(INSTEAD[move.tool]))  # an agent of before has nobody who does this
        calls = _calls(move, request, digest)
        if on_text is not None:
            for word in move.text.split(" ") if move.text else ():
                on_text(f"{word} ")
        return ModelAnswer(move.text, calls, finish="tool_calls" if calls else "stop", model=request.model)


def _done(request: ModelRequest) -> ModelAnswer:
    """The answer to a call that the model is asked to do itself. Raises ModelFailed for a task it has no script for."""
    task, parameters = request.state.get("task"), request.state.get("parameters", {})
    if task != COMPLAINT:
        raise ModelFailed(f"the script cannot do {task!r}", transient=False)
    call = ProposedCall(f"call-{ANSWER}", ANSWER, sorted_complaint(str(parameters.get("text", ""))))
    return ModelAnswer("", (call,), finish="tool_calls", model=request.model)


def _calls(move: Move, request: ModelRequest, digest: str) -> tuple[ProposedCall, ...]:
    """The move's call. Its id follows from the request: asking again for a lost answer proposes the same."""
    if not move.tool:
        return ()
    if move.tool not in {tool.name for tool in request.tools}:
        raise ModelFailed(f"the script needs the tool {move.tool!r}, which is not offered", transient=False)
    return (ProposedCall(f"call-{digest[:16]}", move.tool, move.arguments or {}),)
