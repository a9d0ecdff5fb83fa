"""The tables of events and of their handlers are complete, and the same in whatever order modules are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agentstate.engine import decide
from agentstate.engine import events as ev
from agentstate.engine.handlers import Handlers, command_handler, event_handler
from agentstate.engine.state import evolution, snapshot
from agentstate.errors import Broken

FORM = "0bae2adc0161e1f1"  # raised deliberately: every stored snapshot of another form is folded anew


def test_every_kind_of_event_has_a_function_that_changes_the_state():
    assert evolution.event_handler is event_handler
    assert set(ev.EVENTS) <= set(event_handler)


def test_every_command_has_a_rule_and_a_name_in_the_package():
    assert set(decide.Command.__subclasses__()) == set(command_handler)
    assert all(getattr(decide, command.__name__) is command for command in command_handler)


def test_two_functions_for_one_type_are_refused():
    handlers = Handlers("event")
    handlers(ev.MessageAdded)(lambda state, event, at: state)
    with pytest.raises(Broken, match="two functions handle the event MessageAdded"):
        handlers(ev.MessageAdded)(lambda state, event, at: state)


def test_a_type_without_a_function_is_refused_by_name():
    with pytest.raises(Broken, match="no function handles the event MessageAdded"):
        Handlers("event").of(ev.MessageAdded)


@pytest.mark.parametrize(
    "first", ["events.versions", "profile.events", "state.goals", "decide.calls", "state.snapshot"]
)
def test_the_vocabulary_is_the_same_whatever_is_imported_first(first):
    probe = f"import agentstate.engine.{first}; from agentstate.engine import events as ev; print(*ev.KINDS)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(ev.KINDS)


def test_the_form_of_snapshots_changes_deliberately():
    assert snapshot.form() == FORM
