"""Fills the registries when Django is ready: tools first, then the agents that use them."""

from __future__ import annotations


def connect() -> None:
    """Import what registers itself."""
    from sessions.tools.http import running
    from sessions.tools.mcp import source

    running.connect()
    source.connect()
    import sessions.agents.bank
    import sessions.tools.bank
    import sessions.tools.people
    import sessions.tools.proofs
    import sessions.tools.timers  # noqa: F401
    from agentstate import structs
    from audit.export import report as reports
    from sessions import report
    from sessions.agents import choice

    choice.configured()
    reports.register(report.render)
    structs.ready_all()
