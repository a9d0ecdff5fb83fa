"""The whole product under test, with callers and supervisors of ours: for killing parts of it and counting effects.

`Floor` is one `manage.py up --demo` without its endless customers. Requests are tried until they are answered,
under one idempotency key, as the demo's own callers do. Money is counted in the bank's legacy database.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import redis

from agentstate.stack.endpoints import endpoints
from agentstate.stack.ports import any_free
from demo.bank.people import people
from tests.live.watcher import Watcher, signed_in
from tests.processes import ROOT, Running, environment, eventually, is_alive, manage

REST = ("customer", "decision", "nobody")  # what a session may wait for without being stuck
AGAIN = re.compile(r"Shall I try again\?")
CONFIRM = re.compile(r"is that right\?|is that correct\?")


class Line:
    """A client of the API that outlives restarts: transport errors and 5xx are tried again."""

    def __init__(self, url: str, token: str) -> None:
        self.client = httpx.Client(
            base_url=f"{url}api/v1", timeout=20, trust_env=False, headers={"Authorization": f"Bearer {token}"}
        )
        self.troubles: list[httpx.Response] = []  # answers of 5xx that were met on the way
        self.patience = 60.0  # seconds

    def once(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """One try."""
        return self.client.request(method, path, json=body)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON of the first answer that is one, within `patience`. Fails on 4xx."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                answer = self.once(method, path, body)
                if answer.status_code < 500:
                    assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
                    return answer.json()
                self.troubles.append(answer)
                problem = f"{answer.status_code} {answer.text[:200]}"
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
            assert time.monotonic() < deadline, f"{method} {path}: {problem}"
            time.sleep(0.2)


@dataclass
class Call:
    """One customer's session."""

    floor: Floor
    customer: str
    dollars: int
    id: str = ""
    key: str = field(default_factory=lambda: str(uuid4()))

    def open(self) -> Call:
        """Call the bank."""
        wanted = {"customer": self.customer, "channel": "phone", "agent": "bank", "idempotency_key": self.key}
        self.id = self.floor.customers.ask("POST", "/sessions", wanted)["id"]
        return self

    def say(self, text: str) -> None:
        """Speak as the customer, once."""
        body = {"text": text, "idempotency_key": str(uuid4())}
        self.floor.customers.ask("POST", f"/sessions/{self.id}/messages", body)

    @property
    def view(self) -> dict[str, Any]:
        """The session as the API shows it."""
        return dict(self.floor.staff.ask("GET", f"/sessions/{self.id}"))

    def entries(self, kind: str = "") -> list[dict[str, Any]]:
        """Its entries, all or of one kind."""
        found = self.floor.staff.ask("GET", f"/sessions/{self.id}/entries?limit=500")["entries"]
        return [entry for entry in found if kind in ("", entry["kind"])]

    def rests(self, *waiting_for: str) -> bool:
        """Whether it waits for one of these (any of REST if none is named)."""
        return self.view["waiting_for"] in (waiting_for or REST)

    def asks_for_a_transfer(self, seconds: float = 90) -> Call:
        """Open, ask, confirm; until the supervisor is asked (above $500.00) or the money has moved."""
        self.open().wait_for("customer", seconds=seconds)
        self.say(f"I want to move ${self.dollars:,}.00 from savings to checking.")
        eventually(self._is_asked_to_confirm, seconds, f"{self.id} asks to confirm")
        self.say("Yes, that is right.")
        return self.wait_for("decision" if self.dollars > 500 else "customer", seconds=seconds)

    def _is_asked_to_confirm(self) -> bool:
        """Whether the agent wants to hear that it understood; one that could not check is told to try again."""
        if not self.rests("customer"):
            return False
        if self.last_words(AGAIN):
            self.say("Yes, please try again.")
        return self.last_words(CONFIRM)

    def last_words(self, pattern: re.Pattern[str]) -> bool:
        """Whether the last message is the agent's and says this."""
        said = self.entries("message.added")[-1]["data"]
        return said["role"] == "agent" and bool(pattern.search(said["text"]))

    def story(self) -> str:
        """What happened in it, for a test that failed."""
        told = [f"{each['seq']} {each['at']} {each['kind']} {str(each['data'])[:150]}" for each in self.entries()]
        return "\n".join([str(self.view), *told])

    def wait_for(self, *waiting_for: str, seconds: float = 90) -> Call:
        """Wait until it rests in one of these ways."""
        eventually(lambda: self.rests(*waiting_for), seconds, f"{self.id} waits for {waiting_for}")
        return self

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Its approval requests."""
        found = self.floor.staff.ask("GET", "/requests?limit=500")["requests"]
        return [dict(request) for request in found if request["session"] == self.id]

    @property
    def request(self) -> dict[str, Any]:
        """Its only approval request."""
        (request,) = self.requests
        return request

    def approve(self) -> None:
        """Decide as the supervisor."""
        self.decide("approve")

    def decide(self, decision: str) -> None:
        """Decide as the supervisor."""
        body = {"decision": decision, "reason": "", "idempotency_key": str(uuid4())}
        if decision == "reject":
            body["reason"] = "The caller sounds coached"
        self.floor.staff.ask("POST", f"/requests/{self.request['id']}/decisions", body)

    def transfer_entries(self) -> list[str]:
        """The kinds of the entries about the transfer itself, in order."""
        mine = {entry["data"]["call"] for entry in self.entries("tool.intended") if entry["data"]["tool"] == "transfer"}
        about = ("tool.intended", "tool.returned", "tool.failed")
        return [e["kind"] for e in self.entries() if e["kind"] in about and e["data"]["call"] in mine]

    def moved(self) -> list[int]:
        """What the bank moved for this session, in dollars; the bank's own table, not ours."""
        rows = self.floor.bank("select amount from core.transfers where reference like %s", f"{self.id}.%")
        return [amount // 100 for (amount,) in rows]

    def finishes(self, seconds: float = 90) -> float:
        """Wait until the transfer has returned and the session rests; seconds until it had returned."""
        began = time.monotonic()
        eventually(lambda: self.transfer_entries()[-1:] == ["tool.returned"], seconds, f"the transfer of {self.id}")
        took = time.monotonic() - began
        self.wait_for("customer", seconds=seconds)
        return took


class Floor:
    """One `up`, tokens for both sides, and the bank."""

    def __init__(self, state: Path, **env: str) -> None:
        armed = f"@{state.parent / 'armed'}"  # with one worker it is known who dies
        self.state, self.env = state, {"DEMO_CALLERS": "0", "AGENTSTATE_WORKERS": "1", "CRASH_AT": armed, **env}
        self.port = str(any_free())  # never one that another `up` may be about to take
        self.calls: list[Call] = []
        self.cookie = ""
        self.start()
        try:
            tokens = (state / "demo" / "callers.token").read_text().strip(), self.manage("token", "supervisor").strip()
        except BaseException:
            self.stop()
            raise
        self.customers, self.staff = (Line(self.url, token) for token in tokens)

    def start(self) -> None:
        """`up`, ready."""
        self.up = Running.up(self.state, "--demo", "--port", self.port, **self.env)
        try:
            self.url = self.up.ready(240)
            eventually(lambda: "beat" in self.up.pids(), 30, "beat is started")
        except BaseException:
            self.stop()  # or it would outlive the test
            raise

    def stop(self) -> None:
        self.up.stop(seconds=60)
        print(self.up.said)  # who died and came back, should a test have failed

    def arm(self, what: str) -> Path:
        """Arm one crash point (see sessions.core.crash_points); the file is gone once it went off."""
        file = self.state.parent / "armed"
        file.with_suffix(".new").write_text(what)
        return file.with_suffix(".new").rename(file)

    def call(self, customer: str, dollars: int) -> Call:
        """A call that this floor keeps in mind for `all_is_well`."""
        self.calls.append(Call(self, customer, dollars))
        return self.calls[-1]

    def new_calls(self, *dollars: int) -> list[Call]:
        """Calls of different customers (as long as there are any who have not called yet), not yet opened."""
        free = [who.id for who in people() if who.flag == "clear"]
        return [self.call(free[len(self.calls) % len(free)], each) for each in dollars]

    def waiting_calls(self, *dollars: int) -> list[Call]:
        """Calls of different customers, all at once, each asking for a transfer of so many dollars."""
        calls = self.new_calls(*dollars)
        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(Call.asks_for_a_transfer, calls))

    def bank(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of the legacy database."""
        with psycopg.connect(endpoints({"AGENTSTATE_STATE_DIR": str(self.state)}, ROOT).bank_dsn) as connection:
            return connection.execute(query, values).fetchall()

    def manage(self, *words: str) -> str:
        """What a management command prints; it must succeed."""
        done = manage(self.state, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def watch(self, call: Call) -> Watcher:
        """A supervisor's page on this call."""
        if not self.cookie:
            self.cookie = signed_in(self.manage("sign_in_link", "supervisor", "--base", self.url).strip())
        return Watcher(self.url, self.cookie, call.id)

    @contextmanager
    def unattended(self) -> Iterator[None]:
        """While inside, `up` sleeps: what is killed stays dead."""
        os.kill(self.up.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.up.process.pid, signal.SIGCONT)

    @contextmanager
    def stuck_backend(self) -> Iterator[None]:
        """While inside, one of PostgreSQL's backends cannot notice that its server has died."""
        connection = psycopg.connect(endpoints({"AGENTSTATE_STATE_DIR": str(self.state)}, ROOT).bank_dsn)
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(backend, signal.SIGCONT)
            connection.close()

    def kill(self, name: str) -> None:
        """kill -9 one child, and see it gone."""
        pid = self.up.pid(name)
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not is_alive(pid), 10, f"{name} is gone")

    def valkey(self) -> redis.Redis:
        """A client of the broker's database."""
        stack = endpoints({"AGENTSTATE_STATE_DIR": str(self.state)}, ROOT)
        return redis.Redis(unix_socket_path=str(stack.valkey_socket), decode_responses=True)

    def another_worker(self) -> subprocess.Popen[bytes]:
        """A second worker process, with the first one's environment and command line."""
        first = Path(f"/proc/{self.up.pid('worker')}")
        command = (first / "cmdline").read_text().strip("\0").split("\0")
        env = (first / "environ").read_text().strip("\0").split("\0")
        log = open(self.state / "log" / "second-worker.log", "ab")  # noqa: SIM115 - the process keeps it
        return subprocess.Popen(
            [*command[:-1], f"second-{command[-1]}"], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=environment(**dict(word.split("=", 1) for word in env)),
        )  # fmt: skip

    def all_is_well(self) -> None:
        """Projections are the fold of the ledger, entries are gapless, and every session's export verifies."""
        assert "are the fold of the ledger" in self.manage("rebuild", "--check")
        for call in self.calls:
            seqs = [entry["seq"] for entry in call.entries()]
            assert seqs == list(range(len(seqs))) == list(range(call.view["seq"])), call.id
        self._export_and_verify()

    def _export_and_verify(self) -> None:
        folder = self.state.parent / f"exports-{uuid4().hex[:8]}"
        folder.mkdir()
        files = {call.id: str(folder / f"{call.id}.zip") for call in self.calls}
        each = f"for session, file in {files}.items(): call_command('export', session, '--out', file)"
        code = f"from django.core.management import call_command\n{each}"
        self.manage("shell", "--no-imports", "-c", code)
        for file in files.values():
            command = [sys.executable, "-m", "audit.verify", file, "--key", f"{file}.vkey"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


def within(seconds: float, condition: Callable[[], object], what: str) -> float:
    """Wait for `condition`; how many seconds it took."""
    began = time.monotonic()
    eventually(condition, seconds, what)
    return time.monotonic() - began
