"""Folders of the library: their form, one folder for a name, and what a source says is in force."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.library import folders
from sessions.library.folders import BadLibrary, File, Files, Names


class Rows:
    """A source whose answer a test sets; with None it does not answer."""

    def __init__(self, held: Files | None) -> None:
        self.held = held
        self.asked = 0

    def revision(self) -> int:
        self.asked += 1
        if self.held is None:
            raise ConnectionError("no database")
        return 1

    def in_force(self) -> Names:
        assert self.held is not None
        return {("talks", "desk"): self.held}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "desk.json").write_text("new")
    with folders.added(tmp_path):
        yield tmp_path
        folders.use(None)


def test_what_a_source_says_is_in_force_whatever_the_folder_has(desk: Path):
    assert folders.files("talks")["desk.json"].data == b"new"
    folders.use(Rows({"desk.json": File("desk.json", b"old", "shipped")}))
    assert folders.files("talks")["desk.json"].data == b"old"


def test_a_source_that_does_not_answer_never_lets_the_folder_be_in_force(desk: Path):
    rows = Rows(None)
    folders.use(rows)
    for _ in range(3):
        with pytest.raises(ConnectionError):
            folders.files("talks")
    assert rows.asked == 3


def test_a_source_is_asked_at_most_every_two_seconds(desk: Path):
    rows = Rows({})
    folders.use(rows)
    for _ in range(100):
        folders.files("talks")
    assert rows.asked == 1


def test_a_name_belongs_to_one_folder(desk: Path, tmp_path: Path):
    other = tmp_path / "other"
    (other / "talks").mkdir(parents=True)
    (other / "talks" / "desk.json").write_text("{}")
    with pytest.raises(BadLibrary, match=f"talks of 'desk' are in {desk} already"):
        folders.add(other)


def test_a_digest_is_of_paths_and_bytes():
    one = {"desk.json": File("desk.json", b"a", "x")}
    assert folders.digest_of(one) == folders.digest_of({"desk.json": File("desk.json", b"a", "another folder")})
    assert folders.digest_of(one) != folders.digest_of({"desk.json": File("desk.json", b"b", "x")})
    assert folders.digest_of(one) != folders.digest_of({"disk.json": File("disk.json", b"a", "x")})
