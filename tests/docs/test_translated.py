"""Every text of a page is marked for translation, and the catalogue of the source language lists it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.template.base import Lexer, TokenType

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "templates"
PAGES = sorted(TEMPLATES.rglob("*.html"))
SHOWN = {"aria-label", "placeholder", "title", "alt"}
UNREAD = {"script", "style", "pre", "code", "kbd"}
#: what is the same in every language: names, units, code, examples of input
UNTRANSLATED = re.compile(
    r"AgentState|A1B2C3|SHA-256|UTC|JSON|CSV|ms|s|sha256|/1000"
    r"|[\w-]+=\"?|python -m audit\.verify FILE --key KEY|python verify\.py FILE --key KEY|verify\.py|zip\.vkey|vkey"
    r"|https?://\S+|webhook:name|on_call_hook|[a-z]+(-[a-z]+)+|session:|writing:|wall|move|edit|all keys"
)


class Texts(HTMLParser):
    """Collects what a reader of a page sees: text, and the attributes that browsers show or read aloud."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.unread += tag in UNREAD
        self.found += [value or "" for name, value in attrs if name in SHOWN]

    def handle_endtag(self, tag: str) -> None:
        self.unread -= tag in UNREAD

    def handle_data(self, data: str) -> None:
        if not self.unread:
            self.found.append(data)


def unmarked(source: str) -> list[str]:
    """Returns the texts of a template that no `translate` and no `blocktranslate` marks."""
    parts, marked = [], False
    for token in Lexer(source).tokenize():
        word = token.split_contents()[0] if token.token_type is TokenType.BLOCK else ""
        marked = word == "blocktranslate" or (marked and word != "endblocktranslate")
        if token.token_type is TokenType.TEXT and not marked:
            parts.append(token.contents)
        elif token.token_type is TokenType.VAR and not marked:
            parts.append("·")
    texts = Texts()
    texts.feed("".join(parts))
    texts.close()
    rests = (" ".join(UNTRANSLATED_WORDS.sub("", text).split()) for text in texts.found)
    return [rest for rest in rests if re.search(r"[A-Za-z]{2}", rest)]


UNTRANSLATED_WORDS = re.compile(rf"(?<![\w-])(?:{UNTRANSLATED.pattern})(?![\w-])")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TEMPLATES)))
def test_every_text_of_the_page_is_marked(page):
    assert unmarked(page.read_text()) == []


def test_every_default_of_the_templates_is_marked():
    bare = re.compile(r'\|default:"[A-Z][a-z]')
    assert [str(page) for page in PAGES if bare.search(page.read_text())] == []


def test_the_catalogue_lists_every_text_of_the_templates():
    command = [sys.executable, "-m", "tests.catalogue", "--check"]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "agentstate.settings"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_text_that_is_not_marked_is_found():
    assert unmarked('<p>Close <b>{% translate "x" %}</b></p>') == ["Close"]
    assert unmarked('<a title="Close it">{{ x }}</a>') == ["Close it"]
    assert unmarked("<p>{% blocktranslate %}Close {{ x }}{% endblocktranslate %}</p><code>x y</code>") == []
