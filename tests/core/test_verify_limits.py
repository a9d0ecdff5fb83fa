"""Hostile files in a process of its own with little memory: a clear verdict, exit code 1, no traceback."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.verify import central_header, end_record, local_header
from tests.core.test_verify_hostile import raw_zip
from tests.core.tlog_world import SIGNER, chatter, export, memory_folder, pack, plain, resign, unpack

ROOT = Path(__file__).parents[2]
DATA = export(chatter(2))
FILES = unpack(DATA)
MEMORY = 600 * 2**20  #: bytes of addresses, of which Python and its libraries take a third
SECONDS = 60


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        yield Path(name)


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def run(bundle: Path, *words: str) -> tuple[int, dict, str]:
    """Exit code, verdict and what was said on the side, within MEMORY and SECONDS."""
    command = [sys.executable, str(ROOT / "audit" / "verify.py"), str(bundle), "--json", *words]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        check=False,
        preexec_fn=_limited,
    )
    return result.returncode, json.loads(result.stdout) if result.stdout.startswith("{") else {}, result.stderr


def refused(data: bytes | Path, folder: Path, *words: str) -> str:
    """What the verifier says of a file it must refuse, in words of its own."""
    path = data if isinstance(data, Path) else folder / "hostile.zip"
    if isinstance(data, bytes):
        path.write_bytes(data)
    code, verdict, said = run(path, *(words or ("--key", SIGNER.vkey())))
    assert (code, said) == (1, "")
    assert not verdict["ok"]
    text = "\n".join(failure["message"] for failure in verdict["failures"])
    assert text
    assert "cannot be checked" not in text
    return text


def sparse(folder: Path, size: int, head: bytes = b"") -> Path:
    """A file of any size that takes no room."""
    path = folder / "sparse.zip"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)
    return path


def many_members(count: int) -> bytes:
    """So many empty files, each with its line in the table of contents."""
    names = [f"f{number:07d}" for number in range(count)]
    out = b"".join(local_header(name, 0, 0) for name in names)
    size = len(local_header(names[0], 0, 0))
    directory = b"".join(central_header(name, 0, 0, number * size) for number, name in enumerate(names))
    return out + directory + end_record(count & 0xFFFF, len(directory), len(out))


def bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(FILES):
            archive.writestr(name, bytes(25_000_000))
    return out.getvalue()


def with_link() -> bytes:
    """A symbolic link to a file of the auditor's, as zip tools know them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in sorted(FILES.items()):
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 if name == "policy" else 0o100644) << 16
            archive.writestr(info, b"/etc/passwd" if name == "policy" else data)
    return out.getvalue()


def huge_directory() -> bytes:
    return DATA[: DATA.index(b"PK\x01\x02")] + b"PK\x01\x02" * 5_000_000


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "cut in the middle": lambda: DATA[: len(DATA) // 2],
    "reordered": lambda: raw_zip([(name.encode(), data) for name, data in sorted(FILES.items(), reverse=True)]),
    "a zip bomb": bomb,
    "a symbolic link": with_link,
    "a path upwards": lambda: raw_zip([(b"../../etc/passwd", b"x"), *((n.encode(), d) for n, d in FILES.items())]),
    "a name with NUL": lambda: raw_zip([(b"policy\x00.zip", b"x")]),
    "a name twice": lambda: raw_zip([(b"policy", b"x"), (b"policy", b"y")]),
    "10^6 members": lambda: many_members(1_000_000),
    "a huge table of contents": huge_directory,
    "10^6 files in the manifest": lambda: pack(
        FILES | {"manifest.json": plain({"entries": 2, "files": dict.fromkeys(map(str, range(10**6)), "0" * 64)})}
    ),
    "deep JSON": lambda: pack(FILES | {"manifest.json": b"[" * 5_000_000}),
    "a deep object": lambda: pack(FILES | {"manifest.json": b'{"a":' * 5_000_000}),
    "a huge integer": lambda: pack(FILES | {"manifest.json": b'{"entries":' + b"9" * 5_000_000 + b"}"}),
    "a huge index": lambda: pack(resign(FILES | {"log/headmap.json": b'{"index":' + b"9" * 900_000 + b"}"})),
    "2^22 entries": lambda: pack(resign(FILES, entries=2**22)),
    "a note of blank lines": lambda: pack(FILES | {"log/checkpoint": b"\n" * 900_000}),
    "a note of signatures": lambda: pack(FILES | {"log/checkpoint": b"x\n\n" + "— a AAAAAAA=\n".encode() * 50_000}),
    "a receipt of nothing but heads": lambda: pack(resign(FILES | {"receipts/head.cbor": b"\x9f" * 900_000})),
    "a time stamp of nested lengths": lambda: pack(
        resign(dict(sorted((FILES | {"log/checkpoint.tsr": b"\x30\x84\x00\x0d\xbb\xa0" * 100_000}).items())))
    ),
}


LONG = {"2^22 entries": pytest.mark.long}  # hashing them takes 18 s of CPU


@pytest.mark.parametrize("what", [pytest.param(what, marks=LONG.get(what, ())) for what in HOSTILE])
def test_a_hostile_bundle_ends_in_words_and_little_memory(what, folder):
    refused(HOSTILE[what](), folder)


@pytest.mark.parametrize("size", [2**32 - 1, 2**32, 2**44])
def test_a_file_of_absurd_size_is_refused_without_being_read_into_memory(size, folder):
    refused(sparse(folder, size), folder)
    refused(sparse(folder, size, local_header("policy", 0, 2**32 - 1)), folder)


TRUST = {
    "no policy": b"\xff" * 1000,
    "a policy of one endless line": b"witness " * 100_000,
    "a policy of groups in groups": b"".join(b"group g%d 1 g%d\n" % (n, n - 1) for n in range(5_000)),
    "NUL": b"\x00" * 1000,
    "nothing": b"",
}


@pytest.mark.parametrize("what", TRUST)
@pytest.mark.parametrize("option", ["--policy", "--key", "--held", "--consistency"])
def test_what_the_auditor_gives_beside_the_bundle_may_be_hostile_too(option, what, folder):
    (folder / "bundle.zip").write_bytes(DATA)
    (folder / "other").write_bytes(TRUST[what])
    words = (option, str(folder / "other"))
    if option in ("--held", "--consistency"):
        words = ("--key", SIGNER.vkey(), *words)
        words = (*words, "--held", str(folder / "held")) if option == "--consistency" else words
    (folder / "held").write_bytes(FILES["log/checkpoint"].replace(b"\n4\n", b"\n3\n"))
    if (option, what) == ("--held", "nothing"):
        assert run(folder / "bundle.zip", *words)[0] in (0, 1)
    else:
        refused(folder / "bundle.zip", folder, *words)
