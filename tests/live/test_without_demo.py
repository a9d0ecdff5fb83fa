"""The product in a folder without `demo/`: it starts, makes its tables, and serves pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.live.watcher import signed_in
from tests.processes import ROOT, Running, health, manage

PRODUCT = ("agentstate", "audit", "sessions", "static", "templates")
NO_INSTALLATION = {"AGENT_MODULES": "", "LIBRARY_FOLDERS": "", "PYTHONPATH": ""}
PASSWORD = "a-long-password-of-the-test"


@pytest.fixture
def product(tmp_path: Path) -> Path:
    folder = tmp_path / "product"
    for name in PRODUCT:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "manage.py", folder)
    return folder


@pytest.fixture
def up(product: Path, tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "state", "manage.py", "up", root=product, **NO_INSTALLATION)
    yield running
    running.stop()


def test_the_product_without_the_demo_starts_migrates_and_serves(up: Running, product: Path, tmp_path: Path):
    url = up.ready(180)
    assert health(url) == 200
    (tmp_path / "password").write_text(PASSWORD)
    made = manage(
        up.state_dir, "create_admin", "ada", "--password-file", str(tmp_path / "password"), root=product,
        **NO_INSTALLATION,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    link = manage(up.state_dir, "sign_in_link", "ada", "--base", url, root=product, **NO_INSTALLATION)
    assert link.returncode == 0, link.stderr
    cookie = signed_in(link.stdout.strip())
    page = httpx.get(f"{url}policies/", headers={"Cookie": cookie}, trust_env=False, timeout=20)
    assert page.status_code == 200
    assert "airline" in page.text
    assert "bank" not in page.text
