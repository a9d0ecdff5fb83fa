"""The definitions of agents that requests were made with, each stored once under the digest of its bytes.

Instructions and tools change with deployments; a step names the definition that it was asked with, so its request can
be made again afterwards. Rows are only ever added. One is written before the step that names it commits: a crash
between the two leaves a definition that nobody names.
"""

from __future__ import annotations

import threading

from django.db import connection

from agentstate.errors import Broken, NotFound
from audit import ledger
from sessions.agents.definition import Definition, digest_of, form_of, from_bytes
from sessions.agents.registry import Agent

_kept: set[tuple[str, str]] = set()  # database and digest: what this process knows to be stored
_lock = threading.Lock()


class UnknownDefinition(NotFound):
    """The definition that this step was asked with is not stored."""

    code = "unknown_definition"


def keep(agent: Agent) -> str:
    """Store the agent's definition unless it is stored; its digest."""
    data, digest = form_of(agent)
    key = (str(connection.settings_dict["NAME"]), digest)
    if key not in _kept:
        ledger.run(
            "INSERT INTO agent_sessions_agentdefinition (digest, body) VALUES (%(digest)s, %(body)s)"
            " ON CONFLICT DO NOTHING",
            {"digest": digest, "body": data},
        )
        if not connection.in_atomic_block:  # else it may yet be rolled back
            with _lock:
                _kept.add(key)
    return digest


def forget_all() -> None:
    """Drop what this process knows to be stored."""
    with _lock:
        _kept.clear()


def stored(digest: str) -> Definition:
    """The definition of that digest, compared with it. Raises UnknownDefinition, Broken."""
    rows = ledger.run("SELECT body FROM agent_sessions_agentdefinition WHERE digest = %(digest)s", {"digest": digest})
    if not rows:
        raise UnknownDefinition(digest[:64])
    data = bytes(rows[0][0])
    if digest_of(data) != digest:
        raise Broken(f"the definition stored as {digest} is another")
    return from_bytes(data)
