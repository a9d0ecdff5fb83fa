"""The Celery application. Workers and beat load it by name (`-A agentstate.celery`); importing `agentstate` does
not.
"""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import task_prerun, worker_init

from agentstate import starting

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentstate.settings")
starting.configured_or_leave()

app = Celery("agentstate")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["sessions"])


@worker_init.connect
def _ready_to_work(**_: object) -> None:
    """A worker that could not read what was said does not start; what its threads read is made before them."""
    starting.able_to_sign_or_leave()
    from agentstate import structs
    from audit.keys import start  # needs the apps

    start.check_or_leave()
    structs.ready_all()


@task_prerun.connect
def _connections_that_stand(**_: object) -> None:
    from agentstate import lasting  # needs the settings

    lasting.let_go_of_the_broken()
