"""Exports: one session as one file that an outsider can verify without us.

bundle.py says what goes in, archive.py how it is packed, source.py where it comes from, report.py what a
person reads. audit/verify.py defines the shape of the archive and reads it all back.
"""

from __future__ import annotations

import logging
from uuid import UUID

_log = logging.getLogger(__name__)


def record_export(log: UUID, by: str) -> None:
    """Record that `by` (an actor's id) is about to get an export of `log`; called before the first byte."""
    _log.info("export of log %s by %s", log, by)
