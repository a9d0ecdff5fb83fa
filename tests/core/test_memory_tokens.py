"""The estimate of tokens against a real tokenizer, where one is installed (requirements/tokenizers.txt)."""

from __future__ import annotations

import json
import time

import pytest

from agentstate.engine.memory.tokens import ESTIMATE
from sessions.agents import token_counters
from sessions.agents.token_counters import NoSuchCounter
from tests.shared_data import shared_data

IDS = '{"session":"019b1c5e-7a33-7c41-9a3a-0d2a4b7a4c%02x","amount":{"minor":430000,"currency":"USD"}}'


def test_the_estimate_is_the_same_everywhere_and_nothing_only_for_nothing():
    assert (ESTIMATE.count(""), ESTIMATE.count(" "), ESTIMATE.count("Move $4,300.00, please.")) == (0, 1, 11)
    assert ESTIMATE.count("\ud800") == 1


def test_the_estimate_is_quick():
    text = "Move $4,300.00 from savings to checking, please. " * 600
    began = time.perf_counter()
    for _ in range(20):
        ESTIMATE.count(text)
    assert (time.perf_counter() - began) / 20 < 0.005  # 30 KB; about 0.1 ms where nothing else runs


def test_a_counter_that_is_not_installed_or_unknown_is_refused_by_name():
    with pytest.raises(NoSuchCounter, match="estimate"):
        token_counters.named("words")


@pytest.fixture
def real() -> token_counters.Counter:
    pytest.importorskip("bpe_openai", reason="requirements/tokenizers.txt is not installed")
    return token_counters.named("o200k")


def airline() -> list[str]:
    runs = json.loads(shared_data("tau-airline", "trajectories.json").read_bytes())
    return list({message["content"] for run in runs for message in run["traj"] if message.get("content")})


def test_on_recorded_service_talk_the_sum_is_within_a_tenth(real):
    texts = airline()
    ratio = sum(map(ESTIMATE.count, texts)) / sum(map(real.count, texts))
    assert 0.97 < ratio < 1.10


def test_a_single_message_is_within_half(real):
    ratios = sorted(ESTIMATE.count(text) / real.count(text) for text in airline() if len(text) > 40)
    assert ratios[len(ratios) // 100] > 0.7
    assert ratios[-len(ratios) // 100] < 1.5


def test_identifiers_and_amounts_are_within_a_tenth(real):
    texts = [IDS % number for number in range(50)]
    assert 0.9 < sum(map(ESTIMATE.count, texts)) / sum(map(real.count, texts)) < 1.1


def test_a_real_counter_names_its_vocabulary_and_version(real):
    assert real.name.startswith("o200k/")
    assert real.count("<|endoftext|>") > 1
