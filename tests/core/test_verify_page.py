"""The verifier in the browser agrees with audit/verify.py about every constant, and its library is the one pinned."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from audit import verify

STATIC = Path(__file__).parents[2] / "static"
FORMAT = (STATIC / "audit" / "verify" / "format.js").read_text()
CONSTANTS = dict(re.findall(r'^export const ([A-Z_]+) = ([\["0-9].*?);', FORMAT, re.MULTILINE | re.DOTALL))
VENDORED = STATIC / "vendor" / "noble-hashes"


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_a_constant_is_that_of_the_specification(name):
    value, ours = json.loads(re.sub(r",\s*]", "]", CONSTANTS[name])), getattr(verify, name)
    ours = ours.total_seconds() if isinstance(ours, timedelta) else list(ours) if isinstance(ours, tuple) else ours
    assert value == ours


def test_no_limit_of_the_specification_about_bundles_is_left_out():
    elsewhere = {"MAX_PROOF", "MAX_RESTAMPS"} | {name for name in vars(verify) if name.endswith("_TITLE")}
    limits = {name for name in vars(verify) if name.startswith("MAX_") or name.endswith("_FILES")}
    assert limits - elsewhere <= set(CONSTANTS)


def test_the_files_that_may_be_left_out_are_those_of_the_specification():
    [pattern] = re.findall(r"OPTIONAL = /\^(.*)\$/", FORMAT)
    assert pattern.replace("\\/", "/") == verify.OPTIONAL.pattern


def test_the_library_is_byte_for_byte_the_one_that_was_pinned():
    lines = (VENDORED / "SOURCE").read_text().splitlines()[2:]
    pinned = {name: digest for digest, name in (line.split() for line in lines)}
    assert pinned == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDORED.iterdir() if path.name != "SOURCE"
    }


def test_no_module_reaches_for_the_network_or_for_eval():
    for path in [*(STATIC / "audit").rglob("*.js"), *VENDORED.glob("*.js")]:
        reaching = r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|eval|Function|importScripts)\("
        assert not re.search(reaching, path.read_text()), path
        for source in re.findall(r'from\s+"([^"]+)"', path.read_text()):
            assert source.startswith("."), (path, source)
