"""Keys: one per data subject, wrapped by the installation's key-encryption key; entry keys are derived from them.

Who loses the key-encryption key loses every payload, who steals only the database reads none. Read in this order:
`encryption` (the key-encryption key and where it is kept), `wrapping`, `blind` (indexes), `subjects`, `sealing`
(what is encrypted), `rotation` and `start` (is the right key here?). docs/keys.md says what to back up.
"""

from __future__ import annotations

from audit.keys.blind import blind_token
from audit.keys.errors import BadKeyFile, Erased, Unreadable
from audit.keys.sealing import ENTRY_LABEL, SALT, decrypt, derive, encrypt, entry_okm, seal, token, unseal
from audit.keys.subjects import (
    CACHE_SECONDS,
    closed,
    destroyed,
    forget_all,
    forget_stale,
    gone,
    known_kid,
    known_kids,
    remembered,
    subject_key,
    subject_kid,
    subject_kids,
    warm,
)

__all__ = [
    "CACHE_SECONDS",
    "ENTRY_LABEL",
    "SALT",
    "BadKeyFile",
    "Erased",
    "Unreadable",
    "blind_token",
    "closed",
    "decrypt",
    "derive",
    "destroyed",
    "encrypt",
    "entry_okm",
    "forget_all",
    "forget_stale",
    "gone",
    "known_kid",
    "known_kids",
    "remembered",
    "seal",
    "subject_key",
    "subject_kid",
    "subject_kids",
    "token",
    "unseal",
    "warm",
]
