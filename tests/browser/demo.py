"""The product with its demo as a real run, and calls into it through the public API. No browser here."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg

from agentstate.stack.endpoints import endpoints
from agentstate.stack.ports import any_free
from demo.bank.people import Person, people
from tests.processes import ROOT, Running, eventually, manage


class Demo:
    """One `manage.py up --demo`. Nobody calls by themselves unless `callers`."""

    def __init__(self, state_dir: Path, callers: bool = False, **environment: str) -> None:
        self.state_dir = state_dir
        port = str(any_free())
        self.running = Running.up(
            state_dir, "--demo", "--port", port, DEMO_CALLERS="1" if callers else "0", **environment
        )
        self.url = self.running.ready(90.0)
        eventually(lambda: "sign in once" in self.running.said, what="the demo's accounts")
        self._customers = (person for person in people() if person.flag == "clear")
        self._tokens: dict[str, str] = {}

    def stop(self) -> None:
        """End it."""
        self.running.stop()

    def password(self, username: str) -> str:
        """The demo's own password of one of its people."""
        return str(json.loads((self.state_dir / "demo" / "accounts.json").read_text())[username])

    def manage(self, *words: str) -> str:
        """What a management command beside it prints; fails when the command does."""
        done = manage(self.state_dir, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def link(self, username: str) -> str:
        """A one-time link that signs `username` in."""
        return self.manage("sign_in_link", username, "--base", self.url)

    def api(self, username: str) -> Api:
        """The public API as `username`; "caller" is the client on the customers' side."""
        if username not in self._tokens:
            file = self.state_dir / "demo" / "callers.token"
            self._tokens[username] = (
                file.read_text().strip() if username == "caller" else self.manage("token", username)
            )
        return Api(self.url, self._tokens[username])

    def call(self, **wishes: str) -> Call:
        """A new call by a customer who has not called yet and whom the authorization service clears."""
        return Call(self.api("caller"), next(self._customers), **wishes)

    def bank(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of the legacy database."""
        dsn = endpoints({"AGENTSTATE_STATE_DIR": str(self.state_dir)}, ROOT).bank_dsn
        with psycopg.connect(dsn) as connection:
            return connection.execute(query, values).fetchall()

    def moved(self, person: Person) -> list[tuple[int, str]]:
        """Amount in minor units and receipt of every transfer out of the person's savings, oldest first."""
        source = person.account("savings").id
        return self.bank("select amount, receipt from core.transfers where from_account = %s order by at", source)  # type: ignore[return-value]


class Api:
    """The few operations of the public API that tests of pages need."""

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(base_url=f"{url}api/v1", headers=headers, timeout=20.0, trust_env=False)

    def get(self, path: str) -> dict[str, Any]:
        """The JSON there."""
        answer = self._client.get(path)
        answer.raise_for_status()
        return dict(answer.json())

    def post(self, path: str, **body: object) -> dict[str, Any]:
        """Post a command; its answer."""
        answer = self._client.post(path, json=body)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return dict(answer.json())

    def post_until_answered(self, path: str, seconds: float = 30.0, **body: object) -> dict[str, Any]:
        """The same under one idempotency key, again and again while nobody answers."""
        body = {**body, "idempotency_key": str(uuid4())}
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.post(path, **body)
            except httpx.TransportError:
                assert time.monotonic() < deadline, f"{path}: no answer within {seconds} s"
                time.sleep(0.1)


class Call:
    """A call: a session opened by the customers' API client, and what its customer says."""

    def __init__(self, api: Api, person: Person, channel: str = "phone", topic: str = "transfer") -> None:
        self.api, self.person = api, person
        opened = api.post("/sessions", customer=person.id, agent="bank", channel=channel, topic=topic)
        self.id = str(opened["id"])
        self.reference = self.id[-6:].upper()

    def say(self, text: str) -> None:
        """The customer says that."""
        self.api.post(f"/sessions/{self.id}/messages", text=text)

    def heard(self, pattern: str, seconds: float = 20.0) -> str:
        """Wait until the agent has said something that matches; what it said."""
        found: list[str] = []

        def spoken() -> bool:
            found[:] = [text for text in self.texts("agent") if re.search(pattern, text)]
            return bool(found)

        eventually(spoken, seconds, f"the agent says {pattern}")
        return found[-1]

    def texts(self, role: str) -> list[str]:
        """What was said in that role."""
        said = (entry["data"] for entry in self.entries() if entry["kind"] == "message.added")
        return [str(data["text"]) for data in said if data["role"] == role]

    def entries(self) -> Iterator[dict[str, Any]]:
        """All entries of the session."""
        yield from self.api.get(f"/sessions/{self.id}/entries?limit=500")["entries"]

    def asks_to_move(self, dollars: int) -> Call:
        """Until the agent has read the transfer from savings to checking back and the customer has said yes."""
        self.say(f"Hello, I would like to move ${dollars:,} from savings to checking.")
        self.heard(r"is that right\?")
        self.say("Yes, that's right.")
        return self

    def request(self) -> str:
        """The id of the request that the session waits for, once it does."""
        asked: list[str] = []

        def waits() -> bool:
            asked[:] = [entry["data"]["request"] for entry in self.entries() if entry["kind"] == "approval.requested"]
            return bool(asked)

        eventually(waits, what="a request for approval")
        return asked[-1]
