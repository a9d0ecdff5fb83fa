"""The Celery application. Workers and beat load it by name (`-A agentstate.celery`); importing `agentstate` does
not.
"""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentstate.settings")

app = Celery("agentstate")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["sessions"])
