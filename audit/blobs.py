"""Many byte strings as one parameter, in PostgreSQL's binary form of `bytea[]`.

psycopg sends lists too, but finds out their type element by element, which for the few entries of an append takes
longer than encrypting them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_BYTEA = psycopg.adapters.types["bytea"]
_HEAD = struct.Struct("!iiIii")  # dimensions, whether there are NULLs, type of the elements, how many, first index
_LENGTH = struct.Struct("!i")
OID = _BYTEA.array_oid


class Blobs(tuple[bytes, ...]):
    """Byte strings to be sent as one `bytea[]`."""

    __slots__ = ()


def packed(blobs: Sequence[bytes], of: int = _BYTEA.oid) -> bytes:
    """The binary form of an array; `of` is the type of its elements."""
    pieces = [_HEAD.pack(1, 0, of, len(blobs), 1)]
    for blob in blobs:
        pieces += (_LENGTH.pack(len(blob)), blob)
    return b"".join(pieces)


class _BlobsDumper(Dumper):
    format = Format.BINARY
    oid = OID

    def dump(self, obj: Blobs) -> bytes:
        return packed(obj)


psycopg.adapters.register_dumper(Blobs, _BlobsDumper)
