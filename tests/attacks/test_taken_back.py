"""Attacks on the record by PostgreSQL's superuser, who holds no key: what was signed is taken back, or kept from being
signed. And on those who watch it: a monitor that follows an honest log.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID

import httpx
import pytest

from audit import access, staff
from tests.attacks.client import Json, Request, Talk, eventually
from tests.attacks.stack import Stack
from tests.attacks.superuser import ROWS, Root, superuser
from tests.processes import ROOT


def health(stack: Stack) -> Json:
    return dict(httpx.get(f"{stack.url.rstrip('/')}/healthz/ledger", timeout=20).json())


def is_told(stack: Stack, code: str, seconds: float = 60.0) -> None:
    eventually(lambda: health(stack)["trouble"] == code, lambda: f"{code}: {health(stack)}", seconds)


def waiting(stack: Stack) -> tuple[Talk, Request]:
    """A session that rests, and its transfer that waits for a decision."""
    talk = stack.talk()
    request = talk.asks_for(900)
    talk.rests()
    return talk, request


def decided(stack: Stack, root: Root, decision: str) -> tuple[Talk, int]:
    """A session in which a person was asked and decided, signed; and its size before that."""
    talk, request = waiting(stack)
    before = root.size(talk.id)
    root.copy("asked", talk.id)
    request.decide(stack.supervisor(), decision).must()
    talk.rests()
    eventually(lambda: root.sequenced(talk.id), "signed")
    return talk, before


@pytest.mark.alone
def test_c1_a_signed_rejection_taken_back_and_approved_is_refused_by_name(stack: Stack):
    """As it was found: all rows of the session as they were when it asked, then a colleague approves."""
    with superuser(stack) as root:
        talk, before = decided(stack, root, "reject")
        root.copy("newest", talk.id)
        out = stack.folder / "older.zip"
        key = stack.at_the_machine("export", talk.id, str(out))
        (request,) = talk.requests
        frontier = root.cut(talk.id, before)
        root.put_back("asked", talk.id, *ROWS)
        root.run("UPDATE audit_head SET size = %s, frontier = %s WHERE log = %s", before, frontier, talk.id)
        for name in ("web", *(name for name in stack.up.pids() if name.startswith("worker"))):
            stack.up.kill(name)  # they remember the state for a minute
        stack.up.ready(60)
        request.approve(stack.supervisor()).must()
        eventually(lambda: root.size(talk.id) > 0 and not root.sequenced(talk.id), "it grew")
        is_told(stack, "head_altered")
        assert "altered" in stack.at_the_machine("refused_export", talk.id, str(stack.folder / "newer.zip"))
        root.put_back("newest", talk.id)
        is_told(stack, "decision_unsigned")  # the approval was reported, and is gone now
        stack.at_the_machine("dismiss", talk.id, "the record was put right")
        is_told(stack, "")
        newer = stack.folder / "newest.zip"
        stack.at_the_machine("export", talk.id, str(newer))
        words = (sys.executable, str(ROOT / "audit" / "verify.py"), str(newer), "--key", key, "--held", str(out))
        told = subprocess.run(words, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stdout


@pytest.mark.alone
def test_c1_logs_of_staff_and_of_readers_regrown_past_their_signature_are_refused_by_name(stack: Stack):
    """Their superuser says in every table that nothing was ever longer, and grows them by hand."""
    reader = stack.supervisor()
    talk = stack.talk().greeted()
    reader.get(f"/sessions/{talk.id}/entries").must()
    with superuser(stack) as root:
        ((tenant,),) = root.run("SELECT id FROM people_tenant")
        today = datetime.now(UTC)
        logs = {
            "staff": str(staff.log_of(tenant, today)),
            "readers": str(access.log_of(tenant, f"user:{reader.id}", today)),
        }
        for name, log in logs.items():
            eventually(lambda log=log: root.sequenced(log), f"{name} is signed")
            root.copy(name, log)
            size = root.size(log)
            frontier = root.cut(log, size - 1)
            root.run("UPDATE audit_place SET size = %s, frontier = %s WHERE log = %s", size - 1, frontier, log)
            root.forge(log, size - 1, frontier, b"nothing was read", b"nobody was made", b"and more")
        is_told(stack, "head_altered")
        refused = eventually(lambda: _named(root, *logs.values()), "both are named")
        assert refused
        assert not any(root.sequenced(log) for log in logs.values())
        other = stack.talk().greeted()
        eventually(lambda: root.sequenced(other.id), "all other logs go on")
        for name, log in logs.items():
            root.put_back(name, log)
        is_told(stack, "")


def _named(root: Root, *logs: str) -> bool:
    ((detail,),) = root.run("SELECT trouble_detail FROM audit_gstate")
    return all(log in detail for log in logs)


UNMARK = """
CREATE FUNCTION attacks_unmark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.log = '{log}' THEN NEW.dirty_since := NULL; {more} END IF; RETURN NEW; END $$;
CREATE TRIGGER attacks_unmark BEFORE UPDATE ON audit_head FOR EACH ROW EXECUTE FUNCTION attacks_unmark();
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER attacks_unmark"""
PLACED = "UPDATE audit_place SET size = NEW.size, frontier = NEW.frontier WHERE log = NEW.log;"


@contextmanager
def unmarked(root: Root, log: str, more: str = "") -> Iterator[None]:
    """While inside, a trigger clears the mark of this log, and does more."""
    for each in UNMARK.format(log=UUID(log), more=more).split(";\nC"):
        root.run(each if each.lstrip().startswith("C") else f"C{each}")
    try:
        yield
    finally:
        root.run("DROP FUNCTION attacks_unmark CASCADE")


@pytest.mark.alone
def test_c1_a_decision_whose_mark_a_trigger_clears_is_signed_all_the_same(stack: Stack):
    with superuser(stack) as root:
        talk, request = waiting(stack)
        with unmarked(root, talk.id):
            request.decide(stack.supervisor(), "reject").must()
            eventually(lambda: root.sequenced(talk.id), "signed", 60)
        assert health(stack)["trouble"] == ""


@pytest.mark.alone
def test_c1_a_decision_that_a_trigger_keeps_from_the_signature_is_an_alarm(stack: Stack):
    """The trigger says in every table that the decision was sequenced: nothing in the database is due."""
    with superuser(stack) as root:
        talk, request = waiting(stack)
        eventually(lambda: root.sequenced(talk.id), "signed")
        (place,) = root.run("SELECT size, frontier FROM audit_place WHERE log = %s", talk.id)
        with unmarked(root, talk.id, PLACED):
            request.decide(stack.supervisor(), "reject").must()
            is_told(stack, "decision_unsigned", 90)
        root.run("UPDATE audit_place SET size = %s, frontier = %s WHERE log = %s", *place, talk.id)
        is_told(stack, "")


def published(stack: Stack) -> Json | None:
    """Key and origin of the log, as they are served; None while nobody answers."""
    try:
        answer = httpx.get(f"{stack.url.rstrip('/')}/log/key", timeout=20)
    except httpx.TransportError:
        return None
    return dict(answer.json()) if answer.status_code == 200 else None


def monitored(stack: Stack, folder: str, *words: str, key: str = "") -> subprocess.CompletedProcess[str]:
    key = key or eventually(lambda: published(stack), "the key of the log is served", 90)["key"]
    run = (
        sys.executable,
        str(ROOT / "audit" / "monitor.py"),
        f"{stack.url.rstrip('/')}/log",
        "--key",
        key,
        "--state",
        folder,
        "--once",
    )
    return subprocess.run((*run, *words), capture_output=True, text=True, check=False)


def test_h1_a_monitor_beside_everything_accuses_nobody(stack: Stack):
    folder = str(stack.folder / "monitor")
    for number in range(4):
        talk = stack.talk().greeted()
        if number % 2:
            talk.end()
        told = monitored(stack, folder)
        assert told.returncode == 0, told.stdout + told.stderr


def test_h1_a_log_under_another_key_is_not_the_one_that_is_followed(stack: Stack):
    from tests.core.tlog_world import STRANGER

    stack.talk().greeted()
    origin = httpx.get(f"{stack.url.rstrip('/')}/log/key").json()["origin"]
    STRANGER.origin = origin
    told = monitored(stack, str(stack.folder / "stranger"), key=STRANGER.vkey())
    assert (told.returncode, "not the log I follow" in told.stdout) == (4, True), told.stdout


@pytest.mark.alone
def test_h1_a_monitor_accuses_nobody_where_signer_and_sequencer_were_killed_between_its_looks(stack: Stack):
    folder = str(stack.folder / "patient")
    for name in ("sequencer", "signer", "postgres"):
        stack.talk().greeted()
        told = monitored(stack, folder)
        assert told.returncode == 0, told.stdout + told.stderr
        stack.up.kill(name)
    stack.talk().greeted()
    eventually(lambda: monitored(stack, folder).returncode == 0, "nobody is accused")
