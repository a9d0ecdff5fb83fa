"""docs/agents.md: its examples run, and its words and numbers are those of the code."""

from __future__ import annotations

import re
from typing import Any, get_args

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.decide import offers
from agentstate.engine.looping.held import MOST_WAITING
from agentstate.engine.looping.settings import REPAIRS, Looping, Meanwhile, Price
from agentstate.engine.state.approvals import KEPT_REFUSALS
from tests.claims import ROOT

TEXT = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
NUMBERS = {2: "twice"}


def test_the_examples_run():
    python = [code for language, code in BLOCKS if language == "python"]
    made: dict[str, Any] = {}
    for code in python[1:]:
        exec(compile(code, "agents.md", "exec"), made)
    assert isinstance(made["BOUNDS"], Looping)
    assert made["PLANNER"].offers == offers.PLANNING
    (prices,) = [code for language, code in BLOCKS if language == "json"]
    assert msgspec.convert(msgspec.json.decode(prices)["models"]["small"], Price).input == 150_000
    compile(python[0], "agents.md", "exec")


def test_the_table_of_what_may_be_offered_names_everything_there_is():
    table = TEXT.partition("| name | the model may |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(offers.ALL)
    assert f"at most {offers.MAX_CALLS} calls" in TEXT
    assert f"more than {offers.MAX_PROPOSED} calls" in TEXT
    (named,) = [line for line in TEXT.splitlines() if line.startswith("`offers.PLANNING` is")]
    assert re.findall(r"`(\w+)`", named.split(". ")[0]) == list(offers.PLANNING)


def test_every_word_of_the_settings_and_every_code_is_told():
    for word in (*get_args(Meanwhile), *get_args(ev.StopCode), "refused_before", "answered_before", "expired_before"):
        assert f"`{word}`" in TEXT


def test_the_bounds_are_those_of_the_code():
    flat = " ".join(TEXT.split())
    for told in (f"at most {MOST_WAITING} wait", f"{KEPT_REFUSALS} of each", f"up to {NUMBERS[REPAIRS]}"):
        assert told in flat
