"""What happens to the form of a session's state: it is carried to another version of its schema, or pruned.

A migration is recorded by what it did, not by how: folding it needs neither the migration nor its functions, so the
history stays what it was when either is gone.
"""

from __future__ import annotations

from typing import Any

from agentstate.engine.events.base import Event


class StateMigrated(Event, frozen=True, tag="state.migrated"):
    """The state was carried from version `before` of `schema` to version `after`.

    `put` and `gone` are its topmost values that are new or changed, and the names that are gone; `digest` is of the
    scratchpad after it. `moved` says where the results of open calls and contested paths stand now. `lossless`: the
    way back gives the same state. `held`: it stays at this version until somebody says otherwise. `instance`: it is of
    the scratchpad of an instance; that of the session itself comes last and settles the version.
    """

    schema: str
    before: int
    after: int
    put: dict[str, Any]
    gone: tuple[str, ...]
    digest: str
    lossless: bool
    moved: dict[str, str] = {}
    held: bool = False
    by: str = ""  # empty: it came by itself, with the next step of the session
    instance: str = ""
    v: int = 1


class StatePruned(Event, frozen=True, tag="state.pruned"):
    """What stood at `paths` is gone: no schema, rule, plan or tool reads it any more. `digest` is of the scratchpad
    after it.
    """

    paths: tuple[str, ...]
    digest: str
    by: str
    v: int = 1
