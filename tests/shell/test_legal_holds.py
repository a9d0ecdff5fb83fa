"""A legal hold: which erasures it blocks, and until when."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentstate.clock import now
from agentstate.people.permissions import PermissionDenied
from audit import erasure, holds
from sessions.core import states
from sessions.privacy import commands
from sessions.privacy import erasure as erasing
from sessions.privacy import queries as privacy
from tests import cast
from tests.shell.bank_world import CUSTOMER, opened
from tests.shell.erasure_world import approved, entries_of_staff

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])


def test_a_hold_blocks_an_erasure_until_it_is_lifted(at_once):
    session = opened()
    hold = commands.set_hold(cast.petra(), customer=CUSTOMER, reason="a case at court")
    approved()
    assert erasing.carry_out_due() == 0
    assert [each.state for each in privacy.erasures(cast.paul())] == ["blocked"]
    assert states.load(session).state.opened.customer == CUSTOMER
    commands.lift_hold(cast.paul(), hold.pk)
    assert erasing.carry_out_due() == 1
    assert [len(entries_of_staff(kind)) for kind in ("hold.set", "hold.lifted")] == [1, 1]


def test_a_hold_on_one_session_blocks_all_who_are_in_it_and_ends_by_itself(at_once, monkeypatch):
    session = opened()
    until = now() + timedelta(hours=1)
    commands.set_hold(cast.petra(), session=session, whole=False, reason="a case", until=until)
    approved()
    assert erasing.carry_out_due() == 0
    monkeypatch.setattr(holds, "now", lambda: until + timedelta(seconds=1))
    assert erasing.carry_out_due() == 1


def test_a_hold_comes_too_late_once_the_erasure_has_begun():
    session = opened()
    erasure.close(approved())
    with pytest.raises(holds.TooLate):
        commands.set_hold(cast.petra(), session=session, reason="a case at court")


def test_who_may_not_hold_is_refused_and_a_stranger_finds_no_hold():
    opened()
    hold = commands.set_hold(cast.petra(), customer=CUSTOMER, reason="a case at court")
    with pytest.raises(PermissionDenied):
        commands.set_hold(cast.alice(), customer=CUSTOMER, reason="so it is")
    with pytest.raises(holds.UnknownHold):
        commands.lift_hold(cast.charlie(), hold.pk)


def test_a_hold_is_shown_where_the_sessions_ledger_is_read():
    session = opened()
    address = f"/sessions/{session}/audit/"
    assert b"Legal hold" not in cast.browser(cast.alice()).get(address).content
    commands.set_hold(cast.petra(), customer=CUSTOMER, reason="case 12 at court")
    shown = cast.browser(cast.alice()).get(address).content
    assert b"Legal hold" in shown
    assert b"case 12" not in shown
