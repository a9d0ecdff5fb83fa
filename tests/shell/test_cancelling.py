"""Cancelling reaches what runs; what comes late changes nothing; threads and people's time are accounted for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import msgspec
import pytest

from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.models.sessions import AgentSession, Slot
from sessions.outside.cancellation import Stop
from sessions.runtime import execution, running_calls
from sessions.runtime.drain import drain
from sessions.tools import registry as tools
from sessions.tools.http import calls as running
from sessions.tools.http import description
from sessions.tools.registry import ToolContext
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from sessions.web import rebuild
from tests import cast
from tests.processes import eventually
from tests.shell.bank_world import events, kinds, say, state, work
from tests.shell.hostile_http import Hostile
from tests.shell.side_by_side_world import proposed, ran, told
from tests.shell.test_contention import in_thread

HANGING = b"""{"name": "hanging", "version": 1, "description": "Asks one that says nothing.", "effect": "pure",
 "arguments": {"type": "object", "additionalProperties": false}, "result": {"type": "object"}, "timeout": 50,
 "request": {"url": "http://127.0.0.1:PORT/hang"}}"""
pytestmark = pytest.mark.django_db(transaction=True)


class Watched:
    """What a tool of the test saw of its context."""

    def __init__(self) -> None:
        self.began, self.told, self.over = threading.Event(), threading.Event(), threading.Event()
        self.workers = list[threading.Thread]()

    def run(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        self.began.set()
        until = time.monotonic() + 10.0
        while not self.over.is_set() and time.monotonic() < until:
            if context.stop.wait(0.02):
                assert context.cancelled()
                self.told.set()
                break
        return {"name": "late"}


def in_place_of(monkeypatch: pytest.MonkeyPatch, name: str, **changes: Any) -> None:
    """The tool, changed for this test."""
    found = tools.find
    changed = msgspec.structs.replace(found(name), **changes)
    monkeypatch.setattr(execution.tools, "find", lambda wanted: changed if wanted == name else found(wanted))


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """Afterwards its tool ends and its workers have: the database under them is renewed."""
    seen = Watched()
    in_place_of(monkeypatch, "wait", run=seen.run, timeout=30.0)
    yield seen
    seen.over.set()
    for worker in seen.workers:
        worker.join(15)
        assert not worker.is_alive()


@pytest.fixture(autouse=True)
def _goes_on() -> Iterator[None]:
    yield
    drain.forget()


def at_work(watched: Watched) -> tuple[UUID, threading.Thread]:
    """A session whose tool runs, and the worker's thread."""
    session = told((proposed("wait", "a"),))
    conversation_commands.say(cast.cleo(), session, "Go.")
    thread = in_thread(work)
    watched.workers.append(thread)
    assert watched.began.wait(10)
    return session, thread


def stop_it(session: UUID) -> None:
    conversation_commands.cancel(cast.alice(), session, "opened by mistake")


def put_it_back(session: UUID) -> None:
    seen = versions_queries.rollback_preview(cast.alice(), session, 2)
    versions_commands.roll_back(cast.alice(), session, 2, seen=seen.digest, reason="another way")


@pytest.mark.parametrize("act", [stop_it, put_it_back])
def test_a_running_tool_is_told_and_what_it_gives_is_recorded_and_changes_nothing(watched, act: Callable):
    session, thread = at_work(watched)
    act(session)
    before = state(session)
    assert watched.told.wait(5), "the tool saw that nobody waits any more"
    thread.join(10)
    returned = events(session, "tool.returned")
    assert [event["result"] for event in returned] == [{"name": "late"}]
    assert state(session).pad == before.pad
    assert state(session).epoch == before.epoch
    assert rebuild.check(session) == []


@pytest.mark.parametrize("act", [stop_it, put_it_back])
def test_a_call_over_http_is_cut_when_nobody_waits_any_more_and_recorded_as_cancelled(monkeypatch, settings, act):
    hostile, settings.OUTSIDE_NETWORKS = Hostile(), ["127.0.0.1"]
    asks = running.tool_of(description.load(HANGING.replace(b"PORT", str(hostile.port).encode())))
    in_place_of(monkeypatch, "wait", run=asks.run, timeout=60.0)
    session = told((proposed("wait", "a"),))
    conversation_commands.say(cast.cleo(), session, "Go.")
    thread = in_thread(work)
    eventually(lambda: hostile.seen, what="it is asked")
    act(session)
    thread.join(15)
    eventually(lambda: hostile.left == [b""], what="the other side sees that we have gone")
    assert [event["code"] for event in events(session, "tool.failed")] == ["cancelled"]
    hostile.stop()


def test_a_tool_that_is_not_cancelled_sees_nothing(watched):
    session, thread = at_work(watched)
    assert not watched.told.wait(0.5)
    stop_it(session)
    thread.join(10)


def test_what_ends_a_wait_is_called_at_once_also_when_it_is_handed_over_too_late():
    stop, ended = Stop(), list[str]()
    with stop.calling(lambda: ended.append("during")):
        stop.set()
    with stop.calling(lambda: ended.append("after")):
        pass
    stop.set()
    assert ended == ["during", "after"]


def test_threads_that_never_end_are_counted_and_named_and_the_process_asks_to_be_replaced(monkeypatch, caplog):
    free, asked = threading.Event(), list[str]()
    monkeypatch.setattr(running_calls, "MAX_ABANDONED", 1)
    monkeypatch.setattr(running_calls.abandoned, "too_many", asked.append)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(free.wait) for _ in range(2)]
        eventually(lambda: all(each.running() for each in running))
        for future in running:
            running_calls.abandoned.add(future, "wait")
        assert running_calls.abandoned.tools() == ["wait", "wait"]
        assert asked == ["2 tools do not end"]
        assert "2 tools do not end: wait" in caplog.text
        free.set()
    eventually(lambda: not running_calls.abandoned.tools())


def test_the_time_that_people_think_is_no_time_of_the_tool(monkeypatch):
    """`act` may take 50 ms; its reviewer takes longer, and it runs all the same, with all of its time."""
    in_place_of(monkeypatch, "act", timeout=0.05)
    session = told((proposed("act", "a"),))
    say(session, "Go.")
    time.sleep(0.3)
    (line,) = [each for each in approvals_queries.requests(cast.alice()) if each.session == session]
    approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("approve"))
    work()
    assert ran.names == ["a"]
    assert kinds(session).count("tool.returned") == 1


def test_a_call_without_a_place_holds_no_thread_and_goes_on_when_one_is_given_back(settings):
    settings.LIMITS = {"tool:wait": 1}
    first = told((proposed("wait", "a"), proposed("wait", "b")))
    say(first, "Go.")
    assert (ran.names, ran.most) == (["a", "b"], 1)
    assert Slot.objects.count() == 0
    assert rebuild.check(first) == []


def test_a_session_that_waits_for_a_place_is_woken_by_whoever_gives_one_back(watched, settings):
    settings.LIMITS = {"tool:wait": 1}
    _, thread = at_work(watched)
    second = told((proposed("wait", "b"),), customer="C-1002")
    conversation_commands.say(cast.cleo(), second, "Go.")
    work()
    row = AgentSession.objects.get(pk=second)
    assert (row.stalled, row.lease_until) == ("limit tool:wait", None)
    watched.over.set()
    thread.join(10)
    assert ran.names == []
    eventually(lambda: (work(), kinds(second).count("tool.intended"))[1] == 1, 5)


def test_a_worker_that_drains_takes_nothing_on(watched):
    drain.begin("test")
    session = told((proposed("wait", "a"),))
    conversation_commands.say(cast.cleo(), session, "Go.")
    work()
    assert not watched.began.is_set()
    row = AgentSession.objects.get(pk=session)
    assert (row.lease_until, row.ready_at is not None) == (None, True)


def test_a_worker_that_drains_awaits_what_runs_for_its_time_then_gives_the_lease_back(watched, settings):
    settings.DRAIN_SECONDS = 0.3
    session, thread = at_work(watched)
    drain.begin("test")
    thread.join(5)
    row = AgentSession.objects.get(pk=session)
    assert (row.lease_until, row.holder) == (None, None)
    assert row.ready_at is not None, "due at once, for another worker"
    assert watched.told.wait(5)
    drain.forget()
    watched.began.clear()
    conversation_commands.cancel(cast.alice(), session, "done here")


def test_what_ends_while_its_worker_drains_is_recorded(monkeypatch, settings):
    settings.DRAIN_SECONDS = 5.0
    session = told((proposed("wait", "a", milliseconds=500), proposed("wait", "b", milliseconds=500)))
    conversation_commands.say(cast.cleo(), session, "Go.")
    thread = in_thread(work)
    eventually(lambda: len(ran.names) == 2)
    drain.begin("test")
    thread.join(10)
    assert kinds(session).count("tool.returned") == 2
    assert kinds(session).count("model.requested") == 1, "nothing new was begun"


def test_a_session_takes_its_cheap_steps_without_another_message(monkeypatch):
    from sessions.core import announcements

    hints = []
    monkeypatch.setattr(announcements, "wake_worker", lambda: hints.append("hint"))
    session = told(*[(proposed("wait", str(number)),) for number in range(5)])
    conversation_commands.say(cast.cleo(), session, "Go.")
    asked = len(hints)
    work()
    assert kinds(session).count("tool.returned") == 5
    assert len(hints) == asked
