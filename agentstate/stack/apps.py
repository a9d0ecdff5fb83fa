"""Makes `manage.py up` known to Django. The app has no models and no tables."""

from __future__ import annotations

from django.apps import AppConfig


class StackConfig(AppConfig):
    """The app that holds the `up` command."""

    name = "agentstate.stack"
    label = "stack"
    verbose_name = "Servers and programs"
