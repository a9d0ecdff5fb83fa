"""The bank's call center in memory, for tests: the real engine, policy, agent and callers; no database, no clock.

Tools are played from the bank's people; a supervisor is a function from the pending request to a decision.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec

import demo.bank_agent.agent  # noqa: F401  (registers the agent)
from agentstate.engine import events as ev
from agentstate.engine import model_request
from agentstate.engine.advance import AskModel, MoveChart, RunCall, next_action
from agentstate.engine.decide import (
    Answer,
    Ask,
    Begin,
    Decide,
    End,
    Expire,
    Fail,
    Fit,
    HoldOver,
    Open,
    Rest,
    Return,
    Say,
    Wind,
    decide,
)
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.memory.tokens import ESTIMATE
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import Request, SessionState, pending
from demo.authorization import verdict
from demo.bank.people import Person, everybody
from demo.bank_agent.script import ScriptedModel
from sessions.agents import definition, registry

Supervisor = Callable[["World", Request], object]
AGENT = registry.find("bank")


def approve(world: World, request: Request) -> object:
    return Decide(request.asked.request, "approve", "maya", MAY)


def edit_to(minor: int) -> Supervisor:
    def decision(world: World, request: Request) -> object:
        arguments = {**request.asked.arguments, "amount": {"minor": minor, "currency": "USD"}}
        return Decide(request.asked.request, "edit", "maya", MAY, reason="misheard", arguments=arguments)

    return decision


def reject(world: World, request: Request) -> object:
    return Decide(
        request.asked.request, "reject", "maya", MAY, reason="a scam", code=next(iter(request.terms.reasons), "")
    )


def expire(world: World, request: Request) -> object:
    return Expire(request.asked.request)


def unopposed(world: World, request: Request) -> object:
    return HoldOver(request.asked.request)


def nobody(world: World, request: Request) -> None:
    """No supervisor is there."""


MAY = frozenset({"decide", "decide_tier3"})


class World:
    """One session of one customer. Implements what a caller needs of the API."""

    def __init__(self, person: Person, supervisor: Supervisor, patience: int = 3) -> None:
        self.person = person
        self.supervisor = supervisor
        self.patience = patience  # customer's looks at a waiting session before the supervisor decides
        self.state = SessionState()
        self.at = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
        self.log: list[ev.AnyEvent] = []
        self.balances = {a.id: a.balance for p in everybody() for a in p.accounts}
        self.moved: list[tuple[str, str, int]] = []
        self.checks = 0

    # What a caller sees

    async def open(self, **wanted: str) -> dict[str, Any]:
        self.command(Open(wanted["customer"], "retail", wanted["agent"], wanted["channel"], wanted["topic"]))
        return {"id": "session"}

    async def say(self, session: str, text: str) -> None:
        self.command(Say("customer", text, "customer"))
        self.run()

    async def end(self, session: str, reason: str) -> None:
        self.command(End(reason, "customer"))
        self.run()

    async def session(self, session: str) -> dict[str, Any]:
        waiting = pending(self.state)
        if waiting:
            self.patience -= 1
        if waiting and self.patience < 0 and (decision := self.supervisor(self, waiting[0])):
            self.command(decision)
            self.run()
        action = next_action(self.state, stamp(self.at))
        return {
            "seq": self.state.seq,
            "waiting_for": getattr(action, "waiting_for", "agent"),
            "ended_at": self.state.last_at if self.state.ended else None,
        }

    async def entries(self, session: str, after: int) -> list[dict[str, Any]]:
        shown = []
        for seq, event in enumerate(self.log[after + 1 :], after + 1):
            data = msgspec.json.decode(ev.encode(event))
            shown.append({"seq": seq, "kind": data.pop("kind"), "data": data})
        return shown

    # What the runtime does

    def command(self, command: object) -> None:
        self.at += timedelta(seconds=1)
        given = registry.context_for("bank", self.at)
        for event in decide(command, self.state, given):
            self.state = evolve(self.state, event, stamp(self.at))
            self.log.append(event)

    def run(self) -> None:
        for _ in range(60):
            action = next_action(self.state, stamp(self.at))
            if isinstance(action, RunCall):
                self._call(action.call)
            elif isinstance(action, AskModel):
                self._ask()
            elif isinstance(action, MoveChart):
                self.command(Wind())
            elif action.until and action.waiting_for == "retry":
                self.at += timedelta(seconds=10)
            else:
                return self.command(Rest(action.waiting_for))
        raise AssertionError("the session does not come to rest")

    def _ask(self) -> None:
        self.command(Fit("scripted", model_request.frame(definition.build(AGENT, "scripted", self.state), ESTIMATE)))
        step, request = str(uuid4()), definition.build(AGENT, "scripted", self.state)
        self.command(Ask(step, "scripted", 0, 0, AGENT.tools, model_request.digest(request)))
        answer = ScriptedModel().answer(request)
        calls = tuple(ev.CallProposed(c.id, c.tool, c.arguments, c.output_path) for c in answer.calls)
        self.command(Answer(step, "scripted", answer.text, calls))

    def _call(self, call_id: str) -> None:
        self.command(Begin(call_id))
        call = self.state.calls[call_id]
        if call.status is not CallStatus.RUNNING:
            return
        result = getattr(self, f"_{call.tool}")(**call.arguments)
        if result is None:
            self.command(Fail(call_id, call.attempt, "the authorization service is away", transient=True))
        else:
            self.command(Return(call_id, call.attempt, result))

    # The tools

    def _ask_for_person(self, why: str) -> dict[str, Any]:
        return {"asked": True}

    def _withdraw_call(self, tool: str, why: str) -> dict[str, Any]:
        return {"asked": True}

    def _load_customer(self, customer: str) -> dict[str, Any]:
        accounts = [
            {"id": a.id, "kind": a.kind, "last4": a.last4, "balance": self._money(self.balances[a.id])}
            for a in self.person.accounts
        ]
        notes = [{"at": f"-{ago} min", "summary": words} for ago, words in self.person.notes]
        return {"name": self.person.name, "number": self.person.number, "accounts": accounts, "interactions": notes}

    def _authorize(self, customer: str, amount: dict[str, Any], **asked: Any) -> dict[str, Any] | None:
        self.checks += 1
        if self.person.flag == "unsteady" and self.checks <= 3:
            return None
        allowed, reason = verdict(self.person.flag, amount["minor"])
        answer = {"allowed": allowed, "reason": reason, "reference": f"AZ-{self.checks}"}
        return {**answer, "amount": amount, **asked, "at": stamp(self.at)[: len("2026-11-21T03:25:00")]}

    def _transfer(
        self, from_account: str, to_account: str, amount: dict[str, Any], new_payee: bool = False
    ) -> dict[str, Any]:
        self.balances[from_account] -= amount["minor"]
        self.balances[to_account] += amount["minor"]
        self.moved.append((from_account, to_account, amount["minor"]))
        ends = {"from_balance": from_account, "to_balance": to_account}
        left = {name: self._money(self.balances[account]) for name, account in ends.items()}
        return {"receipt": "TR-1", "from_account": from_account, "to_account": to_account, "amount": amount, **left}

    @staticmethod
    def _money(minor: int) -> dict[str, Any]:
        return {"minor": minor, "currency": "USD"}

    # What a test asks

    def said(self, role: str = "agent") -> str:
        return "\n".join(e.text for e in self.log if isinstance(e, ev.MessageAdded) and e.role == role)

    def outcomes(self) -> list[str]:
        return [e.outcome for e in self.log if isinstance(e, ev.RequestEnded)]
