"""Secrets by name: `bank_token`. Looked up at the instant of a call, kept nowhere, shown by nothing.

With OUTSIDE_SECRETS = `file` a secret is the file of that name in `secrets/tools` of the state directory, readable by
its owner alone; with `environment` the variable TOOL_SECRET_<NAME>; otherwise a class's dotted path.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from sessions.outside.refusals import NotReached
from sessions.outside.secret import Secret

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
MOST = 8_192  # bytes of one secret


class NoSecret(NotReached):
    """A secret that this needs is not there, or others may read it."""

    code = "no_secret"


class Provider(Protocol):
    """Where secrets are."""

    def read(self, name: str) -> str:
        """The secret of that name. Raises NoSecret, whose detail may name the secret and never hold it."""


class Files:
    """A file each."""

    def read(self, name: str) -> str:
        """The file's text, without white space around it."""
        try:
            with (Path(settings.STATE_DIR) / "secrets" / "tools" / name).open("rb") as file:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                    raise NoSecret(f"{name}: its file must be readable by its owner alone (0600).")
                return file.read(MOST).decode("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise NoSecret(f"{name}: its file cannot be read.") from None


class Environment:
    """A variable each."""

    def read(self, name: str) -> str:
        """The variable's value."""
        return os.environ.get(f"TOOL_SECRET_{name.upper()}", "").strip()


@lru_cache
def _provider(wanted: str) -> Provider:
    if wanted in ("file", "environment"):
        return Files() if wanted == "file" else Environment()
    try:
        made: Provider = import_string(wanted)()
    except ImportError as error:
        raise ImproperlyConfigured(f"OUTSIDE_SECRETS: {error}") from error
    return made


def named(name: str) -> Secret:
    """The secret of that name. Raises NoSecret."""
    if not NAME.fullmatch(name):
        raise NoSecret("that is no name of a secret.")
    value = _provider(settings.OUTSIDE_SECRETS).read(name)
    if not value:
        raise NoSecret(f"{name}: it is empty.")
    if not value.isascii() or not value.isprintable():
        raise NoSecret(f"{name}: it holds characters that no header takes.")
    return Secret(value)


def is_there(name: str) -> bool:
    """Whether the secret can be read, for lists and checks."""
    try:
        return bool(named(name))
    except NoSecret:
        return False
