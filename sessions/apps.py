"""The app that runs and shows agent sessions. Its label is `agent_sessions`: Django's own app has the plain one."""

from __future__ import annotations

from django.apps import AppConfig


class AgentSessionsConfig(AppConfig):
    """The app `agent_sessions`."""

    name = "sessions"
    label = "agent_sessions"

    def ready(self) -> None:
        from sessions.web import wiring

        wiring.connect()
