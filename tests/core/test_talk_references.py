"""What the resolver answers is right, and what it does not know for certain it leaves unresolved."""

from __future__ import annotations

import pytest

from agentstate.engine.talk.resolve import resolve
from agentstate.engine.understanding import changes
from agentstate.engine.understanding.entities import entity
from agentstate.engine.understanding.held import Talk
from agentstate.engine.understanding.notes import question
from agentstate.engine.understanding.ontology import load
from tests.core import references
from tests.core.references import DOMAINS, domain, judged, resolved

BANK = load({
    "types": [
        {"name": "account", "nouns": ["account"], "verbs": ["close"], "attributes": [
            {"name": "kind", "kind": "word", "words": {"current": "checking"}}, {"name": "last4", "kind": "code"},
            {"name": "balance", "kind": "money"}]},
        {"name": "transfer", "nouns": ["transfer"], "category": "event", "happened": "at", "verbs": ["cancel"],
         "attributes": [{"name": "at", "kind": "instant"}]},
        {"name": "payee", "nouns": ["payee"], "category": "person"},
    ],
})  # fmt: skip
SAVINGS = entity("s", "account", "savings ..2207", {"kind": "savings", "last4": "2207"})
CHECKING = entity("c", "account", "checking ..9931", {"kind": "checking", "last4": "9931"})
JOINT = entity("j", "account", "joint ..5518", {"kind": "joint", "last4": "5518"})
TRANSFER = entity("t", "transfer", "transfer of $450.00", {"at": "2026-11-17T10:00:00.000000Z"})
ROSA = entity("r", "payee", "Rosa Marin")
LISTED = "There are savings 2207, checking 9931 and joint 5518."


def known(*entities, said=()) -> Talk:
    """A talk in which tools have returned `entities`; `said` are messages, in turns of the agent and the customer."""
    talk = changes.known(Talk(ontology=BANK), entities)
    for seq, text in enumerate(said):
        talk = resolved(talk, ("agent", "customer")[seq % 2], text, seq)
    return talk


def meant(talk: Talk, text: str) -> list[tuple[str, ...]]:
    return [found.entities for found in resolve(talk, text) if found.found == "entity"]


@pytest.mark.parametrize(
    "text",
    [
        "What is in my savings account?",
        "What is in my savings?",
        "close the account ending in 2207",
        "the savings one, please",
        "Take $50 out of my savings account now",
        "2207",
    ],
)
def test_a_definite_noun_all_of_whose_words_fit_is_resolved(text):
    assert meant(known(SAVINGS, CHECKING), text) == [("s",)]


def test_both_ends_of_a_transfer_are_resolved():
    text = "Move $50 from my savings account to my current account"
    assert meant(known(SAVINGS, CHECKING), text) == [("s",), ("c",)]


@pytest.mark.parametrize(
    "text",
    [
        "my mortgage account",
        "my new savings account",
        "my sister's account",
        "her account",
        "Rosa's account",
        "my account number",
        "the account holder",
        "the savings account at another bank",
        "the account that I closed",
        "the account with the highest balance",
        "the savings account I had before",
        "my $450 account",
        "the account ending in 1234",
        "the account from yesterday",
        "my current situation",
        "the transfer to my sister",
        "an account",
        "close your account",
    ],
)
def test_a_word_that_contradicts_or_is_not_known_leaves_the_phrase_unresolved(text):
    assert meant(known(SAVINGS), text) == meant(known(SAVINGS, TRANSFER, said=("Your savings account.",)), text) == []


@pytest.mark.parametrize(
    "text",
    [
        "That's it.",
        "that's it, thanks",
        "thanks",
        "Thank you, that is all",
        "It's fine.",
        "Is it possible to talk to somebody?",
        "Got it",
        "do that",
        "It is raining",
        "make it quick",
        "this is urgent",
    ],
)
def test_what_refers_to_nothing_is_left_alone(text):
    assert resolve(known(SAVINGS, said=("Your savings account has $40.",)), text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "on the first of March",
        "by the third",
        "on the 2nd",
        "the 2nd",
        "until the second",
        "at 2:00",
        "11/02",
        "first, I want to complain",
        "the first time",
        "wait a second",
        "the first two",
        "my last transfer",
        "2",
    ],
)
def test_dates_times_and_orders_of_speaking_are_no_places_in_a_list(text):
    assert meant(known(SAVINGS, CHECKING, JOINT, TRANSFER, said=(LISTED,)), text) == []


@pytest.mark.parametrize(
    ("text", "entity"),
    [("the second one", "c"), ("The first", "s"), ("use the last one", "j"), ("the third account", "j"),
     ("Second one, please", "c"), ("the 2nd account", "c")],
)  # fmt: skip
def test_an_ordinal_is_a_place_in_the_newest_list_that_was_said(text, entity):
    assert meant(known(SAVINGS, CHECKING, JOINT, said=(LISTED,)), text) == [(entity,)]


def test_what_only_a_tool_returned_is_no_list():
    assert meant(known(SAVINGS, CHECKING, JOINT), "the second one") == []


def test_what_only_a_tool_returned_is_no_rival_of_what_was_spoken_of():
    talk = known(SAVINGS, CHECKING, JOINT, said=("Your savings account has $40.",))
    assert meant(talk, "close that account") == meant(talk, "close the account") == [("s",)]
    assert meant(known(SAVINGS), "close that account") == []


@pytest.mark.parametrize("text", ["Can you close it?", "what is its balance?", "the balance of it, please"])
def test_it_is_the_one_thing_that_was_spoken_of_last(text):
    assert meant(known(SAVINGS, CHECKING, said=("Your savings account has $40.",)), text) == [("s",)]
    assert meant(known(SAVINGS, CHECKING, said=("You have savings 2207 and checking 9931.",)), text) == []
    assert meant(known(ROSA, said=("Your payee Rosa Marin.",)), text) == []
    assert meant(known(SAVINGS), text) == []


def test_it_needs_a_verb_or_a_noun_of_the_thing():
    assert meant(known(SAVINGS, said=("Your savings account has $40.",)), "cancel it") == []


def test_it_goes_back_a_few_messages():
    said = ("Your savings account has $40.", "Oh.", "Yes.", "Hm.", "Well.")
    assert meant(known(SAVINGS, said=said[:2]), "close it") == [("s",)]
    assert meant(known(SAVINGS, said=said), "close it") == []


def test_a_negated_reference_says_so():
    (found,) = resolve(known(SAVINGS, CHECKING), "not my savings account")
    assert (found.entities, found.negated) == (("s",), True)


def test_several_that_fit_are_ambiguous_and_the_question_names_them():
    talk = known(SAVINGS, CHECKING)
    (found,) = resolve(talk, "close my account")
    assert (found.found, found.entities) == ("ambiguous", ("s", "c"))
    assert question(talk.entities, found) == "Which do you mean: savings ..2207 or checking ..9931?"


def test_no_answer_to_a_labelled_case_is_wrong():
    wrong = [(case, say, got, right) for case, say, got, right in judged() if got and got != right]
    assert wrong == []
    assert any(got for _, _, got, _ in judged())


def test_every_labelled_case_has_its_own_id():
    ids = [case["id"] for name in DOMAINS for case in domain(name)["cases"]]
    assert len(set(ids)) == len(ids) > 0


def test_no_word_of_any_domain_is_in_the_resolver():
    nouns = {noun for name in DOMAINS for kind in domain(name)["ontology"] for noun in kind.get("nouns", ())}
    source = " ".join(path.read_text() for path in references.RESOLVER.glob("*.py"))
    quoted = {word for word in nouns if f'"{word}"' in source or f" {word} " in references.closed_words()}
    assert quoted == set()
