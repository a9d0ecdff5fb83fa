"""Fills the registries when Django is ready: tools first, then the agents that use them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agentstate.errors import AgentStateError


def connect() -> None:
    """Import what registers itself."""
    from sessions.library import folders, in_force
    from sessions.tools.http import calls
    from sessions.tools.mcp import source

    calls.connect()
    source.connect()
    import sessions.privacy.proposal
    import sessions.privacy.subject_proposals
    import sessions.profiles.proposal
    import sessions.proofs.tools
    import sessions.releases.proposal
    import sessions.timers.tools
    import sessions.tools.human_request
    import sessions.tools.memory
    import sessions.tools.withdrawal  # noqa: F401

    _connect_own()
    folders.use(in_force.Rows())  # only now: what registers itself is checked as the folders have it
    from agentstate import structs
    from audit.export import report as reports
    from sessions.agents import model_choice
    from sessions.exports import report

    model_choice.configured()
    reports.register(report.render)
    structs.ready_all()


def _connect_own() -> None:
    """The installation's own library and agents. Raises ImproperlyConfigured naming what cannot be used: the
    process does not start.
    """
    from sessions.library import folders

    for folder in settings.LIBRARY_FOLDERS:
        try:
            folders.add(Path(folder).resolve())
        except AgentStateError as error:
            raise ImproperlyConfigured(f"LIBRARY_FOLDERS: {error.detail}") from error
    for name in settings.AGENT_MODULES:
        try:
            import_module(name)
        except (ImportError, ValueError, AgentStateError) as error:
            raise ImproperlyConfigured(f"AGENT_MODULES: {name}: {type(error).__name__}: {error}") from error
