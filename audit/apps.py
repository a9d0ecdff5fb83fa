"""The ledger: append, prove, encrypt, erase, export, verify."""

from __future__ import annotations

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The app `audit`. It knows logs and entries, not sessions."""

    name = "audit"
    label = "audit"
