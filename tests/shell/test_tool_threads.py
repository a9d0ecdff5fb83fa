"""Tools run in threads of their own: what was told as not done is not done later, and the state stays the ledger's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import msgspec
import pytest

from sessions.runtime import execution, running_calls
from sessions.tools import registry as tools
from sessions.web import rebuild
from tests.shell.bank_world import opened, say, state

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_tool_that_never_began_in_its_time_does_not_begin_later(bank, monkeypatch):
    """All threads are taken: the call is recorded as failed, so it must not run when a thread becomes free."""
    pool, free, ran = ThreadPoolExecutor(max_workers=1), Event(), []
    monkeypatch.setattr(running_calls, "_pool", pool)
    slow = msgspec.structs.replace(tools.find("load_customer"), timeout=0.05, run=lambda *_: ran.append("ran"))
    found = tools.find
    monkeypatch.setattr(execution.tools, "find", lambda name: slow if name == slow.name else found(name))
    pool.submit(free.wait)
    session = opened()
    say(session, "What is my balance?")
    (call,) = state(session).calls.values()
    assert call.attempt == 1
    assert call.retry_at
    free.set()
    pool.shutdown(wait=True)
    assert ran == []


def test_a_tool_gets_no_hold_of_the_state(bank, monkeypatch):
    """What a tool does to its arguments must not reach the remembered state, which is the ledger's fold."""
    found = tools.find

    def careless(arguments, _context):
        arguments["customer"] = "C-9999"
        return {"name": "x", "number": "1", "accounts": [], "interactions": []}

    tool = msgspec.structs.replace(found("load_customer"), run=careless)
    monkeypatch.setattr(execution.tools, "find", lambda name: tool if name == "load_customer" else found(name))
    session = opened()
    say(session, "What is my balance?")
    assert {call.tool for call in state(session).calls.values()} == {"load_customer"}
    assert "C-9999" not in repr(state(session).calls)
    assert rebuild.check(session) == []


def test_a_result_that_is_no_json_fails_its_call_by_name(bank, monkeypatch):
    found = tools.find
    for result in ({"x": "\ud800"}, {"x": object()}, {1j: 2}, {"x": "y" * execution.MAX_RESULT}):
        tool = msgspec.structs.replace(found("load_customer"), run=lambda *_, result=result: result)
        with monkeypatch.context() as patched:
            patched.setattr(execution.tools, "find", lambda name, tool=tool: tool if name == tool.name else found(name))
            session = opened()
            say(session, "What is my balance?")
        assert {call.status.value for call in state(session).calls.values()} == {"failed"}
