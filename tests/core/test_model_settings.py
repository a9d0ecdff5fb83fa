"""AGENT_MODEL, AGENT_BASE_URL and AGENT_API_KEY: what they name, and what is refused in one line."""

from __future__ import annotations

import pytest

from sessions.agents.providers import COMPATIBLE, OPENAI, ModelMisconfigured, endpoint

KEY = "sk-live-9f8e7d6c5b4a39281706"


def test_nothing_set_means_no_model() -> None:
    assert endpoint({}) is None


def test_with_a_base_url_the_model_is_passed_on_as_it_is() -> None:
    at = endpoint({"AGENT_MODEL": "mistral:7b", "AGENT_BASE_URL": "http://localhost:11434/v1"})
    assert at is not None
    assert (at.model, at.base_url, at.provider, bool(at.key)) == (
        "mistral:7b", "http://localhost:11434/v1", COMPATIBLE, False
    )  # fmt: skip


@pytest.mark.slow
def test_a_bare_name_is_openai_and_a_prefix_names_another_provider() -> None:
    bare = endpoint({"AGENT_MODEL": "gpt-5", "AGENT_API_KEY": KEY})
    other = endpoint({"AGENT_MODEL": "anthropic:claude-x", "AGENT_API_KEY": f" {KEY}\n"})
    assert bare is not None
    assert other is not None
    assert (bare.model, bare.base_url) == ("gpt-5", OPENAI)
    assert (other.model, other.provider, other.key.reveal()) == ("claude-x", "anthropic", KEY)


@pytest.mark.parametrize(
    "environment",
    [
        {"AGENT_BASE_URL": "http://localhost/v1"},
        {"AGENT_MODEL": "gpt-5"},
        {"AGENT_MODEL": "nosuchprovider:x", "AGENT_API_KEY": KEY},
        {"AGENT_MODEL": "m", "AGENT_BASE_URL": "localhost:8000", "AGENT_API_KEY": KEY},
        {"AGENT_MODEL": "m", "AGENT_BASE_URL": "file:///etc/passwd"},
        {"AGENT_MODEL": "m", "AGENT_BASE_URL": "http://user:secretword@host/v1"},
        {"AGENT_MODEL": "m", "AGENT_BASE_URL": "http://host/v1?key=secretword"},
        {"AGENT_MODEL": "m", "AGENT_BASE_URL": "http://[::1/v1"},
        {"AGENT_MODEL": "m", "AGENT_BASE_URL": "http://host:99999/v1"},
        {"AGENT_MODEL": "m", "AGENT_BASE_URL": "http://host/v1", "AGENT_API_KEY": "secretword\r\nX: 1"},
        {"AGENT_MODEL": "m", "AGENT_BASE_URL": "http://host/v1", "AGENT_API_KEY": "secretwörd"},
    ],
)
def test_settings_that_cannot_work_are_refused_and_no_secret_repeated(
    environment: dict[str, str],
) -> None:
    with pytest.raises(ModelMisconfigured) as refused:
        endpoint(environment)
    assert "secretw" not in str(refused.value)
    assert KEY not in str(refused.value)
