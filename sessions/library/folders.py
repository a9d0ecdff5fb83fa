"""Named files in versions: the product's own (`sessions/shipped`) and those of each folder that LIBRARY_FOLDERS names.

Every folder has the same form. Each of its subfolders is a kind: `policies`, `charts`, `state_schemas`, `talks`,
`profiles`. A module of each kind says what its files mean. A name belongs to one folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from agentstate.errors import Refused

SHIPPED = Path(__file__).resolve().parent.parent / "shipped"
ORIGIN = "shipped"  # of what comes with the product
KINDS = ("policies", "charts", "state_schemas", "talks", "profiles")
_installed: list[Path] = []
_caches: list[Callable[[], None]] = []
Function = TypeVar("Function", bound=Callable[..., Any])


class BadLibrary(Refused):
    """A folder of versioned files cannot be used."""

    code = "bad_library"


class File(msgspec.Struct, frozen=True):
    """One file: its path below the kind's folder (`bank/1.json`), its bytes, and the folder that it is from."""

    path: str
    data: bytes
    origin: str

    @property
    def name(self) -> str:
        """The name that the file is a version of: `bank` of `bank/1.json`, of `bank.2.json` and of `bank.json`."""
        return self.path.split("/")[0].split(".")[0]


def cached(function: Function) -> Function:
    """Returns the function with a cache that `forget` empties: for what is made of files."""
    kept = lru_cache(maxsize=None)(function)
    _caches.append(kept.cache_clear)
    return kept  # type: ignore[return-value]


def forget() -> None:
    """Empties every cache of what was made of files."""
    for clear in _caches:
        clear()


def add(folder: Path) -> None:
    """Adds an installation's folder. Raises BadLibrary naming what is wrong with it."""
    if not folder.is_dir():
        raise BadLibrary(f"{folder}: there is no such folder")
    if folder in _installed:
        return
    for kind in KINDS:
        taken = {file.name: file.origin for file in files(kind).values()}
        for file in _read(folder, kind).values():
            if file.name in taken:
                raise BadLibrary(f"{folder}: {kind} of {file.name!r} are in {taken[file.name]} already")
    _installed.append(folder)
    forget()


@cached
def files(kind: str) -> Mapping[str, File]:
    """Returns every file of a kind, by its path below the folder."""
    found: dict[str, File] = {}
    for folder in (SHIPPED, *_installed):
        found |= _read(folder, kind)
    return found


def _read(folder: Path, kind: str) -> dict[str, File]:
    home, origin = folder / kind, ORIGIN if folder == SHIPPED else str(folder)
    paths = sorted(path for path in home.rglob("*.json") if path.is_file())
    return {(where := path.relative_to(home).as_posix()): File(where, path.read_bytes(), origin) for path in paths}
