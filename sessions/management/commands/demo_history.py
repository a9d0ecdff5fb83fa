"""`manage.py demo_history`: something for the demo's auditor and privacy officer to find. Once, for `up --demo`.

A former customer who asked to be erased (asked for by one person, approved by another, carried out by the worker), a
call that a legal hold keeps, an export that stands in the access log, and for how long words are kept. All but that
term goes through the commands that people use.
"""

from __future__ import annotations

import io
from typing import Any
from uuid import UUID

from agentstate.people.management.at_the_machine import PeopleCommand
from agentstate.people.models import User
from agentstate.people.queries import person, the_tenant
from audit import retention
from audit.erasure import State
from audit.models import ErasureRequest
from audit.retention import Class, Rule, Schedule
from sessions.conversation import commands as conversation_commands
from sessions.exports import session as export
from sessions.privacy import commands as erasure

FORMER, DISPUTED = "C-1095", "C-1093"
KEPT = Schedule((Class("calls", 365),), (Rule("calls"),))


class Command(PeopleCommand):
    help = "Leave an erasure, a legal hold, an export and a retention rule in a demo that has none. For `up --demo`."

    def handle(self, *_: Any, **__: Any) -> None:
        if ErasureRequest.objects.filter(tenant=the_tenant().pk).exists():
            return
        caller, supervisor, privacy = (person(name) for name in ("caller", "supervisor", "privacy"))
        former = called(caller, FORMER, "Please close my account. I have moved to another bank.")
        asked = erasure.ask_erasure(
            supervisor, session=former, basis="no_longer_needed", reason="Closed the account, asked in writing."
        )
        erasure.rule_erasure(privacy, asked.pk, State.APPROVED)
        disputed = called(caller, DISPUTED, "I did not make that transfer on Monday, and I want it back.")
        erasure.set_hold(privacy, session=disputed, reason="Disputed transfer, case 2026-118.")
        retention.put(privacy.tenant_id, KEPT, privacy.actor)  # what a new organization begins with
        export.write(supervisor, disputed, io.BytesIO())


def called(caller: User, customer: str, said: str) -> UUID:
    """A short call that has ended."""
    key = f"history-{customer}"
    session = conversation_commands.start(caller, customer=customer, agent="bank", channel="phone", key=key).session
    conversation_commands.say(caller, session, said)
    conversation_commands.end(caller, session, "The caller hung up.")
    return session
