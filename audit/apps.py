"""The ledger: append, prove, encrypt, erase, export, verify."""

from __future__ import annotations

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The app `audit`. It knows logs and entries, not sessions."""

    name = "audit"
    label = "audit"

    def ready(self) -> None:
        import audit.blobs  # noqa: F401 - before the first connection, which copies what psycopg can send
