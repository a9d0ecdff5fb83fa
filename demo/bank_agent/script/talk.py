"""Where a conversation stands: the fold of its messages into one small record, `Talk`.

Pure. Nothing is remembered between two answers: everything follows from the messages and the scratchpad, so a
lost answer is simply asked for again and comes out the same. What to say next is `moves.py`'s affair.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from agentstate.engine.model import ContextMessage, ProposedCall
from agentstate.engine.state.supervision import BACK
from demo.bank_agent.script.amounts import amounts_in
from demo.bank_agent.script.hearing import Account, Said, hear
from demo.bank_agent.script.lines import recall, waits
from sessions.tools.human_request import ASK_FOR_PERSON

Pad = dict[str, Any]
NOTHING = Said("")
# A call that must be with a colleague, because the agent says so, but was proposed before the window began.
FORGOTTEN = ProposedCall("", "transfer", {})


@dataclass(frozen=True)
class Outcome:
    """What became of a call, not yet told to the customer."""

    call: ProposedCall
    status: str
    answer: dict[str, Any]


@dataclass(frozen=True)
class Talk:
    """All the agent goes by. `cue` is what it has to answer to now, `asked` the question it put last."""

    cue: str = ""
    said: Said = NOTHING
    asked: str = ""
    customer: str = ""  # customer number, where the caller had to say it
    wants: bool = False  # a transfer is being arranged, from the slots below
    amount: int | None = None
    source: str = ""
    target: str = ""
    unknown_ending: str = ""
    purpose: str = ""
    confirmed: bool = False
    cleared: int | None = None  # the amount that the security check let pass
    refused: frozenset[tuple[str, str, int]] = frozenset()  # what a colleague said no to
    open: tuple[ProposedCall, ...] = ()  # calls without a result
    outcomes: tuple[Outcome, ...] = ()  # results the customer has not heard of
    failures: int = 0  # of the same tool in a row
    puzzled: int = 0  # customer turns in a row that were not understood
    waited: int = 0  # customer turns while a call was open
    regret: bool = False  # the customer had second thoughts while it was open
    called: bool = False  # a colleague has been asked for
    stale: bool = False  # the balances known are from before a transfer


def accounts(pad: Pad) -> list[Account]:
    """The customer's own accounts as far as they are known."""
    return list(pad.get("customer", {}).get("accounts", []))


def own(pad: Pad, account: str) -> Account | None:
    """The customer's account of that id."""
    return next((a for a in accounts(pad) if a["id"] == account), None)


def fold(messages: tuple[ContextMessage, ...], pad: Pad) -> Talk:
    """Where the conversation stands after `messages`."""
    return reduce(lambda talk, message: _STEPS[message.role](talk, message, pad), messages, Talk())


def settled(talk: Talk, cue: str = "") -> Talk:
    """The wish is done with, well or not."""
    return replace(
        talk, cue=cue, wants=False, amount=None, source="", target="", unknown_ending="", purpose="",
        confirmed=False, cleared=None, failures=0, puzzled=0, waited=0, regret=False,
    )  # fmt: skip


# What the agent said and did


def _agent(talk: Talk, message: ContextMessage, pad: Pad) -> Talk:
    if message.text:
        talk = replace(talk, cue="", outcomes=())
        asked, slots = recall(message.text)
        talk = _asked(replace(talk, asked=asked), slots, pad)
    if message.calls:
        return replace(talk, open=(*talk.open, *message.calls))
    return replace(talk, open=(FORGOTTEN,)) if not talk.open and waits(message.text) else talk


def _asked(talk: Talk, slots: dict[str, str], pad: Pad) -> Talk:
    """A question empties what it asks for; the question to confirm says what is to be confirmed."""
    asked = talk.asked
    if asked in ("ask_else", "ask_need", "ask_which"):
        return replace(settled(talk), puzzled=talk.puzzled)
    if asked == "ask_amount" or (asked == "ask_digits" and not talk.open):
        return replace(talk, amount=None, confirmed=False, wants=True)
    if asked in ("ask_accounts", "ask_source", "ask_target"):
        source = talk.source if asked == "ask_target" else ""
        target = talk.target if asked == "ask_source" else ""
        return replace(talk, source=source, target=target, unknown_ending="", confirmed=False, wants=True)
    if asked == "ask_confirm":
        return _read_out(talk, slots, pad)
    return talk


def _read_out(talk: Talk, slots: dict[str, str], pad: Pad) -> Talk:
    amounts = amounts_in(slots["amount"])
    place = {name: _named(slots[name], pad) for name in ("source", "target")}
    return replace(
        talk,
        wants=True,
        confirmed=False,
        amount=amounts[0] if amounts else talk.amount,
        source=place["source"] or talk.source,
        target=place["target"] or talk.target,
    )


def _named(words: str, pad: Pad) -> str:
    ending = words.rsplit(" ", 1)[-1]
    if len(ending) == 10 and ending.isdigit():
        return ending
    return next((str(a["id"]) for a in accounts(pad) if a["last4"] == ending), "")


# What the customer said


def _customer(talk: Talk, message: ContextMessage, pad: Pad) -> Talk:
    asked_amount = talk.asked in ("ask_amount", "ask_digits", "ask_change")
    expected = talk.amount if talk.asked == "ask_confirm" else None
    said = hear(message.text, accounts(pad), asked_amount=asked_amount, expected=expected)
    talk = replace(talk, said=said, cue="said", customer=said.customer or talk.customer)
    if talk.open:
        return replace(talk, cue="waiting", waited=talk.waited + 1, regret=talk.regret or said.stop)
    if talk.asked == "ask_purpose" and not said.stop:
        return replace(talk, purpose=said.words, puzzled=0)  # a story may hold any word
    if said.person or (said.angry and not talk.called):
        return replace(talk, cue="person")
    if said.stop:
        return settled(talk, "stopped" if talk.wants else "closing")
    if said.complaint and not talk.wants:
        return replace(talk, cue="complaint", puzzled=0)
    answered = _answer(talk, said, pad)
    return answered if answered is not None else _wish(talk, said, pad)


def _answer(talk: Talk, said: Said, pad: Pad) -> Talk | None:
    """The customer's words as an answer to the question put last, None when they are none."""
    if talk.asked == "ask_confirm":
        return _confirming(talk, said, pad)
    if talk.asked == "ask_change":
        return _changing(talk, said, pad)
    if talk.asked in ("ask_check_again", "ask_again", "ask_load"):
        if said.no:
            return settled(talk, "stopped")
        return replace(talk, puzzled=0) if said.yes or said.again else None
    if talk.asked == "ask_else":
        if said.yes and not (said.transfer or said.balance or said.amount or said.bye):
            return replace(talk, cue="need")
        return replace(talk, cue="closing") if said.no and not (said.transfer or said.balance) else None
    return replace(talk, puzzled=0) if talk.asked == "ask_number" and said.customer else None


def _confirming(talk: Talk, said: Said, pad: Pad) -> Talk | None:
    changed = _filled(talk, said, pad)
    if (changed.amount, changed.source, changed.target) != (talk.amount, talk.source, talk.target):
        return changed
    if said.balance:
        return None
    if said.no:
        return replace(talk, cue="change", puzzled=0)
    return replace(talk, confirmed=True, puzzled=0) if said.yes else None


def _changing(talk: Talk, said: Said, pad: Pad) -> Talk | None:
    changed = _filled(talk, said, pad)
    if (changed.amount, changed.source, changed.target) != (talk.amount, talk.source, talk.target):
        return changed
    if "amount" in said.words.lower() or "how much" in said.words.lower():
        return replace(talk, amount=None, confirmed=False, puzzled=0)
    if "account" in said.words.lower():
        return replace(talk, source="", target="", confirmed=False, puzzled=0)
    return settled(talk, "stopped") if said.no else None


def _wish(talk: Talk, said: Said, pad: Pad) -> Talk:
    """The customer's words as a wish of their own."""
    details = bool(said.amount or said.source or said.target or said.mentioned or said.unknown_ending)
    if said.balance and not (said.transfer and said.amount):
        return replace(talk, cue="balance", puzzled=0)
    if said.transfer or said.amount or (talk.wants and details):
        return _filled(replace(talk, wants=True, puzzled=0), said, pad)
    if said.bye or (said.thanks and not talk.wants):
        return settled(talk, "closing")
    if said.hello and not talk.wants:
        return replace(talk, cue="said")
    return replace(talk, cue="unclear", puzzled=talk.puzzled + 1)


def _filled(talk: Talk, said: Said, pad: Pad) -> Talk:
    source, target = said.source or talk.source, said.target or talk.target
    if said.mentioned:
        if talk.asked == "ask_target" or (source and not said.source and not said.target and not talk.target):
            target = said.mentioned
        else:
            source = source if said.source else said.mentioned
    others = [a["id"] for a in accounts(pad) if a["id"] != target]
    if target and not source and own(pad, target) and len(others) == 1:
        source = others[0]
    amount = said.amount or talk.amount
    same = (amount, source, target) == (talk.amount, talk.source, talk.target)
    return replace(
        talk,
        amount=amount,
        source=source,
        target=target,
        unknown_ending=said.unknown_ending,
        confirmed=talk.confirmed and same,
        cleared=talk.cleared if same else None,
        purpose=talk.purpose if target == talk.target else "",
        puzzled=0,
    )


# What came back from a call


def _tool(talk: Talk, message: ContextMessage, pad: Pad) -> Talk:
    try:
        answer = json.loads(message.text)
    except ValueError:
        answer = {}
    answer = answer if isinstance(answer, dict) else {}
    if answer.get("status") == "waiting":
        return talk  # with a colleague: the call stays open
    call = next((c for c in talk.open if c.id == message.call_id), None)
    call = call or ProposedCall(message.call_id, message.name, {})
    outcome = Outcome(call, str(answer.get("status", "error")), answer)
    talk = replace(
        talk,
        cue="result",
        open=tuple(c for c in talk.open if c.id not in (call.id, FORGOTTEN.id)),
        outcomes=(*talk.outcomes, outcome),
    )
    follow = _RESULTS.get(call.tool)
    return follow(talk, outcome) if follow else talk


def _loaded(talk: Talk, outcome: Outcome) -> Talk:
    if outcome.status == "ok":
        return replace(talk, failures=0, stale=False)
    return replace(talk, failures=talk.failures + 1, customer="")


def _authorized(talk: Talk, outcome: Outcome) -> Talk:
    if outcome.status != "ok":
        return replace(talk, failures=talk.failures + 1, cleared=None)
    if outcome.answer.get("result", {}).get("allowed") is not True:
        return settled(talk, "result")
    amount = outcome.call.arguments.get("amount", {})
    return replace(talk, failures=0, cleared=amount.get("minor", talk.amount))


def _transferred(talk: Talk, outcome: Outcome) -> Talk:
    if outcome.status == "expired":
        return replace(talk, waited=0)  # still wanted and still confirmed: the customer may ask for it again
    if outcome.status == "responded":
        return replace(talk, confirmed=False, waited=0)
    if outcome.status == "rejected" or outcome.answer.get("code") == "refused_before":
        talk = replace(talk, refused=talk.refused | {_what(outcome.call)})
    moved = outcome.status in ("ok", "edited")
    return replace(settled(talk, "result"), stale=talk.stale or moved, regret=talk.regret)


def _what(call: ProposedCall) -> tuple[str, str, int]:
    arguments = call.arguments
    minor = arguments.get("amount", {}).get("minor", 0)
    return str(arguments.get("from_account", "")), str(arguments.get("to_account", "")), int(minor)


# Colleagues


def _staff(talk: Talk, message: ContextMessage, pad: Pad) -> Talk:
    """A colleague spoke to the customer: what the agent had asked is no longer the question in the room. What the
    customer said before still wants an answer, unless it is handed back with a summary.
    """
    return replace(talk, asked="")


def _note(talk: Talk, message: ContextMessage, pad: Pad) -> Talk:
    """Guidance that the customer does not hear. Understood where it is about saying the amount again."""
    if message.call_id:
        return _tool(talk, message, pad)  # what became of a call after somebody had spoken again
    if message.text.startswith(BACK):
        return replace(talk, cue="back", asked="")
    words = message.text.lower()
    if "digit" in words or "amount" in words:
        return replace(talk, cue="digits")
    return replace(talk, cue=talk.cue or "note")  # what the customer said just before is answered all the same


_RESULTS = {
    "load_customer": _loaded,
    "authorize": _authorized,
    "transfer": _transferred,
    ASK_FOR_PERSON: lambda talk, outcome: replace(talk, called=True),
}


def _summary(talk: Talk, message: ContextMessage, pad: Pad) -> Talk:
    """What stands for older messages: the script goes by what is still said in its own words, and by the scratchpad."""
    return talk


_STEPS = {
    "customer": _customer,
    "agent": _agent,
    "tool": _tool,
    "staff": _staff,
    "note": _note,
    "summary": _summary,
}
