"""Reads settings from environment variables. A value that cannot work is refused in one line that names it.

An empty value is no value: the default holds. The password of a URL is never repeated.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from agentstate.errors import Refused

YES = frozenset({"1", "true", "yes", "on", "y", "t"})
NO = frozenset({"0", "false", "no", "off", "n", "f"})
PASSWORD = re.compile(r"(://[^/@]*?:)[^/]*(?=@)|(password\s*=\s*)(?:'[^']*'|\S+)", re.IGNORECASE)

Value = TypeVar("Value")


class BadSetting(Refused):
    """A setting cannot work."""

    code = "bad_setting"

    def __init__(self, name: str, value: str, problem: str) -> None:
        text = f"{name}={without_password(value)!r}: {' '.join(without_password(problem).split())}"
        super().__init__(text, setting=name)


def without_password(text: str) -> str:
    """A URL or conninfo, or what a program says of one, with asterisks for its password."""
    return PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text)


class Environment:
    """Environment variables by name, each in the form that the setting has."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables

    def text(self, name: str, default: str = "") -> str:
        """The text without spaces around it."""
        return self.variables.get(name, "").strip() or default

    def words(self, name: str, default: tuple[str, ...] = (), between: str = ",") -> list[str]:
        """The words between commas, without empty ones."""
        text = self.text(name)
        return [word.strip() for word in text.split(between) if word.strip()] if text else list(default)

    def flag(self, name: str, default: bool) -> bool:
        """Yes or no. Raises BadSetting for anything else."""

        def read(text: str) -> bool:
            if text.lower() not in YES | NO:
                raise ValueError("want yes or no")
            return text.lower() in YES

        return self.read(name, read, default)

    def whole(self, name: str, default: int, least: int = 0, most: int = 2**62) -> int:
        """A whole number from `least` to `most`. Raises BadSetting."""

        def read(text: str) -> int:
            if not re.fullmatch(r"[+-]?[0-9]{1,20}", text, re.ASCII) or not least <= int(text) <= most:
                limit = f"of at least {least}" if most == 2**62 else f"from {least} to {most}"
                raise ValueError(f"want a whole number {limit}")
            return int(text)

        return self.read(name, read, default)

    def number(self, name: str, default: float, least: float = 0.0, unit: str = "seconds") -> float:
        """A finite number of at least `least`. Raises BadSetting."""

        def read(text: str) -> float:
            try:
                found = float(text)
            except ValueError:
                found = math.nan
            if not math.isfinite(found) or found < least:
                raise ValueError(f"want a number of {unit}, at least {least:g}")
            return found

        return self.read(name, read, default)

    def choice(self, name: str, default: str, *others: str) -> str:
        """One of some words, in capitals or not. Raises BadSetting."""

        def read(text: str) -> str:
            if text.upper() not in (default, *others):
                raise ValueError(f"want one of {', '.join((default, *others))}")
            return text.upper()

        return self.read(name, read, default)

    def url(self, name: str, default: str = "") -> str:
        """An address that begins with http:// or https:// and names a host. Raises BadSetting."""

        def read(text: str) -> str:
            parts = urlsplit(text)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("want an address that begins with http:// or https://")
            return text

        return self.read(name, read, default)

    def path(self, name: str, is_right: Callable[[Path], bool] = Path.is_file) -> str:
        """The path of a file that is there, or with Path.is_dir of a folder. Raises BadSetting."""

        def read(text: str) -> str:
            if not is_right(Path(text)):
                raise ValueError(f"there is no such {'folder' if is_right is Path.is_dir else 'file'}")
            return text

        return self.read(name, read, "")

    def paths(self, name: str, is_right: Callable[[Path], bool] = Path.is_file) -> list[str]:
        """The paths between commas, of files that are there, or with Path.is_dir of folders. Raises BadSetting."""
        found = self.words(name)
        for word in found:
            if not is_right(Path(word)):
                raise BadSetting(name, word, f"there is no such {'folder' if is_right is Path.is_dir else 'file'}")
        return found

    def networks(self, name: str) -> list[str]:
        """Networks, as 10.1.0.0/16, with commas between. Raises BadSetting."""

        def read(text: str) -> list[str]:
            return [str(ipaddress.ip_network(word)) for word in self.words(name)]

        return self.read(name, read, [])

    def read(self, name: str, reads: Callable[[str], Value], default: Value) -> Value:
        """What `reads` makes of the text. A ValueError of it becomes BadSetting; no text is the default."""
        text = self.text(name)
        if not text:
            return default
        try:
            return reads(text)
        except ValueError as error:
            raise BadSetting(name, text, str(error)) from None
