"""One running installation for all attacks: `manage.py up`, the bank, people, and an agent whose policy asks."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool

from agentstate.stack.endpoints import endpoints
from agentstate.stack.ports import any_free
from sessions.library.folders import EVERY
from tests.attacks import installation
from tests.attacks.client import Browser, Json, Person, Talk, eventually
from tests.processes import ROOT, Running, environment, is_alive

SCHEMA = """
create schema if not exists attacks;
create table if not exists attacks.effects (
    id bigint generated always as identity, at timestamptz not null default clock_timestamp(),
    tool text, version int, session text, key text, attempt int, arguments jsonb);
create index if not exists effects_session on attacks.effects (session);
create table if not exists attacks.troubles (subject text primary key, remaining int not null);
create table if not exists attacks.gates (subject text primary key);
"""
RICH = 100_000_000  # minor units in each account


class Stack:
    """The installation. Attacks run beside each other in it, each with customers, sessions and people of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, folder / "state"
        self.port = str(any_free())
        self.settings = installation.written(folder)
        self.lock, self.numbers = threading.Lock(), itertools.count(1)
        self.release = 1
        self.start()
        dsn = endpoints({"AGENTSTATE_STATE_DIR": str(self.state)}, ROOT).bank_dsn
        self.rows = ConnectionPool(
            dsn, min_size=1, max_size=4, open=True, kwargs={"autocommit": True}, check=ConnectionPool.check_connection
        )
        self.bank(SCHEMA)
        self.machine = self._machine()
        self.people("seniors:viewer")  # the team is made with its first member
        self.watcher = self.people("retail:viewer", "cards:viewer", "retail:supervisor")
        self.caller = self.people("retail:caller")

    def start(self) -> None:
        """`up`, ready: at the same address each time."""
        more = {"DEMO_CALLERS": "0", "AGENTSTATE_WORKERS": "1", "ATTACKS_RELEASE": str(self.release), **self.settings}
        more |= {"SCRUB_HEADS_EVERY": "2", "SCRUB_ENTRIES_EVERY": "2", "SCRUB_SHARE": "0.2"}
        usual = ("sh", "-c", 'ulimit -Sn 1024 && exec "$@"', "sh")  # limit of open files, as most systems have it
        self.up = Running.up(self.state, "--demo", "--port", self.port, prefix=usual, **more)
        try:
            self.url = self.up.ready(240)
        except BaseException:
            self.up.stop(seconds=60)  # or it would outlive the tests
            raise

    def deploy(self) -> None:
        """The installation's next release, after a power cut: what ran is lost."""
        pids = [self.up.process.pid, *self.up.pids().values()]
        self.up.process.kill()
        self.up.process.wait(30)
        eventually(lambda: not any(map(is_alive, pids)), "everything is gone")
        self.release += 1
        installation.next_release(self.folder)
        self.start()
        self.machine.kill()
        self.machine.wait(10)
        self.machine = self._machine()
        assert self.at_the_machine("agree_to_library") == 2, "the release changes a chart and a schema"
        time.sleep(EVERY)  # until every process has seen it

    def stop(self) -> None:
        """Ends everything that was started."""
        try:
            self.rows.close()
            self.machine.kill()
            self.machine.wait(20)
        finally:
            self.up.stop(seconds=60)  # or it would outlive the tests

    # People and customers.

    def people(self, *memberships: str) -> Person:
        """A new person with these roles, each "team:role"."""
        name = f"{memberships[0].rpartition(':')[2]}-{next(self.numbers)}"
        return Person(self.url, name, self.at_the_machine("person", name, *memberships))

    def supervisor(self, *more: str) -> Person:
        """A new supervisor of retail."""
        return self.people("retail:supervisor", *more)

    def browser(self, person: Person) -> Browser:
        """That person, signed in to the console."""
        return Browser(self.url, self.at_the_machine("link", person.name, self.url))

    def team(self, *roles: str) -> tuple[Person, ...]:
        """People of a team of their own, one for each role."""
        slug = f"team-{next(self.numbers)}"
        return tuple(self.people(f"{slug}:{role}") for role in roles)

    def customer(self) -> Json:
        """A new customer of the bank with two full accounts, and the account of a stranger."""
        number = next(self.numbers)
        ids = {kind: f"77{number:06d}{at:02d}" for at, kind in enumerate(("savings", "checking", "stranger"))}
        for reference, kinds in (
            (f"C-{700000 + number}", ("savings", "checking")),
            (f"C-{800000 + number}", ("stranger",)),
        ):
            self.bank(
                "insert into core.customers (id, name, number) values (%s, %s, %s)",
                reference, f"Customer {reference}", f"N{reference}",
            )  # fmt: skip
            for kind in kinds:
                self.bank(
                    "insert into core.accounts (id, customer_id, kind, currency, balance)"
                    " values (%s, %s, %s, 'USD', %s)",
                    ids[kind], reference, "savings" if kind == "savings" else "checking", RICH,
                )  # fmt: skip
        return {"id": f"C-{700000 + number}", **ids}

    def talk(
        self, topic: str = "", channel: str = "phone", agent: str = "hunt", customer: Json | None = None,
        caller: Person | None = None, **more: Any,
    ) -> Talk:  # fmt: skip
        """A new session, whose topic chooses the rules that hold (see `installation.POLICY`)."""
        who = customer or self.customer()
        body = {"customer": who["id"], "agent": agent, "channel": channel, "topic": topic, **more}
        opened = (caller or self.caller).post("/sessions", **body).must()
        return Talk(self, opened["id"], who)

    # Outside, and at the machine.

    def bank(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of the legacy database."""
        with self.rows.connection() as connection:
            found = connection.execute(query, values or None)
            return found.fetchall() if found.description else []

    def trouble(self, subject: str, remaining: int) -> None:
        """The tools fail for this subject so many times."""
        self.bank(
            "insert into attacks.troubles values (%s, %s) on conflict (subject) do update set remaining = %s",
            subject, remaining, remaining,
        )  # fmt: skip

    def open_gate(self, subject: str) -> None:
        """What waits at this gate goes on."""
        self.bank("insert into attacks.gates values (%s) on conflict do nothing", subject)

    @contextmanager
    def locked(self, account: str) -> Iterator[None]:
        """While inside, the bank cannot book on this account: each try ends after its statement's time."""
        with psycopg.connect(self.rows.conninfo) as connection:
            connection.execute("select 1 from core.accounts where id = %s for update", [account])
            yield

    def at_the_machine(self, name: str, *arguments: object) -> Any:
        """What tests.attacks.machine does, and its answer."""
        with self.lock:
            assert self.machine.stdin
            assert self.machine.stdout
            self.machine.stdin.write(json.dumps([name, arguments]) + "\n")
            self.machine.stdin.flush()
            answer = json.loads(self.machine.stdout.readline())
        assert "error" not in answer, answer
        return answer["answer"]

    @contextmanager
    def frozen_workers(self) -> Iterator[None]:
        """While inside, no worker moves."""
        pids = [pid for name, pid in self.up.pids().items() if name.startswith("worker")]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    def _machine(self) -> subprocess.Popen[str]:
        given = {**self.settings, "ATTACKS_RELEASE": str(self.release), "AGENTSTATE_STATE_DIR": str(self.state)}
        given["DJANGO_SETTINGS_MODULE"] = "agentstate.settings"
        return subprocess.Popen(
            [sys.executable, "-m", "tests.attacks.machine"], cwd=ROOT, env=environment(**given), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.folder / "machine.log", "w"),
        )  # fmt: skip
