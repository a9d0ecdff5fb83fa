"""The agents and tools of the attack suite, registered as an installation registers its own (docs/connecting.md).

The model does what the customer's words spell out, so that a test chooses what the agent proposes. Effects are rows
of the bank's database; what the tools do is in `attacks.effects`, and transfers are the bank's own.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from psycopg.types.json import Json

import sessions.tools.bank  # noqa: F401  (the agents name its tools)
from sessions import state_schemas
from sessions.agents import charts
from sessions.agents.model import ModelAnswer, ProposedCall
from sessions.agents.registry import Agent, register
from sessions.tools.registry import Retry, ToolFailed, tool

DO = "do "  # a customer who says `do [{"_tool": ...}]` has the agent propose these calls
SLOW = "slow "  # what is done for such a subject takes long enough to die in it
RELEASE = int(os.environ.get("ATTACKS_RELEASE", "1"))  # 2: the installation after its next deployment
QUICK = Retry(attempts=3, base_seconds=0.2)
PATIENT = Retry(base_seconds=0.2, seconds=12)
MONEY = {"type": "object", "required": ["minor", "currency"]}
HERE = Path(os.environ["ATTACKS_FOLDER"])


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


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
    arguments=_object({"subject": {"type": "string"}}),
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


@tool(
    name="note",
    version=1,
    description="Write a note.",
    effect="idempotent",
    arguments=_object({"subject": {"type": "string"}}),
    retry=QUICK,
)
def note(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
    """Records an effect that no rule stops."""
    return _record("note", 1, arguments, context)


@tool(
    name="act",
    version=RELEASE,
    description="Do something that a person approves.",
    effect="idempotent",
    arguments=_object({"subject": {"type": "string"}}, detail={"type": "string"}),
    retry=PATIENT,
    compensation="Do it again the other way round.",
    undone_by="redo",
    undo=lambda arguments, result: {"subject": arguments["subject"], "detail": "undone"},
)
def act(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
    """Records an effect that a person approves."""
    return _record("act", RELEASE, arguments, context)


@tool(
    name="redo",
    version=1,
    description="Undo what was done. It is tried again after seconds, so that a test can do something meanwhile.",
    effect="idempotent",
    arguments=_object({"subject": {"type": "string"}}, detail={"type": "string"}),
    retry=Retry(attempts=3, base_seconds=3.0),
)
def redo(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
    """Records an undoing."""
    return _record("redo", 1, arguments, context)


@tool(
    name="post_letter",
    version=RELEASE,
    description="Post a letter. It cannot be fetched back.",
    effect="once" if RELEASE == 1 else "idempotent",
    arguments=_object({"subject": {"type": "string"}}),
    retry=QUICK,
)
def post_letter(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
    """Records an effect that must not happen twice."""
    return _record("post_letter", RELEASE, arguments, context)


for _bell in range(1, 5):

    @tool(
        name=f"ring_{_bell}",
        version=1,
        description="Ring a bell that a test may stop without stopping anybody else's.",
        effect="idempotent",
        arguments=_object({"subject": {"type": "string"}}),
        retry=QUICK,
    )
    def ring(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
        """Records an effect that a person approves."""
        return _record("ring", 1, arguments, context)


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
    *(f"ring_{each}" for each in range(1, 5)),
)
PATHS = {"load_customer": "state.customer", "check": "state.check"}
MODEL = Obedient()
for _name in ("hunt", *(f"hunt-{number}" for number in range(1, 14))):
    register(Agent(_name, "Do as the customer says.", TOOLS, "hunt", PATHS, script=MODEL, plans="adapt", idle=3600))

register(
    Agent(
        "hunt-talk",
        "Do as the customer says.",
        TOOLS,
        "hunt",
        PATHS,
        script=MODEL,
        plans="adapt",
        idle=3600,
        talk="bank",
    )
)

state_schemas.FOLDER = HERE / "state_schemas"
state_schemas.named.cache_clear()
register(
    Agent(
        "hunt-schema",
        "Do as the customer says.",
        TOOLS,
        "hunt",
        PATHS,
        script=MODEL,
        plans="adapt",
        idle=3600,
        schema="hunt",
    )
)

charts.CHARTS = HERE / "charts"  # the shipped charts and those of this suite: no setting names a folder of charts
charts.by_reference.cache_clear()
charts.newest.cache_clear()
for _name in ("window", "fraud"):
    register(
        Agent(
            f"hunt-{_name}", "Do as the customer says.", TOOLS, "hunt", PATHS,
            script=MODEL, plans="adapt", idle=3600, chart=f"hunt-{_name}",
        )
    )  # fmt: skip
