"""Tells the open sockets of a person to close: a hint over the channel layer, sent after the commit.

Consumers join `User.channel_group` when they connect and close on `people.revoked`. Whoever is still entitled
may connect again at once. Where the hint is lost (the layer is down), permission is refused at the next
question anyway.
"""

from __future__ import annotations

from uuid import UUID

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

REVOKED = {"type": "people.revoked"}


def close_sockets_on_commit(user_id: UUID, group: str) -> None:
    """Have this person's sockets closed once the running transaction is committed. A failure is logged."""

    def close() -> None:  # a named function: Django's robust hooks log its __qualname__, which a partial lacks
        close_sockets(user_id, group)

    transaction.on_commit(close, robust=True)


def close_sockets(user_id: UUID, group: str) -> None:
    layer = get_channel_layer()
    if layer is not None:
        async_to_sync(layer.group_send)(group, {**REVOKED, "user": str(user_id)})
