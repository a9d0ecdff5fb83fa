"""Clicks of a reviewer on pages, and the same over the API, through Django's whole handler in this process.

The clock runs from the request to the end of the COMMIT of its command. The raw limit is one INSERT of 1 KiB and its
commit. The session is advanced in this process between two clicks, outside of the measured time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.test import Client
from django.urls import reverse

from benchmarks.first import agent
from benchmarks.first.committing import committing
from benchmarks.first.sessions import end_all, opened
from benchmarks.ground import INSERT_RAW, KIBIBYTE, Ground
from benchmarks.pages.form import fields_of
from benchmarks.pages.statements import statements
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import ApprovalRequest
from sessions.runtime import advance

WAYS = ("page", "API")
WARM = 3  # clicks that are not counted: connections and prepared statements come into being
API = "/api/v1"


class Refused(Exception):
    """A click was not answered as a success."""


@dataclass
class Desk:
    """A reviewer's browser, and a program that acts for them."""

    here: Ground
    browser: Client
    tokens: dict[str, str]
    session: UUID

    def times(self, way: str, samples: int) -> tuple[list[float], list[float]]:
        """Returns the milliseconds of decisions and of raw commits, taken in turns."""
        ours, raw = [], []
        with self.here.raw_connection() as connection:
            for number in range(-WARM, samples):
                click = self._prepared(way, "decision")
                with committing() as committed:
                    began = time.monotonic_ns()
                    self._send(click)
                one = (committed[0] - began) / 1e6
                began = time.monotonic_ns()
                connection.execute(INSERT_RAW, (0, KIBIBYTE))
                other = (time.monotonic_ns() - began) / 1e6
                if number >= 0:
                    ours.append(one)
                    raw.append(other)
        return ours, raw

    def statements(self, way: str, act: str) -> int:
        """Returns how many statements a click sends, its page's session, the person and the redirect among them."""
        for _ in range(2):  # the first is not counted
            click = self._prepared(way, act)
            with statements() as sent:
                self._send(click)
        return len(sent)

    def _send(self, click: dict[str, Any]) -> None:
        answer = self.browser.post(**click)
        if answer.status_code >= 400:
            raise Refused(f"{click['path']}: {answer.status_code}")

    def _prepared(self, way: str, act: str) -> dict[str, Any]:
        """Returns the request to send, with the session in a state in which it counts."""
        if act == "decision":
            return self._decision(way, self._parked())
        session = opened(self.here, "gated", f"customer-{uuid4()}")
        if act == "take over":
            return self._sent(way, "takeover", f"{reverse('session', args=[session])}supervise/take-over/", session, {})
        if way == "page":  # a person speaks to the customer once they have the session
            self._send(self._sent(way, "", f"{reverse('session', args=[session])}supervise/take-over/", session, {}))
        text = {"text": "Good morning."}
        return self._sent(way, "messages", f"{reverse('session', args=[session])}supervise/speak/", session, text)

    def _sent(self, way: str, api: str, page: str, session: UUID, data: dict[str, str]) -> dict[str, Any]:
        if way == "page":
            return {"path": page, "data": {**data, "key": str(uuid4())}}
        who = self.tokens["caller" if api == "messages" else "decider"]
        return _json(f"{API}/sessions/{session}/{api}", data, who)

    def _decision(self, way: str, request: UUID) -> dict[str, Any]:
        if way == "API":
            return _json(f"{API}/requests/{request}/decisions", {"decision": "approve"}, self.tokens["decider"])
        address = reverse("decision", args=[request])
        fields = fields_of(self.browser.get(address).content.decode(), "decide")
        return {"path": address, "data": {**fields, "decision": "approve"}}

    def _parked(self) -> UUID:
        """Returns the request that waits in the session."""
        while (found := ApprovalRequest.objects.filter(session=self.session, state="pending").first()) is None:
            advance.advance_ready()
        return found.pk


def _json(path: str, data: dict[str, str], token: str) -> dict[str, Any]:
    body = {**data, "idempotency_key": str(uuid4())}
    headers = {"Authorization": f"Bearer {token}"}
    return {"path": path, "data": body, "content_type": "application/json", "headers": headers}


@contextmanager
def reviewing(here: Ground) -> Iterator[Desk]:
    """Yields the desk of the reviewer, with a session whose agent asks again after each decision."""
    assert agent.CALLS  # its module registers the agents
    from agentstate.people import commands

    browser = Client(HTTP_HOST="localhost")
    browser.force_login(here.decider)
    session = opened(here, "gated", "customer-pages")
    conversation_commands.say(here.caller, session, "Go on.")
    issued = {
        name: commands.issue_token(user, "bench", None)
        for name, user in (("caller", here.caller), ("decider", here.decider))
    }
    try:
        yield Desk(here, browser, issued, session)
    finally:
        end_all(here)
