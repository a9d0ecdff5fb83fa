"""docs/agents.md: its examples run, and its words and numbers are those of the code."""

from __future__ import annotations

import re
from typing import get_args

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.looping.held import MOST_WAITING
from agentstate.engine.looping.settings import REPAIRS, Looping, Meanwhile, Price
from agentstate.engine.state.requests import KEPT_REFUSALS
from tests.claims import ROOT

TEXT = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
NUMBERS = {2: "twice"}


def test_the_examples_run():
    python = [code for language, code in BLOCKS if language == "python"]
    bounds: dict[str, object] = {}
    exec(compile(python[1], "agents.md", "exec"), bounds)
    assert isinstance(bounds["BOUNDS"], Looping)
    (prices,) = [code for language, code in BLOCKS if language == "json"]
    assert msgspec.convert(msgspec.json.decode(prices)["models"]["small"], Price).input == 150_000
    compile(python[0], "agents.md", "exec")


def test_every_word_of_the_settings_and_every_code_is_told():
    for word in (*get_args(Meanwhile), *get_args(ev.StopCode), "refused_before", "answered_before", "expired_before"):
        assert f"`{word}`" in TEXT


def test_the_bounds_are_those_of_the_code():
    flat = " ".join(TEXT.split())
    for told in (f"at most {MOST_WAITING} wait", f"{KEPT_REFUSALS} of each", f"up to {NUMBERS[REPAIRS]}"):
        assert told in flat
