"""What is raised while PostgreSQL or Valkey does not answer, and how logs tell of it: briefly.

An outage fails many things many times a second. Each needs no traceback of its own, and most no line.
"""

from __future__ import annotations

import logging
import threading
import time

import psycopg
from django.db import InterfaceError, OperationalError
from kombu.exceptions import OperationalError as BrokerDown
from redis.exceptions import RedisError

OUTAGES = (
    OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError, RedisError, BrokerDown,
)  # fmt: skip
EVERY = 10.0  # seconds between two lines of one sort


class Brief(logging.Filter):
    """Makes one line without a traceback of a record about an outage, and lets one of a sort pass in EVERY seconds.

    Records of one sort have the logger, the text before its values are put in, and the error's type in common.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._last: dict[tuple[str, str, str], tuple[float, int]] = {}  # when, and how many were left out since

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, OUTAGES):
            return True
        kind = (record.name, str(record.msg), type(error).__name__)
        now = time.monotonic()
        with self._lock:
            last, left_out = self._last.get(kind, (-EVERY, 0))
            if now - last < EVERY:
                self._last[kind] = (last, left_out + 1)
                return False
            self._last[kind] = (now, 0)
        told, why = (text.partition("\n")[0] for text in (record.getMessage(), str(error).strip()))
        record.msg = f"{told} ({type(error).__name__}: {why})"
        if left_out:
            record.msg += f" [{left_out} like this were left out]"
        record.args, record.exc_info, record.exc_text = None, None, None
        return True
