"""Celery's clock, of which many may run and one ticks.

What is missed while none ticks is not lost: ticks are hints, and what is due stands in rows (`clock`, `sweeper`).
"""

from __future__ import annotations

from typing import Any

from django_celery_beat.schedulers import DatabaseScheduler

from sessions.automation.triggers.leader import HEARTBEAT, Office


class Elected(DatabaseScheduler):  # type: ignore[misc]
    """Django's scheduler while it is the elected one; otherwise it waits for the place."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.office = Office()
        super().__init__(*args, **options)

    def tick(self, *args: Any, **options: Any) -> float:
        """Send what is due; seconds until the next look."""
        held = self.office.held
        if not self.office.is_ours():
            self._heap = None  # whoever ticks meanwhile writes down what was sent
            return HEARTBEAT
        if not held:
            self._initial_read = True
        return min(float(super().tick(*args, **options)), HEARTBEAT)

    def close(self) -> None:
        """Write down what was sent, and give the place back."""
        super().close()
        self.office.leave()
