"""Texts that open a door: made here, kept only as SHA-256.

32 random bytes cannot be guessed, so a fast digest is enough, and looking the digest up by index tells nobody
how much of a wrong text was right.
"""

from __future__ import annotations

import hashlib
import secrets

TOKEN_PREFIX = "ags_"  # noqa: S105 - not a secret; lets scanners for leaked keys recognise ours


def new_token() -> str:
    """The text of a new API token."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def new_link() -> str:
    """The part of a sign-in link that makes it valid."""
    return secrets.token_urlsafe(32)


def new_password() -> str:
    """A random password that a person can copy by hand: 96 bits in four groups of hexadecimal figures."""
    text = secrets.token_hex(12)
    return "-".join(text[i : i + 6] for i in range(0, 24, 6))


def digest(text: str) -> str:
    """SHA-256 of `text` in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
