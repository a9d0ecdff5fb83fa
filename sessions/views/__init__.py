"""The pages: read a request, call a command or a query, render. Who may do what is decided there, never here."""

from __future__ import annotations

from sessions.views.audit import session_audit, session_export, session_vkey
from sessions.views.chat import chat, chat_changes, chat_say, chat_with
from sessions.views.decisions import decision, decision_changes, decisions
from sessions.views.lists import audit, sessions
from sessions.views.session import session, session_changes
from sessions.views.shell import home, shell
from sessions.views.wall import wall, wall_changes

__all__ = [
    "audit",
    "chat",
    "chat_changes",
    "chat_say",
    "chat_with",
    "decision",
    "decision_changes",
    "decisions",
    "home",
    "session",
    "session_audit",
    "session_changes",
    "session_export",
    "session_vkey",
    "sessions",
    "shell",
    "wall",
    "wall_changes",
]
