"""Values put into what is sent, and taken out of what is answered.

A template is JSON; an object `{"$from": "arguments.amount"}` in it stands for the value at that path. One whose path
leads nowhere is left out of the object or list around it. Paths name members, and items of lists by number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from agentstate.errors import Invalid
from sessions.text import money

FROM = "$from"
SENDING = ("arguments", "session", "call", "view")
TAKING = ("answer", "arguments")
UNDOING = ("arguments", "result")
NOTHING = msgspec.UNSET
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_IN_TEXT = re.compile(r"\{([^{}]*)\}")


def check(template: Any, roots: tuple[str, ...], field: str, refusal: type[Invalid]) -> None:
    """Raises `refusal` naming a path that cannot be one, or begins with none of `roots`."""
    if isinstance(template, dict):
        if FROM in template:
            path = template[FROM]
            known = isinstance(path, str) and _PATH.fullmatch(path) and path.split(".")[0] in roots
            if not known or len(template) != 1:
                raise refusal(f"{field}: want a path that begins with one of {', '.join(roots)}", field=field)
            return
        for name, each in template.items():
            check(each, roots, f"{field}.{name}", refusal)
    elif isinstance(template, list):
        for number, each in enumerate(template):
            check(each, roots, f"{field}.{number}", refusal)


def check_text(template: str, field: str, refusal: type[Invalid]) -> None:
    """The same for the paths in a text, which begin with `arguments`."""
    for path in _IN_TEXT.findall(template):
        check({FROM: path}, ("arguments",), field, refusal)


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with its values; NOTHING if it is itself a path that leads nowhere."""
    if isinstance(template, dict):
        if FROM in template:
            return found(template[FROM], values)
        members = ((name, filled(each, values)) for name, each in template.items())
        return {name: value for name, value in members if value is not NOTHING}
    if isinstance(template, list):
        return [value for each in template if (value := filled(each, values)) is not NOTHING]
    return template


def found(path: str, values: Any) -> Any:
    """The value at a path, or NOTHING."""
    for part in path.split("."):
        if isinstance(values, Mapping) and part in values:
            values = values[part]
        elif isinstance(values, list) and part.isdigit() and int(part) < len(values):
            values = values[int(part)]
        else:
            return NOTHING
    return values


def said(template: str, values: Mapping[str, Any]) -> str:
    """A text with its values in plain words; amounts of money as people write them."""
    return _IN_TEXT.sub(lambda match: _plain(found(match[1], values)), template)


def _plain(value: Any) -> str:
    if value is NOTHING or value is None:
        return "nothing"
    if money.is_money(value):
        return money.show(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()[:200]
    return str(value)[:200]
