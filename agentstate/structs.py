"""Structs are made ready before there are threads.

msgspec (0.22.0) makes what it needs to read a struct when it first reads one, and lets the struct be seen before that
is whole: a second thread that comes in between reads through a null pointer and takes the process with it. Workers
died of it. So whoever is about to start threads makes all structs ready first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec

OURS = ("agentstate.", "audit.", "sessions.")


def ready_all() -> list[type[msgspec.Struct]]:
    """Make every struct of ours that is imported by now ready to be read; gives them."""
    made = [struct for struct in _below(msgspec.Struct) if struct.__module__.startswith(OURS)]
    for struct in made:
        with suppress(Exception):  # it holds what JSON has no form for, a function say: such a one is never read
            msgspec.json.Decoder(struct)
    return made


def _below(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in struct.__subclasses__():
        yield each
        yield from _below(each)
