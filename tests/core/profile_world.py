"""A customer of the bank and what is known of them, in memory: the real declaration, rules and mapping."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agentstate.engine import profile
from agentstate.engine.instants import stamp
from agentstate.engine.profile import Happening, ProfileState
from agentstate.engine.profile import commands as ask
from agentstate.engine.profile import events as ev
from tests.claims import ROOT

BANK = profile.load((Path(ROOT) / "demo/bank_agent/library/profiles/bank.json").read_bytes())
START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
SOURCE = BANK.preference("usual_source")
ANSWERS = BANK.preference("answers")
CALL = {"agent": "bank", "channel": "phone", "topic": "a transfer", "delegated": False}


def moment(minutes: float) -> str:
    """The instant so many minutes after the start."""
    return stamp(START + timedelta(minutes=minutes))


def paid(
    minutes: float, source: str = "A-1001-S", seq: int = 10, to: str = "A-1001-C", new_payee: bool = False
) -> Happening:
    """A transfer that was done."""
    amount = {"minor": 90_000, "currency": "USD"}
    result = {"receipt": "TR-1", "from_account": source, "to_account": to, "amount": amount}
    arguments = {"from_account": source, "to_account": to, "amount": amount, "new_payee": new_payee}
    return Happening(seq, moment(minutes), "tool.returned", {"result": result}, "transfer", arguments, CALL)


def heard(minutes: float, text: str, seq: int = 3, role: str = "customer") -> Happening:
    """Words of a conversation."""
    return Happening(seq, moment(minutes), "message.added", {"role": role, "text": text}, session=CALL)


class Customer:
    """A profile and its history of events; every minute somebody does something."""

    def __init__(self) -> None:
        self.state = ProfileState()
        self.log: list[tuple[ev.AnyProfileEvent, str]] = []
        self.minute = 0.0

    @property
    def now(self) -> str:
        return moment(self.minute)

    def does(self, command: ask.ProfileCommand, minutes: float = 1) -> list[ev.AnyProfileEvent]:
        """The command, so many minutes later. Raises what `decide` refuses."""
        self.minute += minutes
        events = profile.decide(command, self.state, BANK, self.now)
        for event in events:
            self.state = profile.evolve(self.state, event, self.now)
            self.log.append((event, self.now))
        return events

    def agrees(self, purpose: str = "personalisation") -> Customer:
        self.does(ask.Agree(purpose, "customer"))
        return self

    def pays(self, times: int = 1, source: str = "A-1001-S", **more: Any) -> Customer:
        """So many transfers, each in a session of its own that teaches at once."""
        for _ in range(times):
            self.minute += 1
            session = f"session-{len(self.log)}-{source}"
            self.does(ask.Learn(session, 20, (paid(self.minute, source, **more),)))
        return self

    def says(self, text: str, role: str = "customer") -> Customer:
        self.minute += 1
        self.does(ask.Learn(f"talk-{len(self.log)}", 5, (heard(self.minute, text, role=role),)))
        return self

    def counts(self, name: str, days: float = 0) -> Any:
        """The value of a preference that counts so many days from now, or None."""
        at = moment(self.minute + days * 24 * 60)
        kind = BANK.preference(name)
        assert kind is not None
        found = profile.effective(self.state, BANK, kind, at)
        return found.value if found else None

    def adapted(self, days: float = 0) -> profile.Adaptation:
        return profile.adapt(self.state, BANK, moment(self.minute + days * 24 * 60))
