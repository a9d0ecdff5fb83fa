"""`manage.py monitor`: follow anybody's public log. The same as `python -m audit.monitor`, which needs no Django."""

from __future__ import annotations

import argparse
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from audit import monitor


class Command(BaseCommand):
    """Needs neither our database nor our state directory."""

    help = "Follow a public log: recompute all that it says, and keep evidence of what does not hold."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        monitor.add_arguments(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        if status := monitor.follow(argparse.Namespace(**options)):
            sys.exit(status)
