"""The packaged Chromium is unpacked by every Python that the project supports."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.browser import chromium

brotli = pytest.importorskip("brotli")


def archive(**files: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name.replace("__", "/").replace("_", "."))
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return made.getvalue()


def package(**inner: bytes) -> bytes:
    """The npm package in small: the binary and three archives, each compressed."""
    held = brotli.compress(archive(**inner))
    parts = {f"package__bin__{name}_tar_br": held for name in ("al2023", "swiftshader", "fonts")}
    return archive(package__bin__chromium_br=brotli.compress(b"\x7fELF"), **parts)


def before_3_11_4(self: tarfile.TarFile, path: object = ".", members: object = None, *, numeric_owner: bool = False):
    """`extractall` of Python 3.11.2, which takes no filter."""
    return _extractall(self, path, members, numeric_owner=numeric_owner)  # type: ignore[arg-type]


_extractall = tarfile.TarFile.extractall


def test_python_3_11_2_unpacks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "CACHE", tmp_path)
    monkeypatch.setattr(tarfile.TarFile, "extractall", before_3_11_4)
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    chromium._unpack(package(lib__some_so=b"code"))
    found = chromium._cached()
    assert found is not None
    assert found.path.read_bytes() == b"\x7fELF"
    assert (found.path.parent / "lib" / "some.so").read_bytes() == b"code"
