"""What the running system hands to `decide`: values, and nothing that reaches outside while it decides."""

from __future__ import annotations

import pytest

from agentstate.engine import decide as core
from agentstate.engine.decide.commands.plans import ProposePlan
from agentstate.errors import Invalid
from sessions.agents import registry
from tests.core import worlds
from tests.core.test_decide_reads_nothing import handed, nothing_outside


def test_what_the_running_system_hands_in_reaches_outside_nowhere():
    world = worlds.opened()
    given = registry.context_for("bank", worlds.START)
    with nothing_outside(), pytest.raises(Invalid, match="unknown_delegate"):
        core.decide(ProposePlan(handed("greet"), "user:sue"), world.state, given)
