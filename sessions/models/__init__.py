"""The tables of this app, one module for each feature that has tables. Django finds them through this package."""

from sessions.models import alerts, library, notifications, proposals, sessions, tools, triggers  # noqa: F401
