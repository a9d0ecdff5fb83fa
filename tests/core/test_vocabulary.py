"""Every command and every kind of event has a row in the table of doors, and no row is of something that is gone."""

from __future__ import annotations

from agentstate.engine import decide
from agentstate.engine import events as ev
from agentstate.engine.handlers import command_handler
from agentstate.engine.profile import commands as profile_commands
from agentstate.engine.profile import events as profile_events
from tests import vocabulary

COMMANDS = {command.__name__ for command in command_handler}


def test_every_command_comes_from_a_person_or_from_the_runtime_and_the_table_says_how() -> None:
    assert set(vocabulary.OPERATIONS) | set(vocabulary.RUNTIME) == COMMANDS
    assert not set(vocabulary.OPERATIONS) & set(vocabulary.RUNTIME)


def test_every_command_that_is_declared_has_a_rule() -> None:
    assert {command.__name__ for command in decide.Command.__subclasses__()} == COMMANDS


def test_every_kind_of_event_has_a_page_where_a_supervisor_looks() -> None:
    assert set(vocabulary.PAGES) == set(ev.KINDS)


def test_every_command_to_a_profile_has_a_door() -> None:
    declared = {command.__name__ for command in profile_commands.ProfileCommand.__subclasses__()}
    assert set(vocabulary.PROFILE_OPERATIONS) | set(vocabulary.PROFILE_RUNTIME) == declared
    assert not set(vocabulary.PROFILE_OPERATIONS) & set(vocabulary.PROFILE_RUNTIME)


def test_every_kind_of_a_profile_has_a_page() -> None:
    assert set(vocabulary.PROFILE_PAGES) == set(profile_events.KINDS)
