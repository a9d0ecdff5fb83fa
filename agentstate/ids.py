"""The only maker of identifiers: UUID version 7 (RFC 9562), so that ids made later sort later."""

from __future__ import annotations

from uuid import UUID

import uuid_utils


def new_id() -> UUID:
    """A fresh UUIDv7."""
    return UUID(bytes=uuid_utils.uuid7().bytes)
