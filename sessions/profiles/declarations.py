"""Which declaration of profiles an agent works under: the file beside it that bears its name, if there is one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from agentstate.engine.profile import Declaration, load

DECLARATIONS = Path(__file__).resolve().parent.parent / "shipped" / "profiles"


@lru_cache
def for_agent(name: str) -> Declaration | None:
    """The declaration in `sessions/shipped/profiles/<agent>.json`; None for an agent without a profile."""
    return load((DECLARATIONS / f"{name}.json").read_bytes()) if name in agents() else None


@lru_cache
def agents() -> tuple[str, ...]:
    """The agents that keep profiles."""
    return tuple(sorted(path.stem for path in DECLARATIONS.glob("*.json")))
