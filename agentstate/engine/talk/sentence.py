"""A sentence beside what the session knows when it is said. All that one message is resolved with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from agentstate.engine.talk.tokens import Token, singular, tokens
from agentstate.engine.talk.vocabulary import Lexicon, Words, lexicon, words_for
from agentstate.engine.talk.words import CLOSING
from agentstate.engine.understanding.entities import Entity
from agentstate.engine.understanding.held import Talk
from agentstate.engine.understanding.ontology import EntityType

_WORDS = ("word", "number")
_UNDECLARED = EntityType("")


@dataclass
class Sentence:
    """`said` are the ids that this sentence has spoken of so far."""

    talk: Talk
    speaker: str
    text: str
    tokens: list[Token]
    lexicon: Lexicon
    entities: Mapping[str, Entity]
    words: Mapping[str, Words]
    said: list[str] = field(default_factory=list)

    @cached_property
    def labels(self) -> Mapping[tuple[str, ...], list[str]]:
        """The entities by their labels and codes in full, as the words that they consist of."""
        found: dict[tuple[str, ...], list[str]] = {}
        for entity, words in self.words.items():
            for label in {words.label, *((code,) for code in words.codes)}:
                found.setdefault(label, []).append(entity)
        return found

    def word(self, at: int) -> str:
        """The token at `at`, or empty beyond either end."""
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def is_word(self, at: int) -> bool:
        """Whether a word or a plain number is there: no amount, date, time or mark."""
        return 0 <= at < len(self.tokens) and self.tokens[at].kind in _WORDS

    def closes(self, at: int) -> bool:
        """Whether a phrase is over before `at`: nothing that may belong to it follows."""
        return at >= len(self.tokens) or self.tokens[at].kind == "mark" or self.tokens[at].text in CLOSING

    def begins(self, at: int) -> bool:
        """Whether a clause begins at `at`."""
        return at == 0 or self.tokens[at - 1].kind == "mark"

    def noun(self, at: int) -> tuple[frozenset[str], int] | None:
        """The singular noun of a type at `at`: the types that it may mean, and the tokens that it takes."""
        for length in (2, 1):
            types = self.lexicon.nouns.get(" ".join(self.word(at + step) for step in range(length)))
            if types is not None:
                return types, length
        return None

    def type(self, entity: str) -> EntityType:
        """The declared type of a known entity."""
        return self.lexicon.types.get(self.entities[entity].type, _UNDECLARED)

    def fits(self, entity: str, word: str) -> bool:
        """Whether `word` may describe the entity."""
        return bool(self.spoken(entity, word) & self.words[entity].every)

    def spoken(self, entity: str, word: str) -> set[str]:
        """`word` with its singular and with the words of the values that it stands for, in the entity's type."""
        kind = self.entities[entity].type
        return {word, singular(word), *(value for name, value in self.lexicon.values.get(word, ()) if name == kind)}

    def newest(self, among: Iterable[str]) -> list[str]:
        """Those that were spoken of last, in this sentence or in one message before it."""
        wanted = set(among)
        here = [entity for entity in dict.fromkeys(self.said) if entity in wanted]
        spoken = [mention for mention in self.talk.mentions if mention.entity in wanted]
        last = [mention.entity for mention in spoken if mention.message == spoken[-1].message]
        return here or list(dict.fromkeys(last))


def sentence(talk: Talk, speaker: str, text: str) -> Sentence:
    """`text` beside `talk`."""
    known = lexicon(talk.ontology)
    entities = {entity.id: entity for entity in talk.entities}
    words = {key: words_for(each, known.types.get(each.type, _UNDECLARED)) for key, each in entities.items()}
    return Sentence(talk, speaker, text, tokens(text), known, entities, words)
