"""Pages use the words of GLOSSARY.md: a text of a template, or a sentence about an entry, has none that it forbids."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import polib
import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "GLOSSARY.md").read_text()
TABLE = GLOSSARY.partition("## Forbidden words")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", TABLE, re.MULTILINE)[2:]
FORBIDDEN = {word.strip().lower(): instead.strip() for instead, words in ROWS for word in words.split(",")}
ANY = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, FORBIDDEN))})(?![\w-])", re.IGNORECASE)
CODE = ("sessions", "audit", "agentstate")
#: forbidden words left in other sentences of the code: errors, the API's descriptions. The number only shrinks.
LEFT = 165
SENTENCES = sorted((ROOT / "sessions" / "descriptions").rglob("*.py"))


def faults(text: str) -> list[str]:
    """Returns each forbidden word of a text, with the one to use."""
    return [f"{word!r} in {text!r}: {FORBIDDEN[word.lower()]}" for word in ANY.findall(text)]


def sentences(source: str) -> list[str]:
    """Returns the texts of a module that are not its docstrings or keys."""
    tree = ast.parse(source)
    bodies = (node.body for node in ast.walk(tree) if hasattr(node, "body") and isinstance(node.body, list))
    documented = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    keys = {id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    constants = (
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in documented | keys
    )
    return [node.value for node in constants if isinstance(node.value, str) and " " in node.value]


def test_the_glossary_forbids_words():
    assert len(FORBIDDEN) > 30


def test_no_text_of_a_page_has_a_forbidden_word():
    entries = polib.pofile(str(ROOT / "locale" / "en" / "LC_MESSAGES" / "django.po"))
    texts = [text for entry in entries for text in (entry.msgid, entry.msgid_plural) if text]
    assert [fault for text in texts for fault in faults(text)] == []


def test_no_sentence_about_an_entry_has_a_forbidden_word():
    found = [fault for path in SENTENCES for text in sentences(path.read_text()) for fault in faults(text)]
    assert found == []


def test_forbidden_words_in_the_code_only_shrink():
    paths = (path for folder in CODE for path in (ROOT / folder).rglob("*.py") if path not in SENTENCES)
    left = [fault for path in paths for text in sentences(path.read_text()) for fault in faults(text)]
    print(f"{len(left)} forbidden words in sentences of the code")
    assert len(left) <= LEFT, f"{len(left)}, at most {LEFT}: {left[-5:]}"


@pytest.mark.parametrize("text", ["The session is stuck.", "Put back 2 times", "Nobody decided"])
def test_a_forbidden_word_is_found(text):
    assert faults(text)
