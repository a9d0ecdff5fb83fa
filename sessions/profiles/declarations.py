"""Which declaration of profiles an agent works under: the file beside it that bears its name, if there is one."""

from __future__ import annotations

from agentstate.engine.profile import Declaration, load
from sessions.library import folders

KIND = "profiles"


@folders.cached
def for_agent(name: str) -> Declaration | None:
    """The declaration in `profiles/<agent>.json` of the library; None for an agent without a profile."""
    return load(folders.files(KIND)[f"{name}.json"].data) if name in agents() else None


@folders.cached
def agents() -> tuple[str, ...]:
    """The agents that keep profiles."""
    return tuple(sorted(path.removesuffix(".json") for path in folders.files(KIND)))
