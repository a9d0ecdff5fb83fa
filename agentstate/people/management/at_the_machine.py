"""What the account commands share: finding people, reading a password, and saying a refusal in one line.

Somebody who can run manage.py holds the machine, so these commands act without a user (`by=None`); the trail
names the actor `system`.
"""

from __future__ import annotations

import getpass
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentstate.errors import Refused


class PeopleCommand(BaseCommand):
    """A command whose refusals are one line on stderr and exit code 1, never a traceback."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except Refused as refused:
            raise CommandError(f"{refused} {refused.remedy}".strip()) from refused


def read_password(path: str | None) -> str:
    """The first line of the file, or what is typed twice at the prompt. Raises CommandError."""
    if path is not None:
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"Cannot read the password from {path}: {error}.") from error
        return lines[0] if lines else ""
    if not sys.stdin.isatty():
        raise CommandError("There is no terminal to ask for a password: use --password-file FILE.")
    first = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != first:
        raise CommandError("The two passwords differ. Nothing was changed.")
    return first


def write_secret(path: Path, text: str) -> None:
    """Put `text` into a file that only its owner reads, whole or not at all: a crash leaves the old file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
