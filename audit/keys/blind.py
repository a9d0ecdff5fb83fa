"""Blind indexes: keyed tokens by which a customer or an account is found, and guessed by nobody without the key.

Each tenant has one blind-index key, wrapped and stored as the subjects' keys are. It is no function of the
key-encryption key, so tokens outlive a rotation. Each purpose has a key of its own, derived from it: equal texts of
two purposes or two tenants cannot be recognised as equal.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable
from uuid import UUID

from django.db import connection, transaction

from audit.keys.encryption import KEY, Wrapped
from audit.keys.wrapping import unwrap, wrap

LABEL = b"agentstate/blind/v2"

_held: dict[UUID, bytes] = {}


def blind_token(tenant: UUID, purpose: str, text: str) -> bytes:
    """A keyed token of `text`, 32 bytes: equal texts of one tenant and purpose give equal tokens."""
    return blind_tokens(tenant, purpose, [text])[text]


def blind_tokens(tenant: UUID, purpose: str, texts: Iterable[str]) -> dict[str, bytes]:
    """`blind_token` of many."""
    purpose_key = hmac.digest(blind_key(tenant), LABEL + purpose.encode(), "sha256")
    return {text: hmac.digest(purpose_key, text.encode(), "sha256") for text in texts}


def blind_key(tenant: UUID) -> bytes:
    """The tenant's blind-index key, made at first use."""
    held = _held.get(tenant)
    if held is not None:
        return held
    with connection.cursor() as cursor:
        found = _find(tenant)
        if found is None:
            made = wrap(os.urandom(KEY), tenant.bytes)
            cursor.execute(
                "INSERT INTO audit_blindkey (tenant, kek_ref, wrapped, created) VALUES (%s, %s, %s, now())"
                " ON CONFLICT DO NOTHING",
                [tenant, made.kek_ref, made.data],
            )
            found = _find(tenant)
    assert found is not None  # of two who make it, one finds the other's
    key = unwrap(found, tenant.bytes)
    transaction.on_commit(lambda: _held.update({tenant: key}))  # one that is rolled back must be remembered by nobody
    return key


def forget() -> None:
    """Drop the keys from this process's memory."""
    _held.clear()


def _find(tenant: UUID) -> Wrapped | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT kek_ref, wrapped FROM audit_blindkey WHERE tenant = %s", [tenant])
        row = cursor.fetchone()
    return Wrapped(row[0], bytes(row[1])) if row else None
