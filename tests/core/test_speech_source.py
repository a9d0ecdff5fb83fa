"""Who adds words of an agent to a conversation, by the source: `decide.speech` alone, so all of them are judged."""

from __future__ import annotations

import ast

from tests.core import worlds


def test_only_one_place_of_the_code_adds_words_of_an_agent():
    """Every path to the customer passes the judge: `decide.speech` makes the event, and only an answer asks it to."""
    found = sorted(
        (str(file.relative_to(worlds.ROOT)), ast.unparse(call.args[0]))
        for folder in ("agentstate", "sessions", "audit", "demo")
        for file in (worlds.ROOT / folder).rglob("*.py")
        if "MessageAdded" in (text := file.read_text())
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "MessageAdded"
    )
    assert [where for where, role in found if role not in ("'customer'", "'note'", "'staff'")] == [
        "agentstate/engine/decide/speech.py"
    ]
    callers = {
        str(file.relative_to(worlds.ROOT))
        for file in (worlds.ROOT / "agentstate").rglob("*.py")
        if "speech.message(" in file.read_text()
    }
    assert callers == {"agentstate/engine/decide/runs.py"}
