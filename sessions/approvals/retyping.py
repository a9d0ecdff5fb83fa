"""What a reviewer types themselves before they may approve: a field for each path that the terms name.

The figure stands nowhere in the field; what is typed is compared, in the command, with what would execute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from agentstate.engine.policy.terms import argument_at
from sessions.approvals.forms import NotTyped
from sessions.descriptions import values as descriptions_values
from sessions.text import money

PREFIX = "retype."


@dataclass
class Retyped:
    """One value to be typed. `path` is as the terms name it: `arguments.amount.minor`."""

    path: str
    currency: str  # where it is an amount of money; empty: it is none
    whole: bool  # whether it is the amount itself, and not its minor units
    sample: Any  # a value of the type that is wanted
    text: str = ""
    error: str = ""

    @property
    def id(self) -> str:
        """The input's id and name."""
        return f"{PREFIX}{self.path}"

    @property
    def label(self) -> str:
        """The argument's name in words."""
        parts = self.path.split(".")[1:]
        return descriptions_values.plain(parts[-2] if self.currency and not self.whole else parts[-1])

    @property
    def to_type(self) -> str:
        """What to do where nothing was typed."""
        like = f", as {money.figures(money.example(self.currency))}" if self.currency else ""
        return f"Type the {self.label.lower()} yourself{like}."

    @property
    def is_other(self) -> str:
        """What to do where something else was typed than would be sent."""
        return f"You typed {self.symbol}{self.text.strip()}, the call sends another. Correct it here, or edit the call."

    @property
    def is_absent(self) -> bool:
        """Whether the call has no such value: the field stays empty."""
        return self.sample is None

    @property
    def symbol(self) -> str:
        """The currency's sign, where it is money."""
        return money.symbol(self.currency) if self.currency else ""

    def value(self) -> Any:
        """What was typed, as a value of its type. Raises NotTyped, money.NotAnAmount."""
        if self.is_absent:
            return self.text.strip() or None
        if self.currency:
            amount = money.parse(self.text, self.currency)
            return amount if self.whole else amount["minor"]
        if isinstance(self.sample, bool):
            return self.text.strip().lower() == "yes"
        if isinstance(self.sample, int | Decimal):
            return _number(self.text, self.sample)
        return self.text.strip()


def _number(text: str, sample: int | Decimal) -> int | Decimal:
    try:
        return int(text) if isinstance(sample, int) else Decimal(text.strip())
    except (ValueError, InvalidOperation):
        raise NotTyped("a number") from None


def retyped(paths: tuple[str, ...], arguments: Mapping[str, Any], typed: Mapping[str, str]) -> list[Retyped]:
    """The fields for `paths`, with what was typed into them. Of a value that the call does not have, the field stays
    empty.
    """
    return [_field(path, arguments, typed) for path in paths]


def _field(path: str, arguments: Mapping[str, Any], typed: Mapping[str, str]) -> Retyped:
    text = typed.get(f"{PREFIX}{path}", "")
    try:
        value = argument_at(arguments, path)
        above = argument_at(arguments, path.rpartition(".")[0]) if path.count(".") > 1 else None
    except (LookupError, ValueError):
        return Retyped(path, "", False, None, text)
    whole = money.is_money(value)
    amount = value if whole else above if path.endswith(".minor") and money.is_money(above) else None
    currency = amount["currency"] if isinstance(amount, dict) else ""
    return Retyped(path, currency, whole, value, text)


def read(fields: list[Retyped]) -> dict[str, Any] | None:
    """The values by path; None when one cannot be read, which then bears its error."""
    values: dict[str, Any] = {}
    for each in fields:
        try:
            values[each.path] = each.value()
        except (NotTyped, money.NotAnAmount) as wanted:
            each.error = f"Type {wanted}." if each.text.strip() else each.to_type
    return None if any(each.error for each in fields) else values
