"""Named files in versions: the product's own (`sessions/shipped`) and those of each folder that LIBRARY_FOLDERS names.

Every folder has the same form. Each of its subfolders is a kind, and a module of each kind says what its files mean. A
name belongs to one folder.

A folder proposes. A name that was never in force is in force as its folder has it. From then on the rows of
`LibraryVersion` say what is in force, whatever the folder has (`sessions.releases`): a process asks them through `use`.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from agentstate.errors import Refused

SHIPPED = Path(__file__).resolve().parent.parent / "shipped"
ORIGIN = "shipped"  # of what comes with the product
KINDS = ("policies", "charts", "state_schemas", "talks", "profiles", "prices")
EVERY = 2.0  # seconds between two looks at what is in force
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


Files = Mapping[str, File]  # by path
Names = Mapping[tuple[str, str], Files]  # by kind and name


class Source(Protocol):
    """What says which files are in force. Its revision grows with each change."""

    def revision(self) -> int:
        """Returns the number of the last change; 0 for none."""
        ...

    def in_force(self) -> Names:
        """Returns the files of each name that was ever in force."""
        ...


class _Library:
    """What this process read of folders, and what its source said last."""

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.proposed: dict[tuple[str, str], Files] = {}
        self.source: Source | None = None
        self.revision = 0
        self.next_look = 0.0
        self.in_force: Names = {}


_library = _Library()
_caches: list[Callable[[], None]] = []
_looking = threading.Lock()


def cached(function: Function) -> Function:
    """Returns the function with a cache for what is made of files: it is emptied when other files are in force."""
    kept = lru_cache(maxsize=None)(function)
    _caches.append(kept.cache_clear)

    @wraps(function)
    def current(*given: Any) -> Any:
        _refresh()
        return kept(*given)

    current.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
    return current  # type: ignore[return-value]


def on_change(clear: Callable[[], None]) -> None:
    """Registers a cache to empty when other files are in force."""
    _caches.append(clear)


def forget() -> None:
    """Empties every cache of what was made of files; the source is asked at the next use."""
    _library.next_look = 0.0
    for clear in _caches:
        clear()


def use(source: Source | None) -> None:
    """Asks `source` which files are in force. With None the folders are in force."""
    _library.source, _library.revision, _library.in_force = source, 0, {}
    forget()


@contextmanager
def as_proposed() -> Iterator[None]:
    """Within it the folders are in force: for checking what they propose."""
    source = _library.source
    use(None)
    try:
        yield
    finally:
        use(source)


def _refresh() -> None:
    """Takes over what is in force now, at most every two seconds.

    A source that does not answer raises here, and threads wait for the first answer: no folder is in force meanwhile.
    """
    if _library.source is None or time.monotonic() < _library.next_look:
        return
    with _looking:
        if (source := _library.source) is None or time.monotonic() < _library.next_look:
            return
        revision = source.revision()
        if revision != _library.revision:
            _library.in_force = source.in_force()
            _library.revision = revision
            for clear in _caches:
                clear()
        _library.next_look = time.monotonic() + EVERY


def add(folder: Path) -> None:
    """Adds an installation's folder. Raises BadLibrary naming what is wrong with it."""
    if folder in _library.folders:
        return
    if not folder.is_dir():
        raise BadLibrary(f"{folder}: there is no such folder")
    found = _read(folder, str(folder))
    for kind, name in sorted(found):
        if (held := _library.proposed.get((kind, name))) is not None:
            raise BadLibrary(f"{folder}: {kind} of {name!r} are in {origin_of(held)} already")
    _library.folders.append(folder)
    _library.proposed |= found
    forget()


@contextmanager
def added(folder: Path) -> Iterator[None]:
    """Within it the folder belongs to the library. Raises BadLibrary."""
    before, names = list(_library.folders), dict(_library.proposed)
    add(folder)
    try:
        yield
    finally:
        _library.folders, _library.proposed = before, names
        forget()


def proposed() -> Names:
    """Returns the files of each name as the folders had them when this process started."""
    return dict(_library.proposed)


@cached
def files(kind: str) -> Files:
    """Returns the files of a kind that are in force, by path."""
    names = {**_library.proposed, **_library.in_force}
    return {path: file for (each, _), held in sorted(names.items()) if each == kind for path, file in held.items()}


def origin_of(files: Files) -> str:
    """Returns where the files of one name are from."""
    return next(iter(files.values())).origin


def digest_of(files: Files) -> str:
    """Returns the SHA-256, in hex, of the paths and bytes of the files of one name."""
    whole = hashlib.sha256()
    for path, file in sorted(files.items()):
        whole.update(f"{path}\0{hashlib.sha256(file.data).hexdigest()}\n".encode())
    return whole.hexdigest()


def _read(folder: Path, origin: str) -> dict[tuple[str, str], Files]:
    """Returns the files of each name in a folder."""
    found: dict[tuple[str, str], dict[str, File]] = {}
    for kind in KINDS:
        for path in sorted((folder / kind).rglob("*.json")):
            file = File(path.relative_to(folder / kind).as_posix(), path.read_bytes(), origin)
            found.setdefault((kind, file.name), {})[file.path] = file
    return dict(found)


_library.proposed |= _read(SHIPPED, ORIGIN)
