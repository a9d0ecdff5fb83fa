"""Rollbacks and changes while workers and colleagues are at it: what runs is recorded, what is changed is merged."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from agentstate.engine import events as ev
from agentstate.engine.decide.refusals import Outdated
from agentstate.engine.merge.three_way import PathChange
from audit import ledger
from sessions.conversation import commands as conversation_commands
from sessions.core import history, states
from sessions.models.sessions import Taught
from sessions.profiles import learning
from sessions.state import commands as state_commands
from sessions.tools import registry
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.web import rebuild
from tests import cast
from tests.shell.bank_world import kinds, opened, say, state, work
from tests.shell.test_versions import back, first, moved
from tests.shell.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_tool_that_runs_while_the_session_goes_back_is_recorded_and_changes_nothing(bank, monkeypatch):
    session = opened()
    work()
    tool, done = registry.find("authorize"), []

    def put_back_meanwhile(arguments: dict[str, Any], context: Any) -> dict[str, Any]:
        if not done:
            done.append(context.call)
            back(session, 2)
        return tool.run(arguments, context)

    monkeypatch.setitem(registry._registry, "authorize", msgspec.structs.replace(tool, run=put_back_meanwhile))
    say(session, "I want to move $400.00 from savings to checking.")
    say(session, "Yes, that is right.")
    (late,) = [
        ledger.parse_envelope(row.envelope)
        for row in ledger.read_rows(session)
        if isinstance(event := ev.decode(ledger.open_row(row)[1]), ev.ToolReturned) and event.call == done[0]
    ]
    assert late.ref >= 0
    assert late.seq > first(session, "session.rolled_back")
    before, after = states.as_of(session, late.seq), states.as_of(session, late.seq + 1)
    assert (before.pad, before.calls) == (after.pad, after.calls)
    assert state(session).versions.late == {}
    assert len(bank.transfers("C-1001")) == 0
    assert rebuild.check(session) == []


def test_what_is_supposed_in_a_fork_teaches_no_profile(bank):
    session = moved()
    child = versions_commands.fork(cast.alice(), session, reason="what if").session
    conversation_commands.say(cast.alice(), child, "Always be brief with me, please.")
    work()
    learning.teach_all({child})
    assert not Taught.objects.filter(session=child).exists()
    assert history.speaks_from(child) > states.load(child).head.size
    versions_commands.promote(cast.alice(), child, reason="better")
    assert history.speaks_from(child) == first(child, "fork.promoted")
    assert history.speaks_from(session) == 0


def test_colleagues_who_note_at_once_lose_no_note(bank):
    session = opened()
    work()
    seen, people = state(session).seq, [cast.alice(), cast.bob()]

    def note(number: int) -> None:
        change = PathChange("state.notes", [f"note {number}"])
        state_commands.change_state(people[number % 2], session, seen=seen, changes=[change])

    at_once(*(partial(note, number) for number in range(4)))
    assert sorted(state(session).pad["notes"]) == [f"note {number}" for number in range(4)]
    assert kinds(session).count("state.changed") == 4
    assert rebuild.check(session) == []


def test_a_rollback_and_a_worker_at_once_leave_a_lawful_log(bank):
    session = opened()
    work()
    conversation_commands.say(cast.cleo(), session, "I want to move $400.00 from savings to checking.")
    alice = cast.alice()
    at_once(work, partial(_back_if_it_can, session, alice))
    work()
    assert states.load(session).state == states.fold_all(session, states.load(session).head.size)
    assert rebuild.check(session) == []


def _back_if_it_can(session: Any, user: Any) -> None:

    for _ in range(20):
        shown = versions_queries.rollback_preview(user, session, 2)
        try:
            versions_commands.roll_back(user, session, 2, seen=shown.digest, reason="at once")
            return
        except Outdated:
            continue
