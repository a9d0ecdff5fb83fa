"""Attacks by whoever puts yesterday's database under today's signer: a backup that was restored, or a decision undone
with it. A superuser's, on a running installation; the newest database is put back at the end of each.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psycopg
import pytest

from agentstate.stack import postgres
from agentstate.stack.endpoints import Endpoints, endpoints
from tests.attacks.client import Person, Talk, eventually, words
from tests.attacks.stack import Stack
from tests.processes import ROOT

pytestmark = pytest.mark.alone
SAID = "restored from a backup"


def place(stack: Stack) -> Endpoints:
    return endpoints({"AGENTSTATE_STATE_DIR": str(stack.state)}, ROOT)


@contextmanager
def nobody_connected(stack: Stack) -> Iterator[psycopg.Connection]:
    """The superuser beside the installation's database, which has no connection meanwhile."""
    name = place(stack).database
    with postgres.superuser(place(stack)) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield connection
        finally:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


@contextmanager
def restored(stack: Stack) -> Iterator[Talk]:
    """A session that was signed and then went on; while inside, the database is the one from before it went on."""
    name = place(stack).database
    talk = stack.talk().greeted()
    eventually(lambda: signed(stack, talk), "it is signed")
    with nobody_connected(stack) as connection:
        postgres.create_database(connection, "yesterday", template=name)
    talk.say("and on").must()
    talk.rests()
    eventually(lambda: signed(stack, talk), "today is signed")
    with nobody_connected(stack) as connection:
        connection.execute(f"ALTER DATABASE {name} RENAME TO today")
        connection.execute(f"ALTER DATABASE yesterday RENAME TO {name}")
    try:
        yield talk
    finally:
        with nobody_connected(stack) as connection:
            connection.execute(f"DROP DATABASE {name}")
            connection.execute(f"ALTER DATABASE today RENAME TO {name}")
        eventually(lambda: trouble(stack) == "", "the newest database is signed for again", 90)


def signed(stack: Stack, talk: Talk) -> bool:
    """Whether the newest head of a session stands in the signed global log."""
    query = "SELECT h.size = p.size AND p.index < (SELECT max(size) FROM audit_signedhead) FROM audit_head h"
    with postgres.superuser(place(stack), place(stack).database) as owner:
        return owner.execute(f"{query} JOIN audit_place p USING (log) WHERE h.log = %s", [talk.id]).fetchone() == (
            True,
        )


def trouble(stack: Stack) -> str:
    """What the health of the ledger names; "?": the web process is not back yet."""
    try:
        answer = httpx.get(f"{stack.url}healthz/ledger", timeout=20, trust_env=False)
    except httpx.TransportError:
        return "?"
    return str(answer.json().get("trouble", "?")) if "json" in answer.headers["content-type"] else "?"


def is_told(stack: Stack) -> None:
    """Sessions go on, and whatever they write is refused by name."""
    talk = stack.talk().greeted()
    assert not signed(stack, talk)
    eventually(lambda: trouble(stack) == "head_refused", lambda: f"head_refused: {trouble(stack)}", 60)


def alerts(person: Person) -> list[tuple[str, str, str]]:
    open_ = person.get("/alerts?limit=500&state=open").must()["alerts"]
    return [(each["name"], each["why"], each["severity"]) for each in open_ if each["about"] == "ledger"]


def test_m5_an_older_database_is_told_by_an_alert_and_above_every_page(stack: Stack) -> None:
    """As it was found: the signer refused in the first second, and only admins read it."""
    sue, anna, adam = stack.supervisor(), stack.people("retail:auditor"), stack.people("retail:admin")
    pages = {sue.name: "live/", anna.name: "audit/", adam.name: "sessions/"}
    with restored(stack):
        is_told(stack)
        eventually(lambda: ("altered", "head_refused", "critical") in alerts(sue), lambda: str(alerts(sue)), 60)
        for person in (sue, anna, adam):
            assert SAID in words(stack.browser(person).page(pages[person.name])), person.name
    eventually(lambda: alerts(sue) == [], "the alert is closed by itself", 60)


def test_m5_an_export_of_what_was_signed_before_is_refused_by_that_name(stack: Stack) -> None:
    with restored(stack) as talk:
        is_told(stack)
        assert SAID in stack.at_the_machine("refused_export", talk.id, str(stack.folder / "yesterday.zip"))


def test_m5_an_older_database_is_told_also_where_every_process_is_new(stack: Stack) -> None:
    with restored(stack):
        ended = {pid for name, pid in stack.up.pids().items() if name not in ("postgres", "valkey")}
        for pid in ended:
            os.kill(pid, signal.SIGKILL)  # whatever they remembered is gone, but for the signer's file
        eventually(lambda: not ended & set(stack.up.pids().values()), "all are begun anew")
        eventually(lambda: trouble(stack) != "?", "the web process is back", 120)
        is_told(stack)
