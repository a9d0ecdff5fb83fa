"""Pages show control, bidirectional and invisible characters by name; the API gives the text as it is."""

from __future__ import annotations

import re
import unicodedata
from typing import Any
from uuid import UUID, uuid4

import pytest

from agentstate import clock
from agentstate.engine.state.session import pending
from sessions.agents.registry import Agent, register
from sessions.automation.notifications import mail
from sessions.automation.notifications.texts import Told
from sessions.plans import commands as plans_commands
from sessions.tools.registry import Arguments, ToolContext, tool
from tests import cast
from tests.shell.bank_world import opened, say, state, work
from tests.shell.test_answers import Thinker, step

pytestmark = pytest.mark.django_db(transaction=True)

HOSTILE = "Pay \u202e00.05$\u202c to \u200bMaria\u2066\x1b[2J\r\nApproved by Ann"
PERSIAN = "می\u200cخواهم پول بفرستم 👩🏽\u200d🚀"
INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")
FORM = {"type": "object", "required": ["purpose"], "properties": {"purpose": {"type": "string"}}}


def _says(arguments: Arguments, state: dict[str, Any]) -> str:
    return f"Send it: {arguments['purpose']}"


@tool(name="send_it", version=1, description="Sends.", effect="idempotent", arguments=FORM, preview=_says)
def send_it(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    return {"sent": arguments["purpose"]}


register(Agent("sender", "Send.", ("send_it",), "bank", {}, script=Thinker()))


def asked() -> tuple[UUID, str]:
    """A session with a hostile text in a request, in the conversation and in the plan: its id and the request's."""
    session = opened(agent="sender")
    say(session, f"{HOSTILE} {PERSIAN}")
    plans_commands.propose_plan(cast.alice(), session, calls=[step("send_it", "state.done", purpose=HOSTILE)])
    work()
    (request,) = pending(state(session))
    return session, request.asked.request


def text_of(page: str) -> str:
    """What a reader sees of a page: its texts and spoken attributes, not the values of its forms."""
    page = re.sub(r"<(textarea|option|script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r'\bvalue="[^"]*"', "", page)


def test_every_page_of_a_request_shows_what_nobody_would_see():
    session, request = asked()
    browser = cast.browser(cast.bob())
    for path in (
        "/decisions/",
        f"/decisions/{request}/",
        f"/sessions/{session}/",
        f"/sessions/{session}/plan/",
        "/live/",
        "/sessions/",
    ):
        answer = browser.get(path)
        assert answer.status_code == 200, path
        page = answer.content.decode()
        assert INVISIBLE.search(text_of(page)) is None, (
            path,
            unicodedata.name(INVISIBLE.search(text_of(page))[0], "?"),
        )
    card = browser.get(f"/decisions/{request}/").content.decode()
    assert '<span class="hidden-character">[U+202E right-to-left override]</span>' in card
    assert "$[U+202C" in re.sub("<[^>]+>", "", card)
    heading = re.search(r'<h1 class="ask"[^>]*>(.*?)</h1>', card, re.DOTALL)[1]
    assert heading.strip().startswith("<bdi>")
    assert "↵ Approved by Ann" in heading
    assert '<span class="hidden-character">' in heading
    conversation = browser.get(f"/sessions/{session}/").content.decode()
    assert PERSIAN in conversation


def test_a_mail_shows_them_too():
    told = Told(
        uuid4(), "alert.raised", "Alert \u202etxt", "critical", "rule\u200b", "retail", "A1B2C3", "/x/", clock.now(), 1
    )
    sent = mail.built(uuid4(), "ann@example.com", [told])
    for text in (sent.body, str(sent.alternatives[0][0])):
        assert INVISIBLE.search(text) is None
        assert "[U+202E right-to-left override]" in text


def test_the_api_gives_the_text_as_it_is():
    _, request = asked()
    found = cast.browser(cast.bob()).get(f"/api/v1/requests/{request}").json()
    assert HOSTILE in str(found["preview"])
