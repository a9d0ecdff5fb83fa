"""Where a call differs from what the customer said, or from what stood before an edit. Pure: the one function that
decides it, for the card, the API and what a decision records as shown.

Amounts and account numbers are compared exactly as the recorded messages name them, never as a resolver of references
understands them. Only differences have a sign: no sign means agreement, and a call without any was not found right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from agentstate.engine import events as ev
from agentstate.engine.speech.numbers import DIGITS, SMALL, TENS
from sessions.http.answers import PageOnly
from sessions.text import money
from sessions.text.spoken_amounts import pieces_of, spoken_amounts

Kind = Literal["not_said", "differs", "corrected", "ambiguous", "changed"]
MAX_SAID = 3  # values that one difference names
SHORTEST_ENDING = 4  # digits by which an account may be named
SHORTEST_NUMBER = 6  # digits of what may be an account's number
_SPACE = re.compile(r"\s+")


class Turn(NamedTuple):
    """What the customer said in one entry."""

    seq: int
    text: str


class Account(NamedTuple):
    """An account that a call may name: its id, and its kind and last digits where it is the customer's own."""

    id: str
    kind: str = ""
    last4: str = ""


class Said(msgspec.Struct, frozen=True):
    """A value that the customer named, and the entry in which they last did."""

    seq: Annotated[int, Meta(description="the entry in which the customer last said it")]
    value: Annotated[Any, Meta(description="an amount {minor, currency}, or an account as text")]


class Difference(msgspec.Struct, frozen=True):
    """One value of a call and how it differs. `not_said`: nothing comparable was said. `differs`: other values were
    said, this one never. `corrected`: it was said, and another one later. `ambiguous`: the newest words name it and
    another one. `changed`: an edit changes it, from `was`. `said`: the other values of the newest words.
    """

    path: Annotated[str, Meta(description="of the value in the call: arguments.amount")]
    kind: Annotated[
        Kind,
        Meta(
            description="not_said: nothing comparable was said; differs: only other values were; corrected: another "
            "was said later; ambiguous: the newest words name this one and another",
            extra_json_schema={"enum": ["not_said", "differs", "corrected", "ambiguous"]},  # edits are no differences
        ),
    ]
    sends: Annotated[Any, Meta(description="the value that the call sends")]
    said: Annotated[tuple[Said, ...], Meta(description="the other values that were said, the newest first")] = ()
    was: PageOnly[Any] = None


def differences(
    turns: Sequence[Turn], arguments: Mapping[str, Any], payees: Sequence[str], accounts: Sequence[Account]
) -> tuple[Difference, ...]:
    """Where the amounts and payees of a call differ from the customer's `turns`, oldest first. `payees` are the names
    of arguments that say who receives; `accounts` the customer's own.
    """
    amounts = {path: value for path, value in _leaves(arguments) if money.is_money(value)}
    receivers = {path: value for path, value in _leaves(arguments) if _is_payee(path, value, payees)}
    sent = {str(value) for _, value in _leaves(arguments) if isinstance(value, str)}
    known = _known(accounts, sent)
    return (
        *_amounts(turns, amounts, known),
        *(found for path, value in receivers.items() if (found := _payee(turns, path, value, sent, known)) is not None),
    )


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any], payees: Sequence[str], accounts: Sequence[Account]
) -> tuple[Difference, ...]:
    """The amounts, payees and accounts that an edit changes."""
    old, new = dict(_leaves(before)), dict(_leaves(after))
    own = {account.id for account in accounts}
    return tuple(
        Difference(path, "changed", new.get(path), was=old.get(path))
        for path in (*new, *(path for path in old if path not in new))
        if ev.digest(old.get(path)) != ev.digest(new.get(path))
        if any(_is_critical(path, value, payees, own) for value in (old.get(path), new.get(path)))
    )


def withheld(found: Sequence[Difference], blind: Sequence[str]) -> tuple[Difference, ...]:
    """The differences without those of values that the reviewer still has to type: at the paths `blind`, or around
    them.
    """
    return tuple(each for each in found if not any(f"{path}.".startswith(f"{each.path}.") for path in blind))


def not_shown(found: Sequence[Difference], shown: Sequence[Any]) -> tuple[Difference, ...]:
    """The differences that are not among `shown`, which is data as `as_data` gives it."""
    known = {ev.digest(each) for each in shown}
    return tuple(each for each in found if ev.digest(msgspec.to_builtins(each)) not in known)


def as_data(found: Sequence[Difference]) -> list[dict[str, Any]]:
    """The differences as data: what a decision records, and what the API gives."""
    return [msgspec.to_builtins(each) for each in found]


def names_a_value(text: str, arguments: Mapping[str, Any], accounts: Sequence[Account]) -> bool:
    """Whether these words name an amount, a number long enough for an account, or an account or text of the call."""
    sent = {value for _, value in _leaves(arguments) if isinstance(value, str)}
    numbers = _numbers(text)
    return (
        bool(spoken_amounts(text))
        or any(len(number) >= SHORTEST_NUMBER for number in numbers)
        or any(_names(text, numbers, value, _known(accounts, sent)) for value in sent)
    )


def _leaves(value: Any, path: str = "arguments") -> Iterator[tuple[str, Any]]:
    """Every value of a call's arguments with its path; an amount of money is one."""
    if isinstance(value, dict) and not money.is_money(value):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{path}.{number}")
    else:
        yield path, value


def _is_payee(path: str, value: Any, payees: Sequence[str]) -> bool:
    return isinstance(value, str) and bool(value) and path.rpartition(".")[2] in payees


def _is_critical(path: str, value: Any, payees: Sequence[str], own: set[str]) -> bool:
    return money.is_money(value) or _is_payee(path, value, payees) or (isinstance(value, str) and value in own)


def _known(accounts: Sequence[Account], sent: set[str]) -> dict[str, Account]:
    own = {account.id: account for account in accounts}
    return {**{value: Account(value) for value in sent if value.isdigit()}, **own}


def _amounts(
    turns: Sequence[Turn], sent: Mapping[str, dict[str, Any]], known: Mapping[str, Account]
) -> Iterator[Difference]:
    """The last turn that names an amount counts: it must name no other than those that are sent."""
    if not sent:
        return
    currencies = [value["currency"] for value in sent.values()]
    marks = {ev.digest(value) for value in sent.values()}
    endings = {account.last4 for account in known.values() if account.last4}
    named = [(turn.seq, values) for turn in turns if (values := _said_amounts(turn.text, currencies, marks, endings))]
    for path, value in sent.items():
        found = _compared(path, value, named, lambda each: ev.digest(each) in marks)
        if found is not None:
            yield found


def _compared(
    path: str, value: Any, named: Sequence[tuple[int, list[Any]]], is_sent: Callable[[Any], bool]
) -> Difference | None:
    """`value` compared with what each turn `named`, oldest first."""
    newest = [Said(seq, each) for seq, values in named[-1:] for each in values]
    others = tuple(each for each in newest if not is_sent(each.value))[:MAX_SAID]
    ever = [Said(seq, each) for seq, values in reversed(named) for each in reversed(values)]
    if any(_same(each.value, value) for each in ever):
        kind: Kind = "ambiguous" if any(_same(each.value, value) for each in newest) else "corrected"
        return Difference(path, kind, value, others) if others else None
    distinct: dict[str, Said] = {}
    for each in ever:
        distinct.setdefault(ev.digest(each.value), each)
    latest = tuple(distinct.values())[:MAX_SAID]
    return Difference(path, "differs" if latest else "not_said", value, latest)


def _same(one: Any, other: Any) -> bool:
    return ev.digest(one) == ev.digest(other)


def _said_amounts(text: str, currencies: Sequence[str], marks: set[str], endings: set[str]) -> list[dict[str, Any]]:
    """The amounts of one turn, each once. One without a currency is of the call's. Four bare digits that end an own
    account name that account.
    """
    found: dict[str, dict[str, Any]] = {}
    for hundredths, named in spoken_amounts(text):
        if str(hundredths // 100) in endings and not named and hundredths % 100 == 0:
            continue
        meant = [_in(named or currency, hundredths) for currency in currencies]
        value = next((each for each in meant if ev.digest(each) in marks), meant[0])
        found[ev.digest(value)] = value
    return list(found.values())


def _in(currency: str, hundredths: int) -> dict[str, Any]:
    return {"minor": hundredths * 10 ** money.places(currency) // 100, "currency": currency}


def _payee(
    turns: Sequence[Turn], path: str, value: str, sent: set[str], known: Mapping[str, Account]
) -> Difference | None:
    """A payee must have been named, by its number or otherwise, and the newest number of its length be one that is
    sent.
    """
    named = []
    for turn in turns:
        numbers = _numbers(turn.text)
        by_name = [value] if _names(turn.text, numbers, value, known) else []
        if found := sorted({*by_name, *_alike(numbers, value)}):
            named.append((turn.seq, found))
    return _compared(path, value, named, lambda each: each in sent)


def _alike(numbers: set[str], value: str) -> list[str]:
    """The numbers that could be an account instead of `value`: as long as it is."""
    return sorted(each for each in numbers if value.isdigit() and len(each) == len(value) >= SHORTEST_NUMBER)


def _names(text: str, numbers: set[str], value: str, known: Mapping[str, Account]) -> bool:
    """Whether these words name an account or other text: by its whole number, its last digits, or as itself; an own
    account also by its kind, where the customer has one of that kind.
    """
    if value.isdigit():
        return any(value.endswith(each) for each in numbers if len(each) >= SHORTEST_ENDING) or _by_kind(
            text, known.get(value, Account(value)), known
        )
    return bool(value.strip()) and _stands_in(value, text)


def _by_kind(text: str, account: Account, known: Mapping[str, Account]) -> bool:
    alike = [each for each in known.values() if each.kind == account.kind]
    return bool(account.kind) and len(alike) == 1 and _stands_in(account.kind.rstrip("s"), text, "s?")


def _stands_in(words: str, text: str, ending: str = "") -> bool:
    wanted, said = (_SPACE.sub(" ", each.casefold()).strip() for each in (words, text))
    return re.search(rf"(?<!\w){re.escape(wanted)}{ending}(?!\w)", said) is not None


def _numbers(text: str) -> set[str]:
    """The runs of digits in `text`, also of those said one by one ("twenty-two oh seven"), and each piece of a run."""
    found: set[str] = set()
    run, tens = "", False
    for piece in [*pieces_of(text), ";"]:
        digits = piece if piece.isdigit() else str(SMALL[piece]) if piece in SMALL else ""
        if tens and DIGITS.get(piece):
            run, tens = run[:-1] + digits, False
        elif digits:
            run, tens = run + digits, piece in TENS
        elif piece != ",":
            found.add(run)
            run, tens = "", False
        if piece.isdigit():
            found.add(piece)
    return found - {""}
