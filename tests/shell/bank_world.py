"""Builders for sessions at the bank, over the real commands: a caller, a scripted agent, a legacy database.

The authorization service is a real process's HTTP server, started in this process's thread by the fixture `bank`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from agentstate.engine import policy as pol
from agentstate.errors import Refused
from agentstate.people.models import User
from audit import ledger
from sessions.conversation import commands as conversation_commands
from sessions.core import entry_lines, states
from sessions.library import policies
from sessions.runtime import advance
from tests import cast

CUSTOMER = "C-1001"


def offering(scope: Any = "session") -> pol.Policy:
    """The bank's policy, with an offer to let large transfers through for what follows."""
    offer = pol.Sticky(scope, 3600, 3, "arguments.amount.minor <= granted.amount.minor")
    bank = policies.named("bank")
    rules = [replace(rule, sticky=offer) if rule.name == "transfer.large" else rule for rule in bank.rules]
    return pol.Policy("bank", 9, tuple(rules))


def opened(customer: str = CUSTOMER, by: User | None = None, **wishes: Any) -> UUID:
    """A session of the bank's agent, just opened."""
    wishes = {"agent": "bank", "channel": "phone", **wishes}
    return conversation_commands.start(by or cast.cleo(), customer=customer, **wishes).session


def say(session: UUID, text: str) -> None:
    """The customer speaks, and the worker does all that follows."""
    conversation_commands.say(cast.cleo(), session, text)
    work()


def work() -> None:
    """What a worker does on a wake-up."""
    advance.advance_ready()


def refused_codes(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[str]:
    """The codes with which the module's function of that name refuses from now on, also where its caller goes on."""
    real, codes = getattr(module, name), list[str]()

    def noting(*words: Any, **more: Any) -> Any:
        try:
            return real(*words, **more)
        except Refused as refusal:
            codes.append(refusal.code)
            raise

    monkeypatch.setattr(module, name, noting)
    return codes


def kinds(session: UUID) -> list[str]:
    """The kinds of the session's entries, in order."""
    return [ledger.parse_envelope(row.envelope).kind for row in ledger.read_rows(session)]


def events(session: UUID, kind: str) -> list[dict[str, Any]]:
    """The data of all entries of one kind."""
    lines = entry_lines.entries(cast.alice(), session, limit=500)
    return [line.data or {} for line in lines if line.kind == kind]


def state(session: UUID) -> Any:
    """The state as loaded."""
    return states.load(session).state
