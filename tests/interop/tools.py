"""Finds the verifiers of others, or brings them: Debian packages unpacked into a cache folder (no root needed), npm and
PyPI packages into folders of their own. Nothing of theirs is changed.

A tool that cannot be had raises Absent, which says what was tried.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".venv" / "interop"
SECONDS = 300  # for one installer
PIP = ("-m", "pip", "install", "-q", "--require-hashes", "-r")
GO = ("golang-1.19-go", "golang-1.19-src", "golang-golang-x-mod-dev")
SIGSTORE = "@sigstore/verify@4.1.3"
LOCKED = HERE.parents[1] / "requirements" / "locked"


class Absent(Exception):
    """A tool cannot be had here; the text says why."""


def _brought(name: str, bring: Callable[[Path], None]) -> Path:
    """A cached folder, made by `bring` at first use, whole or not at all."""
    target = CACHE / name
    if target.exists():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=CACHE))
    try:
        bring(draft)
        draft.rename(target)
    except (OSError, subprocess.SubprocessError) as error:
        if target.exists():  # another test process was faster
            return target
        said = getattr(error, "stderr", b"") or b""
        raise Absent(f"{name}: {error} {said[-300:].decode(errors='replace')}".strip()) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _run(command: list[str], **options: Any) -> None:
    subprocess.run(command, check=True, timeout=SECONDS, capture_output=True, **options)


@lru_cache
def go_program() -> Path:
    """tests/interop/go, built with Debian's Go and x/mod."""
    source = HERE / "go" / "main.go"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    return _brought(f"go-program-{digest}", lambda folder: _build(source, folder)) / "asks"


def _build(source: Path, folder: Path) -> None:
    root = _debian("go-1.19", GO)
    environment = {
        "GO111MODULE": "off",
        "GOPATH": str(root / "usr/share/gocode"),
        "GOROOT": str(root / "usr/lib/go-1.19"),
        "GOCACHE": str(folder / "cache"),
        "GOFLAGS": "-buildvcs=false",
        "CGO_ENABLED": "0",
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
    }
    _run([str(root / "usr/lib/go-1.19/bin/go"), "build", "-o", str(folder / "asks"), str(source)], env=environment)
    shutil.rmtree(folder / "cache", ignore_errors=True)


def _debian(name: str, packages: tuple[str, ...]) -> Path:
    def bring(folder: Path) -> None:
        for tool in ("apt-get", "dpkg"):
            if shutil.which(tool) is None:
                raise OSError(f"no {tool} here")
        try:
            _run(["apt-get", "download", *packages], cwd=folder)
        except subprocess.CalledProcessError:
            _run(["apt-get", "-qq", "update"])  # a fresh machine has no lists
            _run(["apt-get", "download", *packages], cwd=folder)
        for package in folder.glob("*.deb"):
            _run(["dpkg", "-x", str(package), str(folder)])
            package.unlink()

    return _brought(name, bring)


@lru_cache
def sigstore() -> Path:
    """The folder in which node finds @sigstore/verify."""

    def bring(folder: Path) -> None:
        if shutil.which("npm") is None or shutil.which("node") is None:
            raise OSError("no node and npm here")
        _run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", SIGSTORE], cwd=folder)

    return _brought("sigstore-" + SIGSTORE.rpartition("@")[2], bring)


@lru_cache
def python_packages() -> Path:
    """A Python that has the verifiers from PyPI, in an environment of their own."""

    def bring(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(folder / "bin" / "python"), *PIP, str(LOCKED / "interop.txt")])

    return _brought(f"python-{_digest('interop.txt')}", bring) / "bin" / "python"


@lru_cache
def agmi() -> Path:
    """A folder with agmi alone, to be put on the path: its adapter for our ledger needs our own environment."""

    def bring(folder: Path) -> None:
        _run([str(python_packages()), *PIP, str(LOCKED / "agmi.txt"), "--no-deps", "--target", str(folder)])

    return _brought(f"agmi-{_digest('agmi.txt')}", bring)


def _digest(locked: str) -> str:
    return hashlib.sha256((LOCKED / locked).read_bytes()).hexdigest()[:12]


@lru_cache
def openssl() -> Path:
    """OpenSSL 3, as the system has it."""
    found = shutil.which("openssl")
    if found is None:
        raise Absent("openssl: none on the PATH")
    return Path(found)


def ask_go(*checks: dict[str, Any]) -> list[str]:
    """What x/mod says to each check: "ok", or why not."""
    result = subprocess.run(
        [go_program()], input=json.dumps(checks), capture_output=True, text=True, timeout=60, check=True
    )
    return result.stdout.splitlines()


def ask_node(script: str, question: Any) -> Any:
    """What tests/interop/<script> prints as JSON, run by node with the verifier's packages at hand."""
    modules = sigstore() / "node_modules"
    result = subprocess.run(
        ["node", str(HERE / script)],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "MODULES": str(modules)},
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def ask_python(script: str, question: Any) -> Any:
    """What tests/interop/<script> prints as JSON, run by the Python that has the verifiers."""
    result = subprocess.run(
        [python_packages(), "-I", str(HERE / script)],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
