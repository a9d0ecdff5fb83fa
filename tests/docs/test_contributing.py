"""The files for contributors agree with the Makefile and name only files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs" / "how-to").glob("*.md")]


def test_the_hooks_run_the_commands_of_make_lint():
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe
    commands = [line.strip().replace("$(PY)", ".venv/bin/python") for line in recipe[1].splitlines()]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [hook["entry"] for hook in local["hooks"]] == commands
    assert (local["repo"], {hook["language"] for hook in local["hooks"]}) == ("local", {"system"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_and_test_file_of_the_page_exists(page):
    text = page.read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert links
    missing = [link for link in links if not page.parent.joinpath(link).exists()]
    missing += [file for file in re.findall(r"FILE=([^\s:]+)", text) if not (ROOT / file).exists()]
    assert missing == []
