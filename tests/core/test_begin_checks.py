"""The checks that an allowed call passes before it begins: each is needed, and they come in a fixed order."""

from __future__ import annotations

from agentstate.engine.decide import calls

ORDER = """
    retries_are_over activity_is_gone person_rejected_it chart_forbids_it policy_refuses_it it_is_held_back
    evidence_is_unreadable result_has_no_place plan_call_is_tried_again terms_have_changed plan_was_shaken
"""


def test_the_checks_come_in_this_order():
    assert [check.__name__.removeprefix("_") for check in calls.CHECKS] == ORDER.split()


def test_each_check_says_what_it_protects():
    assert all(check.__doc__ for check in calls.CHECKS)
