"""Django's secret key: the environment's, else the one that `up` made in the state directory with its own servers.

It signs sessions, forms, known browsers and what a reviewer's page showed. Without one the setting is empty, and Django
refuses to sign. Every host of one installation needs the same key.
"""

from __future__ import annotations

from pathlib import Path

from agentstate.environment import BadSetting
from agentstate.errors import Refused

SHORTEST = 32  # characters; `up` makes 64


class NoSecretKey(Refused):
    """There is no secret key."""

    code = "no_secret_key"

    @classmethod
    def at(cls, state_dir: Path) -> NoSecretKey:
        """The refusal of a process whose state directory holds no key."""
        remedy = "Set SECRET_KEY, the same on every host; where `manage.py up` runs the servers, it makes one."
        return cls(f"SECRET_KEY is not set and {_file(state_dir)} does not exist. {remedy}")


def secret_key(from_environment: str, state_dir: Path) -> str:
    """The key, or "" where there is none. Raises BadSetting for one that is short enough to guess."""
    file = _file(state_dir)
    if from_environment:
        return _checked("SECRET_KEY", from_environment)
    try:
        return _checked(str(file), file.read_text().strip()) if file.exists() else ""
    except PermissionError:
        raise NoSecretKey(f"{file} cannot be read: it belongs to another user.") from None


def _checked(name: str, key: str) -> str:
    if len(key) < SHORTEST or len(set(key)) < 8:
        raise BadSetting(name, "...", f"want at least {SHORTEST} random characters")
    return key


def _file(state_dir: Path) -> Path:
    return state_dir / "secrets" / "django.key"
