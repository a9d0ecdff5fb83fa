"""The form of a decision: a typed field for each argument of the call, made from the tool's JSON schema.

What a person types comes back as values of the schema's types: amounts as integers of minor units, never text or
floats. The tool's own check has the last word, in the command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from sessions.descriptions import values
from sessions.text import money

Kind = Literal["money", "account", "choice", "yes_no", "whole", "number", "text", "json"]
PREFIX = "arg."
LINE = 24  # characters that an input of one line shows
_WHOLE = re.compile(r"-?[0-9]{1,15}")


class NotTyped(ValueError):
    """What was typed is not of the field's type; the text says what is wanted."""


@dataclass
class Option:
    """One choice of a select: the text that is posted, the value it stands for, and what people read."""

    text: str
    value: Any
    label: str


@dataclass
class Field:
    """One argument as a form shows it."""

    name: str
    kind: Kind
    proposed: Any  # by the agent; None where a colleague has added the argument
    stands: Any  # the value before this person touches it: a colleague may have edited it
    text: str  # what stands in the input
    options: list[Option] = field(default_factory=list)
    error: str = ""
    hint: str = ""
    added: bool = False  # by a colleague: the agent proposed nothing here
    balance: int = 0  # minor units in the account, before the call
    sign: int = 0  # whether the call takes from it (-1) or adds to it (1)

    @property
    def id(self) -> str:
        """The input's id and name."""
        return f"{PREFIX}{self.name}"

    @property
    def label(self) -> str:
        """The argument's name in words."""
        return values.plain(self.name)

    @property
    def is_long(self) -> bool:
        """Whether its text needs several lines: an input of one line would lose what parts them."""
        return self.kind == "text" and (len(self.text) > LINE or "\n" in self.text or "\r" in self.text)

    @property
    def was(self) -> str:
        """What the agent proposed, in words."""
        if self.added:
            return "nothing"
        return self.named(self.proposed)

    def named(self, value: Any) -> str:
        """A value of this argument, in words."""
        labels = [option.label for option in self.options if option.value == value]
        return labels[0] if labels else values.value(value)

    @property
    def shown(self) -> str:
        """What stands in the input, in words."""
        named = [option.label for option in self.options if option.text == self.text]
        return named[0] if named else f"{self.symbol}{self.text}"

    @property
    def symbol(self) -> str:
        """The currency's sign of a field of money."""
        return money.symbol(self.stands["currency"]) if self.kind == "money" else ""

    @property
    def edited(self) -> bool:
        """Whether what stands in the input is not what was proposed."""
        return self.added or self.text != _text(self.kind, self.proposed, self.options)

    @property
    def difference(self) -> str:
        """What the edit amounts to: money and numbers by how much, yes and no by what it is now."""
        if not self.edited:
            return ""
        if self.kind in ("whole", "number") and not self.added:
            return _by_how_much(self.proposed, self.text)
        if self.kind == "yes_no":
            return f"now {self.shown}"
        if not money.is_money(self.proposed):
            return "added" if self.added else "changed"
        try:
            return money.difference(self.proposed, money.parse(self.text, self.stands["currency"])) or "changed"
        except money.NotAnAmount:
            return ""


def _by_how_much(proposed: Any, text: str) -> str:
    try:
        delta = _decimal(text) - Decimal(str(proposed))
    except (NotTyped, InvalidOperation):
        return ""
    return f"{abs(delta):f} {'more' if delta > 0 else 'less'}" if delta else "changed"


def fields(
    schema: Mapping[str, Any],
    proposed: Mapping[str, Any],
    standing: Mapping[str, Any],
    evidence: Any,
    typed: Mapping[str, str] | None = None,
) -> list[Field]:
    """The fields of a call as it stands, or as somebody typed it, beside what the agent `proposed`. Accounts to choose
    from are in `evidence`.
    """
    accounts = {account["id"]: account for account in accounts_in(evidence)}
    kinds = schema.get("properties", {})
    made = [_field(name, proposed, value, kinds.get(name, {}), accounts) for name, value in standing.items()]
    for each in made:
        if typed is not None and each.id in typed and _lines(typed[each.id]) != _lines(each.text):
            each.text = _lines(typed[each.id])
    _hint(made, accounts)
    return sorted(made, key=lambda each: each.kind != "money")  # what it costs comes first


def _lines(text: str) -> str:
    """The text with its lines ended as browsers' text areas are read."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read(made: list[Field]) -> dict[str, Any] | None:
    """The arguments as typed; None when a field cannot be read, which then bears its error."""
    arguments: dict[str, Any] = {}
    for each in made:
        try:
            arguments[each.name] = _value(each)
        except (NotTyped, money.NotAnAmount) as wanted:
            each.error = f"This needs {wanted}."
    return None if any(each.error for each in made) else arguments


def blame(made: list[Field], path: str, message: str) -> bool:
    """Put a refusal of `arguments.<name>...` beside its field. Whether there is such a field."""
    name = path.removeprefix("arguments.").split(".")[0]
    for each in made:
        if path.startswith("arguments.") and each.name == name:
            each.error = f"{message[:1].upper()}{message[1:]}."
            return True
    return False


def accounts_in(evidence: Any) -> Iterator[dict[str, Any]]:
    """Every account within the evidence, however deep."""
    if isinstance(evidence, dict):
        if isinstance(evidence.get("id"), str) and values.account(evidence):
            yield evidence
        else:
            for item in evidence.values():
                yield from accounts_in(item)
    elif isinstance(evidence, list | tuple):
        for item in evidence:
            yield from accounts_in(item)


def _field(
    name: str, proposed: Mapping[str, Any], value: Any, schema: Mapping[str, Any], accounts: dict[str, dict[str, Any]]
) -> Field:
    kind = _kind(value, schema, accounts)
    options: list[Option] = []
    if kind == "account":
        options = [Option(key, key, _short(account)) for key, account in accounts.items()]
    elif kind == "choice":
        options = [Option(str(item), item, values.value(item)) for item in schema["enum"]]
    elif kind == "yes_no":
        options = [Option("yes", True, "yes"), Option("no", False, "no")]
    text = _text(kind, value, options)
    return Field(name, kind, proposed.get(name), value, text, options, added=name not in proposed)


def _short(account: dict[str, Any]) -> str:
    return values.account({"kind": values.plain(account["kind"]), "last4": account["last4"]})


def _kind(value: Any, schema: Mapping[str, Any], accounts: Mapping[str, Any]) -> Kind:
    if money.is_money(value):
        return "money"
    if isinstance(value, str) and value in accounts:
        return "account"
    if value in schema.get("enum", ()):
        return "choice"
    if isinstance(value, bool):
        return "yes_no"
    if isinstance(value, int):
        return "whole"
    if isinstance(value, Decimal):
        return "number"
    return "text" if isinstance(value, str) else "json"


def _text(kind: Kind, value: Any, options: list[Option]) -> str:
    if kind == "money":
        return money.figures(value) if money.is_money(value) else ""
    if options:
        return next((option.text for option in options if option.value == value), "")
    if kind == "json":
        return json.dumps(value, ensure_ascii=False, indent=1, default=str)
    return str(value)


def _value(each: Field) -> Any:
    text = each.text
    match each.kind:
        case "money":
            return money.parse(text, each.stands["currency"])
        case "account" | "choice" | "yes_no":
            return _chosen(each)
        case "whole":
            if not _WHOLE.fullmatch(text.strip()):
                raise NotTyped("a whole number")
            return int(text)
        case "number":
            return _decimal(text)
        case "json":
            return _json(text)
        case _:
            return text


def _chosen(each: Field) -> Any:
    for option in each.options:
        if option.text == each.text:
            return option.value
    raise NotTyped("one of the choices")


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise NotTyped("a number")
    return number


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise NotTyped("JSON") from None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _hint(made: list[Field], accounts: dict[str, dict[str, Any]]) -> None:
    """Beside each account: what the one amount of the call would leave in it, or make of it."""
    amounts = [each for each in made if each.kind == "money"]
    if len(amounts) != 1:
        return
    try:
        amount = money.parse(amounts[0].text, amounts[0].stands["currency"])
    except money.NotAnAmount:
        return
    for each in made:
        balance = accounts.get(each.text, {}).get("balance") if each.kind == "account" else None
        if not money.is_money(balance) or balance["currency"] != amount["currency"]:
            continue
        each.sign = -1 if each.name.startswith("from") else 1 if each.name.startswith("to") else 0
        if each.sign:
            each.balance = balance["minor"]
            left = money.show({**balance, "minor": balance["minor"] + each.sign * amount["minor"]})
            each.hint = f"{'Leaves' if each.sign < 0 else 'Becomes'} {left}"
