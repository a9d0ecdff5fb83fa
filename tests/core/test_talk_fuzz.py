"""No text, however odd or long, makes the reader of talk fail, or slow."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine.instants import stamp
from agentstate.engine.talk import words
from agentstate.engine.talk.resolve import read, resolve
from agentstate.engine.talk.tokens import MOST_TOKENS, tokens
from agentstate.engine.understanding import changes
from agentstate.engine.understanding.held import MOST_REFERENCES, Talk
from agentstate.engine.understanding.ontology import BadOntology, load
from tests.core.references import domain, resolved, world
from tests.searching import drawn

NOW = datetime(2026, 11, 21, 15, 0, tzinfo=UTC)
WORDS = sorted(
    {word for name, value in vars(words).items() if name.isupper() for word in value if isinstance(word, str)}
    | {word for case in domain("banking")["cases"] for word in case["say"].split()}
)
CHARACTERS = st.text(max_size=300)
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)


def busy() -> Talk:
    ontology, made = world("banking")
    return changes.known(Talk(ontology=ontology), list(made.values()))


BUSY = busy()


@given(st.lists(st.one_of(CHARACTERS, SENTENCES), min_size=1, max_size=4))
@settings(max_examples=drawn(60))
def test_any_text_is_read_and_what_it_says_fits_the_text(texts):
    talk = BUSY
    for seq, text in enumerate(texts):
        for found in read(talk, text).references:
            assert text[found.start : found.end] == found.mention
            assert (found.found == "none") == (not found.entities)
        talk = resolved(talk, "customer", text, seq)
        assert len(talk.heard) <= MOST_REFERENCES
    assert msgspec.json.decode(msgspec.json.encode(talk), type=Talk) == talk


@given(SENTENCES)
@settings(max_examples=drawn(60))
def test_the_same_sentence_on_the_same_talk_gives_the_same_answer(text):
    assert resolve(BUSY, text) == resolve(BUSY, text)


HOSTILE = [
    "1" * 16_384, "1," * 8_000, "$" * 16_384, "$1" * 8_000, "it " * 5_000, "the " * 5_000, "the second largest " * 900,
    "a-" * 8_000, "'s" * 8_000, "1:1" * 5_000, "?" * 16_384, "a" * 16_384 + "?", "the one before that " * 800,
    "\u0660" * 5_000, "\ud800" * 10, "🙂" * 4_000, "two hundred and " * 1_000, "before the " * 1_500, "\x00" * 100,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_texts_are_read_quickly(text):
    begun = time.process_time()
    resolved(BUSY, "customer", text, 0)
    assert time.process_time() - begun < 3


def test_only_the_beginning_of_a_huge_text_is_looked_at():
    assert len(tokens("word " * 1_000_000)) <= MOST_TOKENS


KEYS = ["types", "name", "nouns", "attributes", "kind", "topics", "sources", "shapes", "x"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
@settings(max_examples=drawn(150))
def test_any_declaration_is_loaded_or_refused_by_name(data):
    try:
        load(data)
    except BadOntology:
        return


@given(JSON, JSON)
@settings(max_examples=drawn(60))
def test_any_result_of_a_tool_is_taken_for_what_it_holds(first, second):
    ontology = load({
        "types": [
            {"name": "thing", "attributes": [{"name": "name", "kind": "money"}, {"name": "x", "kind": "instant"}]}
        ],
        "sources": [{"tool": "t", "type": "thing", "id": "{name}", "label": "{x}", "path": "types"}],
    })  # fmt: skip
    talk = Talk(ontology=ontology)
    for result in (first, {"types": second}, {"types": [first, second, {"name": 10**400, "x": "2026-13-45T"}]}):
        talk = changes.shown(talk, "t", result, stamp(NOW))
        resolve(talk, "the latest thing, the one from yesterday, the cheapest")
