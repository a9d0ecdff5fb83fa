"""A worker in a tight loop and people on the same session: nobody starves, nothing deadlocks, the log stays whole."""

from __future__ import annotations

import threading

import pytest
from django.db import connections, transaction

from agentstate.engine.decide import Say
from audit import ledger
from audit.tlog import tree
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.core.commit import run_commands, step
from sessions.core.committed import Lease, LeaseLost
from sessions.models.sessions import AgentSession
from tests import cast
from tests.shell.bank_world import opened

pytestmark = pytest.mark.django_db(transaction=True)


def leased(session) -> Lease:
    AgentSession.objects.filter(pk=session).update(fence=7)
    return Lease(session, 7)


def in_thread(work) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_people_get_through_beside_a_busy_worker_and_nothing_deadlocks():
    session = opened()
    lease, caller, done = leased(session), cast.cleo(), threading.Event()
    failures: list[BaseException] = []

    def worker() -> None:
        try:
            while not done.is_set():
                run_commands(lease, [step(Say("note", "working", "agent:bank"))])
        except BaseException as error:
            failures.append(error)

    busy = in_thread(worker)
    for number in range(60):
        conversation_commands.say(caller, session, f"word {number}")
    done.set()
    busy.join()
    assert failures == []
    rows = list(ledger.read_rows(session))
    assert [row.seq for row in rows] == list(range(len(rows)))
    assert ledger.read_head(session).root == tree.root_of([tree.leaf_hash(row.envelope) for row in rows])


def test_a_worker_that_was_taken_over_commits_nothing():
    session = opened()
    zombie = leased(session)
    AgentSession.objects.filter(pk=session).update(fence=8)
    before = ledger.read_head(session)
    with pytest.raises(LeaseLost):
        run_commands(zombie, [step(Say("note", "still here", "agent:bank"))])
    assert ledger.read_head(session) == before


def test_a_command_inside_of_a_transaction_is_refused_because_it_could_still_be_undone():
    """What it would announce and remember would be told before it is true."""
    session = opened()
    with pytest.raises(RuntimeError), transaction.atomic():
        conversation_commands.say(cast.cleo(), session, "perhaps")
    with pytest.raises(RuntimeError), transaction.atomic():
        opened()


def test_a_slow_thread_brings_no_older_state_back():
    session = opened()
    older = states.load(session)
    conversation_commands.say(cast.cleo(), session, "newer")
    newest = states.recall(session)
    states.remember(older)
    assert states.recall(session) is newest
