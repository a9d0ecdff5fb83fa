"""What the scripted agent says and does next, given where the conversation stands.

Pure: `next_move(talk, pad)` is one step of a good bank agent. It opens the customer's accounts, finds out
what is wanted, has it checked, reads it back, moves it only after a yes, and says plainly what became of it.
It never promises what a colleague or another system decides, and never asks twice for what a colleague refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from demo.bank_agent.script.amounts import money
from demo.bank_agent.script.lines import say
from demo.bank_agent.script.talk import Outcome, Pad, Talk, accounts, own, settled
from sessions.tools.human_request import ASK_FOR_PERSON
from sessions.tools.withdrawal import WITHDRAW_CALL

CHECKED_ABOVE = 50_000  # minor units above which the agent says that a colleague checks; policy decides it
COMPLAINT = "sort_complaint"  # the tool by which a complaint is sorted
MOST_WHY = 200  # characters of why a colleague is asked for
MOST_WORDS = 2_000  # characters of a complaint
TRIES = 3  # of a tool that does not answer, before the agent gives up
PUZZLED = 3  # turns not understood, before it stops guessing


@dataclass(frozen=True)
class Move:
    """Words for the customer and, perhaps, one call. An empty move is silence."""

    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] | None = None


def next_move(talk: Talk, pad: Pad, variant: int = 0) -> Move:
    """The next move. `variant` picks among wordings that mean the same."""
    if talk.outcomes:
        return _told(talk, pad, variant)
    if talk.open:
        return _asking(talk) or _withdrawing(talk) or Move(_waiting(talk, pad))
    return _CUES.get(talk.cue, _go_on)(talk, pad, variant)


# Telling what came back


def _told(talk: Talk, pad: Pad, variant: int) -> Move:
    """The latest result decides; an earlier one that was not told is about the same wish."""
    outcome = talk.outcomes[-1]
    tell = {
        "load_customer": _after_load,
        "authorize": _after_check,
        "transfer": _after_transfer,
        COMPLAINT: _after_complaint,
        ASK_FOR_PERSON: _after_asking,
        WITHDRAW_CALL: _after_withdrawing,
    }
    return tell.get(outcome.call.tool, _after_other)(talk, outcome, pad, variant)


def _after_load(talk: Talk, outcome: Outcome, pad: Pad, variant: int) -> Move:
    if outcome.status == "ok":
        known = say("known", name=_name(pad))
        if talk.said.balance and not talk.wants:
            return _prefixed(known, _balance(talk, pad, variant))
        return _prefixed(known, _go_on(talk, pad, variant))
    if not pad.get("session", {}).get("customer"):
        return Move(f"{say('no_records')} {say('ask_number')}")
    return Move(say("no_records") if talk.failures >= TRIES else say("ask_load"))


def _after_check(talk: Talk, outcome: Outcome, pad: Pad, variant: int) -> Move:
    if outcome.status != "ok":
        if talk.failures >= TRIES:
            return Move(f"{say('check_gone')} {say('ask_else', variant)}")
        return Move(say("ask_check_again"))
    if not talk.wants:
        return Move(f"{say('not_cleared')} {say('ask_else', variant)}")
    return _prefixed(say("cleared"), _go_on(talk, pad, variant))


def _after_transfer(talk: Talk, outcome: Outcome, pad: Pad, variant: int) -> Move:
    if outcome.status in ("ok", "edited"):
        return Move(_moved(talk, outcome, pad, variant))
    if outcome.status == "expired":
        return Move(say("ask_again"))
    if outcome.status == "responded":
        return Move(f"{say('responded')} {say('ask_digits')}")
    return Move(f"{say(_failure(outcome))} {say('ask_else', variant)}")


def _after_complaint(talk: Talk, outcome: Outcome, pad: Pad, variant: int) -> Move:
    topic = outcome.answer.get("result", {}).get("topic", "")
    about = {"card": "your card", "charge": "a charge", "transfer": "a transfer", "service": "our service"}
    noted = say("complaint_noted", about=about.get(topic, "us")) if topic else say("complaint_heard")
    return _prefixed(noted, _go_on(talk, pad, variant))


def _after_asking(talk: Talk, outcome: Outcome, pad: Pad, variant: int) -> Move:
    """A colleague knows; meanwhile the agent goes on where it was."""
    if talk.open:
        return Move(say("wait"))
    return _prefixed(say("person_asked"), _repeated(talk, pad, variant))


def _after_withdrawing(talk: Talk, outcome: Outcome, pad: Pad, variant: int) -> Move:
    """What was withdrawn says so by its own result; what still stands open had begun."""
    return Move(say("wait_regret")) if talk.open else _after_other(talk, outcome, pad, variant)


def _after_other(talk: Talk, outcome: Outcome, pad: Pad, variant: int) -> Move:
    return _go_on(talk, pad, variant)


def _failure(outcome: Outcome) -> str:
    if outcome.status in ("rejected", "withdrawn"):
        return outcome.status
    if outcome.answer.get("code") == "refused_before":
        return "refused_before"
    error = str(outcome.answer.get("error", ""))
    if "not enough money" in error:
        return "failed_money"
    return "failed_account" if "no such account" in error else "failed"


def _moved(talk: Talk, outcome: Outcome, pad: Pad, variant: int) -> str:
    """What the bank says has moved, which after an edit is not what the agent asked for."""
    result = outcome.answer.get("result", {})
    sent = {**outcome.call.arguments, **outcome.answer.get("arguments", {}), **result}
    source, target = (_spoken(str(sent.get(end, "")), pad) for end in ("from_account", "to_account"))
    amount = money(sent.get("amount", {}).get("minor", 0))
    sentences = [say("edited")] if outcome.status == "edited" else []
    sentences.append(
        say(
            "done",
            variant,
            amount=amount,
            source=source,
            target=target,
            receipt=str(result.get("receipt", "")),
        )
    )
    if "from_balance" in result:
        sentences.append(say("left", from_balance=money(result["from_balance"]["minor"]), source=source))
    if talk.regret:
        sentences.append(say("regret_done"))
    return " ".join([*sentences, say("ask_else", variant)])


# While a colleague decides


def _asking(talk: Talk) -> Move | None:
    """Ask for a colleague when the customer does, or is upset: once, also while another decides."""
    said = talk.said
    if talk.called or talk.cue not in ("person", "waiting") or not (said.person or said.angry):
        return None
    why = "the customer asks for a person" if said.person else "the customer is upset"
    return Move(say("person" if said.person else "upset"), ASK_FOR_PERSON, {"why": f"{why}: {said.words}"[:MOST_WHY]})


def _withdrawing(talk: Talk) -> Move | None:
    """Withdraw the transfer when the customer says stop while a colleague decides; asked for once."""
    waits = [call for call in talk.open if call.tool == "transfer"]
    asked = any(call.tool == WITHDRAW_CALL for call in talk.open)
    if talk.cue != "waiting" or not talk.said.stop or not waits or asked:
        return None
    return Move(say("withdrawing"), WITHDRAW_CALL, {"tool": "transfer", "why": talk.said.words[:MOST_WHY]})


def _waiting(talk: Talk, pad: Pad) -> str:
    if talk.cue == "back":
        return f"{say('back')} {say('wait')}"
    if talk.cue == "digits":
        return say("ask_digits", 1)
    if talk.cue != "waiting":
        return ""
    if talk.said.stop:
        return say("wait_regret")
    if talk.said.balance:
        return _balances(pad)
    if talk.said.amount:
        return say("wait_heard", amount=money(talk.said.amount))
    return say("wait", talk.waited - 1)


# Answering the customer


def _go_on(talk: Talk, pad: Pad, variant: int) -> Move:
    """The next thing that is missing."""
    if not accounts(pad):
        return _open_accounts(talk, pad, variant)
    if not talk.wants:
        asked = f"{say('still_asked')} " if talk.called and talk.said.hello else ""
        return Move(f"{asked}{say('ask_need', variant)}")
    return _transfer(talk, pad, variant)


def _open_accounts(talk: Talk, pad: Pad, variant: int) -> Move:
    customer = pad.get("session", {}).get("customer") or talk.customer
    if not customer:
        return Move(say("ask_number"))
    words = "look_again" if talk.asked or accounts(pad) else "greet"
    return Move(say(words, variant), "load_customer", {"customer": customer})


def _transfer(talk: Talk, pad: Pad, variant: int) -> Move:
    question = _missing(talk, pad, variant) or _impossible(talk, pad, variant)
    if question:
        return Move(question)
    if own(pad, talk.target) is None and not talk.purpose:
        return Move(say("ask_purpose"))
    if talk.cleared != talk.amount:
        return _check(talk, pad)
    if not talk.confirmed:
        return Move(say("ask_confirm", variant, **_slots(talk, pad)))
    return _send(talk, pad)


def _missing(talk: Talk, pad: Pad, variant: int) -> str:
    listed = _listed(pad)
    if talk.unknown_ending:
        wrong = say("no_such_account", ending=talk.unknown_ending)
        return f"{wrong} {say('ask_accounts', accounts=listed)}"
    if talk.amount is None:
        return say("ask_amount", variant)
    if talk.source and talk.target:
        return ""
    if talk.source or talk.target:
        return say("ask_target" if talk.source else "ask_source", accounts=listed)
    return say("ask_accounts", accounts=listed)


def _impossible(talk: Talk, pad: Pad, variant: int) -> str:
    account = own(pad, talk.source)
    if account is None:
        return f"{say('not_yours')} {say('ask_source', accounts=_listed(pad))}"
    if talk.source == talk.target:
        return f"{say('same_account')} {say('ask_accounts', accounts=_listed(pad))}"
    if (talk.source, talk.target, talk.amount) in talk.refused:
        return f"{say('refused_before')} {say('ask_else', variant)}"
    if (talk.amount or 0) > account["balance"]["minor"]:
        balance = money(account["balance"]["minor"])
        slots = {**_slots(talk, pad), "balance": balance}
        return f"{say('not_enough', **slots)} {say('ask_amount', variant)}"
    return ""


def _check(talk: Talk, pad: Pad) -> Move:
    purpose = "transfer between own accounts" if own(pad, talk.target) else "transfer to a new payee"
    customer = pad.get("session", {}).get("customer") or talk.customer or pad["customer"].get("id", "")
    ends = {"from_account": talk.source, "to_account": talk.target}
    arguments = {"customer": customer, "purpose": purpose, "amount": _usd(talk), **ends}
    return Move(say("checking"), "authorize", arguments)


def _send(talk: Talk, pad: Pad) -> Move:
    new_payee = own(pad, talk.target) is None
    arguments: dict[str, Any] = {"from_account": talk.source, "to_account": talk.target, "amount": _usd(talk)}
    if new_payee:
        arguments["new_payee"] = True
    checked = new_payee or (talk.amount or 0) > CHECKED_ABOVE or bool(talk.refused)
    return Move(say("sending_checked" if checked else "sending"), "transfer", arguments)


def _balance(talk: Talk, pad: Pad, variant: int) -> Move:
    if not accounts(pad) or talk.stale:
        return _open_accounts(talk, pad, variant)
    if not talk.wants:
        return Move(f"{_balances(pad)} {say('ask_else', variant)}")
    return _prefixed(_balances(pad), _repeated(talk, pad, variant))


def _unclear(talk: Talk, pad: Pad, variant: int) -> Move:
    if not accounts(pad) and talk.asked != "ask_number":
        return _go_on(talk, pad, variant)
    if talk.puzzled >= PUZZLED:
        return Move(say("hand_over"))
    if talk.asked in ("", "ask_need", "ask_which"):
        return Move(f"{say('sorry', variant)} {say('ask_which')}")
    return _prefixed(say("sorry", variant), _repeated(talk, pad, variant))


def _repeated(talk: Talk, pad: Pad, variant: int) -> Move:
    """The open question once more. Never a call: nobody has answered yet."""
    if talk.asked in ("ask_check_again", "ask_again", "ask_load", "ask_change", "ask_digits", "ask_number"):
        return Move(say(talk.asked))
    if talk.asked == "ask_else":
        return Move(say("ask_which"))
    move = _go_on(talk, pad, variant)
    return move if not move.tool else Move(say("ask_change"))


def _person(talk: Talk, pad: Pad, variant: int) -> Move:
    return _asking(talk) or _prefixed(say("person_asked"), _repeated(talk, pad, variant))


def _complaint(talk: Talk, pad: Pad, variant: int) -> Move:
    arguments = {"text": talk.said.words[:MOST_WORDS]}
    return Move(say("complaint"), COMPLAINT, arguments)


def _stopped(talk: Talk, pad: Pad, variant: int) -> Move:
    return Move(f"{say('stopped')} {say('ask_else', variant)}")


def _closing(talk: Talk, pad: Pad, variant: int) -> Move:
    name = _name(pad)
    return Move(say("bye", variant, name=name) if name else say("bye_unknown"))


def _need(talk: Talk, pad: Pad, variant: int) -> Move:
    return _go_on(settled(talk), pad, variant)


def _change(talk: Talk, pad: Pad, variant: int) -> Move:
    return Move(say("ask_change"))


def _digits(talk: Talk, pad: Pad, variant: int) -> Move:
    return Move(say("ask_digits")) if talk.wants else Move()


def _back(talk: Talk, pad: Pad, variant: int) -> Move:
    """A colleague has handed the conversation back: no greeting, and what was asked before is asked again."""
    return _prefixed(say("back"), _repeated(talk, pad, variant))


def _silent(talk: Talk, pad: Pad, variant: int) -> Move:
    """Guidance that the script does not understand: nothing to say to the customer about it."""
    return Move()


_CUES: dict[str, Callable[[Talk, Pad, int], Move]] = {
    "balance": _balance,
    "unclear": _unclear,
    "person": _person,
    "complaint": _complaint,
    "stopped": _stopped,
    "closing": _closing,
    "need": _need,
    "change": _change,
    "digits": _digits,
    "back": _back,
    "note": _silent,
}


# Words for things


def _prefixed(words: str, move: Move) -> Move:
    return replace(move, text=f"{words} {move.text}".strip())


def _usd(talk: Talk) -> dict[str, Any]:
    return {"minor": talk.amount, "currency": "USD"}


def _name(pad: Pad) -> str:
    return str(pad.get("customer", {}).get("name", ""))


def _slots(talk: Talk, pad: Pad) -> dict[str, str]:
    return {
        "amount": money(talk.amount or 0),
        "source": _spoken(talk.source, pad),
        "target": _spoken(talk.target, pad),
    }


def _spoken(account: str, pad: Pad) -> str:
    """An account as people name it: own ones by kind and ending, others by their whole number."""
    known = own(pad, account)
    return f"{known['kind']} ending {known['last4']}" if known else f"account {account}"


def _listed(pad: Pad) -> str:
    return " and ".join(_spoken(a["id"], pad) for a in accounts(pad))


def _balances(pad: Pad) -> str:
    parts = [f"{money(a['balance']['minor'])} in {_spoken(a['id'], pad)}" for a in accounts(pad)]
    return say("balance", accounts=f"There is {' and '.join(parts)}.")
