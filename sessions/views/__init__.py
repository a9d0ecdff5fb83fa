"""The pages: read a request, call a command or a query, render. Who may do what is decided there, never here."""

from __future__ import annotations

from sessions.views.shell import home, shell
from sessions.views.wall import wall, wall_changes

__all__ = ["home", "shell", "wall", "wall_changes"]
