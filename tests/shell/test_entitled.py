"""A decision counts only from somebody entitled at that instant, and only on what they were shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait

import msgspec
import pytest
from django.db import connections, transaction

from agentstate.engine.decide import Outdated
from agentstate.errors import Refused
from agentstate.people import commands as people
from agentstate.people.roles import Role
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.core import states
from sessions.web import rebuild
from tests import cast
from tests.shell import pages
from tests.shell.bank_world import opened, say, work

pytestmark = pytest.mark.django_db(transaction=True)


def asked(bank) -> approvals_queries.RequestLine:
    session = opened()
    say(session, "Move $900.00 from savings to checking.")
    say(session, "Yes.")
    return next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)


def approves(user, request) -> object:
    try:
        return approvals_commands.decide(user, request, approvals_commands.Decision("approve"))
    finally:
        connections.close_all()


@pytest.mark.parametrize("revoked", ["disabled", "role removed"])
def test_who_lost_the_right_while_waiting_for_the_session_decides_nothing(bank, revoked):
    line, bob = asked(bank), cast.bob()
    with transaction.atomic():
        states.load(line.session, lock=True)  # somebody else is at this session
        waiting = ThreadPoolExecutor(max_workers=1).submit(approves, bob, line.id)
        assert not wait([waiting], timeout=0.5).done
        with ThreadPoolExecutor(max_workers=1) as office:
            office.submit(_revoke, bob, revoked).result()
    with pytest.raises(Refused):
        waiting.result(timeout=10)
    assert approvals_queries.request_line(cast.alice(), line.id).state == "pending"


def _revoke(user, how: str) -> None:
    try:
        if how == "disabled":
            people.disable(user, None)
        else:
            people.remove_role(user, cast.retail(), Role.SUPERVISOR, None)
    finally:
        connections.close_all()


@pytest.fixture
def of_two(monkeypatch):
    """The bank's policy with two people behind every transfer."""
    policy = registry.policy_named("bank")
    rules = tuple(msgspec.structs.replace(rule, quorum=2) for rule in policy.rules)
    monkeypatch.setattr(registry, "policy_named", lambda _name: msgspec.structs.replace(policy, rules=rules))


def moved(bank, before: list) -> list[int]:
    return [amount for amount, _ in bank.transfers("C-1001")[len(before) :]]


def test_what_one_person_edited_a_second_approves_as_edited_or_not_at_all(bank, of_two):
    line, before = asked(bank), bank.transfers("C-1001")
    corrected = {**line.arguments, "amount": {"minor": 80000, "currency": "USD"}}
    approvals_commands.decide(
        cast.alice(),
        line.id,
        approvals_commands.Decision("edit", reason="misheard", arguments=corrected, seen=line.digest),
    )
    with pytest.raises(Outdated):
        approvals_commands.decide(cast.bob(), line.id, approvals_commands.Decision("approve", seen=line.digest))
    with pytest.raises(Outdated):
        approvals_commands.decide(cast.bob(), line.id, approvals_commands.Decision("approve"))
    now = approvals_queries.request_line(cast.bob(), line.id)
    assert (now.state, now.approvals, now.arguments) == ("pending", 1, corrected)
    approvals_commands.decide(cast.bob(), line.id, approvals_commands.Decision("approve", seen=now.digest))
    work()
    assert moved(bank, before) == [80000]
    assert rebuild.check(line.session) == []


def test_the_page_shows_a_second_person_what_the_first_edited_and_approves_that(bank, of_two):
    line, before = asked(bank), bank.transfers("C-1001")
    corrected = {**line.arguments, "amount": {"minor": 80000, "currency": "USD"}}
    approvals_commands.decide(
        cast.alice(),
        line.id,
        approvals_commands.Decision("edit", reason="misheard", arguments=corrected, seen=line.digest),
    )
    bob, address = cast.browser(cast.bob()), f"/decisions/{line.id}/"
    form = {
        node.attrs["name"]: node.attrs.get("value", "")
        for node in pages.read(bob.get(address).content).all("input")
        if "name" in node.attrs
    }
    assert form["arg.amount"] == "800.00"
    assert bob.post(address, {**form, "seen": line.digest, "decision": "approve"}).status_code == 409
    assert bob.post(address, {**form, "decision": "approve"}).status_code == 302
    work()
    assert moved(bank, before) == [80000]
