"""What can be wrong with a key."""

from __future__ import annotations

from agentstate.errors import Broken


class Erased(Broken):
    """The key of this data subject was destroyed."""

    code = "erased"
    status = 410


class BadKeyFile(Broken):
    """The key-encryption key cannot be used."""

    code = "bad_key_file"


class Unreadable(Broken):
    """A ciphertext does not open under the key of its subject."""

    code = "unreadable"
