"""What a process remembers of sessions is bounded in bytes and never older than what it knew before."""

from __future__ import annotations

from uuid import uuid4

import pytest

from agentstate.engine.conversation import Item
from agentstate.engine.state.session import SessionState
from agentstate.errors import Broken
from audit import ledger
from audit.ledger import Head
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.core.projections import Place
from tests import cast
from tests.shell.attack_world import Superuser
from tests.shell.bank_world import opened, say, state, work


def loaded(size: int = 1, text: str = "", session=None) -> states.Loaded:
    place = Place(session or uuid4(), uuid4(), uuid4(), uuid4())
    state = SessionState(seq=size, items=(Item(seq=0, role="customer", text=text),))
    return states.Loaded(place, Head(place.id, place.tenant, size, b""), state)


def held(memory, *each: states.Loaded) -> list[bool]:
    return [memory.get(one.place.id) is one for one in each]


def test_long_conversations_take_the_room_of_several_short_ones(settings):
    settings.STATE_CACHE_BYTES = 4 * states.STATE_BYTES
    memory, short, other, long = states._Memory(), loaded(), loaded(), loaded(text="x" * (states.STATE_BYTES * 2 // 3))
    for each in (short, other, long):  # 1 + 1 + 3 of 4
        memory.put(each)
    assert held(memory, short, other, long) == [False, True, True]


def test_the_one_unused_longest_goes_first(settings):
    settings.STATE_CACHE_BYTES = 2 * states.STATE_BYTES
    memory, first, second, third = states._Memory(), loaded(), loaded(), loaded()
    memory.put(first)
    memory.put(second)
    assert memory.get(first.place.id) is first
    memory.put(third)
    assert held(memory, first, second, third) == [True, False, True]


def test_an_older_state_replaces_no_newer_one():
    memory, session = states._Memory(), uuid4()
    newer, older = loaded(5, session=session), loaded(4, session=session)
    memory.put(newer)
    memory.put(older)
    assert held(memory, newer) == [True]


@pytest.mark.django_db(transaction=True)
def test_a_gap_in_what_was_read_with_the_head_is_no_state(bank):
    session = opened()
    say(session, "Hello!")
    at, rows = states.load(session), list(ledger.read_rows(session))
    gone = [row for row in rows if row.seq != at.head.size - 2]
    with pytest.raises(Broken):
        states._folded(at.place, SessionState(), at.head.size, gone)


@pytest.mark.django_db(transaction=True)
def test_a_cold_state_is_the_hot_one_with_and_without_a_snapshot(bank):
    session = opened()
    say(session, "What is my balance?")
    for keep in (lambda: None, lambda: states.keep_snapshot(states.load(session)), lambda: say(session, "Thanks.")):
        keep()
        hot = states.load(session)
        states.forget_all()
        assert states.load(session) == hot


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("more", [(), ("and more",)])
def test_a_database_put_back_to_another_history_is_read_anew(more, bank, test_database):
    """What this process remembers is of the right size or older, and not the beginning of what is there now."""
    session, superuser = opened(), Superuser(test_database)
    before = states.load(session)
    say(session, "What was taken back.")
    remembered = states.load(session)
    superuser.drop(session, *range(before.head.size, remembered.head.size))
    superuser.rehash(session)
    superuser.run("DELETE FROM audit_receipt WHERE log = %s", session)
    superuser.run("UPDATE agent_sessions_agentsession SET seq = %s WHERE id = %s", before.head.size, session)
    superuser.run("DELETE FROM agent_sessions_snapshot WHERE session = %s", session)
    states.forget_all()
    for text in ("What was said in its place.", *more):
        say(session, text)
    present = states.load(session)
    assert (present.head.size > remembered.head.size) == bool(more)
    states.forget_all()
    states.remember(remembered)
    assert states.load(session).state == present.state
    assert "What was taken back." not in [item.text for item in states.load(session).state.items]


@pytest.mark.django_db(transaction=True)
def test_a_worker_tries_nothing_on_a_state_that_its_claim_showed_to_be_old(bank, monkeypatch):
    session = opened()
    say(session, "Hello!")
    old = states.recall(session)
    conversation_commands.say(cast.cleo(), session, "What is my balance?")
    states.forget_all()
    states.remember(old)
    tried = []
    monkeypatch.setattr(
        "sessions.core.commit._if_it_still_holds", lambda lease, held, steps: tried.append(held.head.size)
    )
    work()
    assert old.head.size not in tried
    assert state(session).items[-1].role == "agent"


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_is_written_by_the_commit_that_it_is_due_with(bank, settings, monkeypatch):
    settings.SNAPSHOT_EVERY = 2
    monkeypatch.setattr(states, "keep_snapshot", lambda loaded: pytest.fail("a commit of its own"))
    session = opened()
    for words in ("Hello!", "What is my balance?"):  # a person's commit and a worker's
        conversation_commands.say(cast.cleo(), session, words)
        assert states.load(session).head.size - states.kept_snapshot(session).seq < 2
        work()
        assert states.load(session).head.size - states.kept_snapshot(session).seq < 2
