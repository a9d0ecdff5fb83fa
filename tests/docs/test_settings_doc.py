"""Every environment variable that the settings read is documented, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ_BY_THE_STACK = ("agentstate/settings.py", "agentstate/stack/endpoints.py")


def read_variables() -> set[str]:
    found: set[str] = set()
    for name in READ_BY_THE_STACK:
        text = (ROOT / name).read_text()
        found |= set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', text))
        found |= set(re.findall(r'environ(?:\.get\(|\[)"([A-Z_]+)"', text))
    return found


def test_the_table_names_exactly_the_variables_that_are_read():
    documented = set(re.findall(r"^\| `([A-Z_]+)`", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))
    assert documented == read_variables()
