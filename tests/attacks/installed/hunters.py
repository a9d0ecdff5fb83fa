"""The agents and tools of the attack suite, registered as an installation registers its own (docs/connecting.md).

The model does what the customer's words spell out, so that a test chooses what the agent proposes. Effects are rows
of the bank's database; what the tools do is in `attacks.effects`, and transfers are the bank's own.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import psycopg
from django.conf import settings
from psycopg.types.json import Json

import demo.bank_agent.tools  # noqa: F401  (the agents name its tools)
from agentstate.engine.decide import offers
from agentstate.engine.model import ModelAnswer, ProposedCall
from sessions.agents.registry import Agent, register
from sessions.tools.registry import Effect, Retry, ToolFailed, tool

DO = "do "  # a customer who says `do [{"_tool": ...}]` has the agent propose these calls
SLOW = "slow "  # what is done for such a subject takes long enough to die in it
RELEASE = int(os.environ.get("ATTACKS_RELEASE", "1"))  # 2: the installation after its next deployment
QUICK = Retry(attempts=3, base_seconds=0.2)
PATIENT = Retry(base_seconds=0.2, seconds=12)
MONEY = {"type": "object", "required": ["minor", "currency"]}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


SUBJECT = _object({"subject": {"type": "string"}})
DETAILED = _object({"subject": {"type": "string"}}, detail={"type": "string"})


def _record(name: str, version: int, arguments: dict[str, Any], context: Any) -> dict[str, Any]:
    """Writes the effect, once for each key. Fails while `attacks.troubles` says that this subject has trouble."""
    with psycopg.connect(settings.BANK_DSN) as connection:
        row = connection.execute(
            "update attacks.troubles set remaining = remaining - 1 where subject = %s and remaining > 0"
            " returning remaining",
            [str(arguments.get("subject", ""))],
        ).fetchone()
    if arguments.get("subject", "").startswith(SLOW):
        time.sleep(8)
    if row is not None:
        raise ToolFailed("the post office is closed", transient=True)
    with psycopg.connect(settings.BANK_DSN) as connection:
        connection.execute(
            "insert into attacks.effects (tool, version, session, key, attempt, arguments)"
            " values (%s, %s, %s, %s, %s, %s)",
            [name, version, context.session, context.key, context.attempt, Json(arguments)],
        )
    return {"done": name}


@tool(
    name="check",
    version=1,
    description="Read the amount that was agreed.",
    effect="pure",
    arguments=_object({"amount": MONEY}, to={"type": "string"}),
    result={"type": "object"},
    retry=QUICK,
)
def check(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
    """Returns its arguments."""
    return arguments


@tool(
    name="wait",
    version=1,
    description="Wait until the other side is ready.",
    effect="pure",
    arguments=SUBJECT,
    retry=QUICK,
)
def wait(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
    """Returns once the test has opened the gate of this subject, or after a while."""
    until = time.monotonic() + 9
    with psycopg.connect(settings.BANK_DSN, autocommit=True) as connection:
        while time.monotonic() < until and not context.cancelled():
            if connection.execute("select 1 from attacks.gates where subject = %s", [arguments["subject"]]).fetchone():
                break
            time.sleep(0.05)
    return {"open": True}


def _effect(name: str, description: str, *, version: int = 1, effect: Effect = "idempotent", **more: Any) -> None:
    """Registers a tool that records its effect."""

    def run(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
        return _record(name, version, arguments, context)

    facts: dict[str, Any] = {"arguments": SUBJECT, "retry": QUICK, **more}
    tool(name=name, version=version, description=description, effect=effect, **facts)(run)


_effect("note", "Write a note. No rule stops it.")
_effect(
    "act",
    "Do something that a person approves.",
    version=RELEASE,
    arguments=DETAILED,
    retry=PATIENT,
    compensation="Do it again the other way round.",
    undone_by="redo",
    undo=lambda arguments, result: {"subject": arguments["subject"], "detail": "undone"},
)
_effect(
    "redo",
    "Undo what was done. It is tried again after seconds, so that a test can do something meanwhile.",
    arguments=DETAILED,
    retry=Retry(attempts=3, base_seconds=3.0),
)
_effect(
    "post_letter",
    "Post a letter. It cannot be fetched back.",
    version=RELEASE,
    effect="once" if RELEASE == 1 else "idempotent",
)
BELLS = tuple(f"ring_{number}" for number in range(1, 5))
for _bell in BELLS:
    _effect(_bell, "Ring a bell that a test may stop without stopping any other test's bell.")


class Obedient:
    """Proposes what the customer's last words spell out, once; else says that it has heard."""

    name = "obedient"

    def answer(self, request: Any, *, on_text: Any = None) -> ModelAnswer:
        """Returns the calls of the customer's last message, or a sentence."""
        spoken = [at for at, each in enumerate(request.messages) if each.role == "customer"]
        words = request.messages[spoken[-1]].text if spoken else ""
        answered = (
            any(each.role in ("agent", "tool") for each in request.messages[spoken[-1] + 1 :]) if spoken else True
        )
        if not words.startswith(DO) or answered:
            return ModelAnswer("I have heard you.", model=self.name)
        calls = json.loads(words.removeprefix(DO))
        return ModelAnswer(
            "", tuple(map(self._proposed, range(len(calls)), calls)), finish="tool_calls", model=self.name
        )

    @staticmethod
    def _proposed(number: int, call: dict[str, Any]) -> ProposedCall:
        arguments = {name: value for name, value in call.items() if name not in ("_tool", "_outputPath")}
        return ProposedCall(f"call-{number}", call["_tool"], arguments, call.get("_outputPath"))


TOOLS = (
    "load_customer",
    "transfer",
    "check",
    "wait",
    "note",
    "act",
    "redo",
    "post_letter",
    *BELLS,
)
PATHS = {"load_customer": "state.customer", "check": "state.check"}
MODEL = Obedient()


def _register(name: str, **more: Any) -> None:
    """Registers an agent that does as the customer says."""
    register(
        Agent(
            name, "Do as the customer says.", TOOLS, "hunt", PATHS, script=MODEL, offers=offers.ALL, idle=3600, **more
        )
    )


for _name in ("hunt", *(f"hunt-{number}" for number in range(1, 14))):
    _register(_name)

_register("hunt-talk", talk="bank")

_register("hunt-schema", schema="hunt")

for _name in ("window", "fraud"):
    _register(f"hunt-{_name}", chart=f"hunt-{_name}")
