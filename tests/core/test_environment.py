"""Settings that cannot work are refused in one line that names setting and value, and never a password."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.environment import BadSetting, Environment, without_password
from agentstate.secret_key import NoSecretKey, secret_key
from agentstate.stack.endpoints import endpoints

BASE = Path("/srv/agentstate")
OUTSIDE = {"DATABASE_URL": "postgresql://app@db/main", "REDIS_URL": "redis://r:6379/0"}


@pytest.mark.parametrize(("text", "read"), [("", True), (" No ", False), ("0", False), ("ON", True), ("y", True)])
def test_a_flag_is_yes_or_no_and_nothing_is_its_default(text, read):
    assert Environment({"A": text}).flag("A", default=True) is read


@given(text=st.text(min_size=1).filter(lambda text: text.strip()))
def test_what_is_neither_yes_nor_no_is_refused_by_name(text):
    words = {"1", "true", "yes", "on", "y", "t", "0", "false", "no", "off", "n", "f"}
    env = Environment({"BEHIND_TLS": text})
    if text.strip().lower() in words:
        env.flag("BEHIND_TLS", default=False)
        return
    with pytest.raises(BadSetting, match="want yes or no") as caught:
        env.flag("BEHIND_TLS", default=False)
    assert str(caught.value).startswith("A setting cannot work. BEHIND_TLS=")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "1e3", "١", "9" * 30, "0x1"])
def test_a_whole_number_is_in_its_range(text):
    with pytest.raises(BadSetting, match=r"A='.*': want a whole number of at least 0"):
        Environment({"A": text}).whole("A", 5)
    assert Environment({"A": ""}).whole("A", 5) == 5


@pytest.mark.parametrize("text", ["x", "-0.1", "nan", "inf", "1,5"])
def test_a_number_is_finite_and_in_its_range(text):
    with pytest.raises(BadSetting, match=r"A='.*': want a number of seconds, at least 0"):
        Environment({"A": text}).number("A", 5.0)
    assert Environment({"A": "0.5"}).number("A", 5.0) == 0.5


@pytest.mark.parametrize("text", ["127.0.0.1", "ftp://host/", "https://", "http://[::1"])
def test_an_address_begins_with_its_scheme(text):
    with pytest.raises(BadSetting, match="SITE_URL="):
        Environment({"SITE_URL": text}).url("SITE_URL")


def test_files_folders_networks_and_choices_are_looked_at(tmp_path):
    env = Environment({"FILE": str(tmp_path), "FOLDER": str(tmp_path), "NET": "10.0.0.1/8", "LEVEL": "info", "X": "Y"})
    assert env.path("FOLDER", Path.is_dir) == str(tmp_path)
    assert env.choice("LEVEL", "INFO", "DEBUG") == "INFO"
    for refused in (
        lambda: env.path("FILE"),
        lambda: env.networks("NET"),
        lambda: env.choice("X", "INFO"),
    ):
        with pytest.raises(BadSetting):
            refused()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "nonsense"),
        ("DATABASE_URL", "mysql://app:geheim@db/main"),
        ("DATABASE_OWNER_URL", "postgresql://boss:geheim@db/main?nonsense=1"),
        ("DATABASE_ERASE_URL", "host=db colour=red password=geheim"),
        ("BANK_DATABASE_URL", "nonsense"),
        ("REDIS_URL", "http://:geheim@r/0"),
        ("REDIS_URL", "redis://:geheim@r:6379/first"),
        ("REDIS_URL", "redis://:geheim@r:port/0"),
        ("REDIS_URL", "unix:///run/redis.sock?db=x"),
        ("AGENTSTATE_POOL", "many"),
        ("AGENTSTATE_CONN_MAX_AGE", "-1"),
    ],
)
def test_an_address_of_a_server_that_cannot_be_one_is_refused_without_its_password(name, value):
    with pytest.raises(BadSetting) as caught:
        endpoints({**OUTSIDE, name: value}, BASE)
    said = str(caught.value)
    assert said.startswith(f"A setting cannot work. {name}=")
    assert "geheim" not in said
    assert len(said.splitlines()) == 1


@given(password=st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=8))
def test_no_form_of_a_url_repeats_its_password(password):
    marked = f"<{password}>"
    for text in (f"redis://:{marked}@h/0", f"postgresql://u:{marked}@h/d", f"host=h password={marked} user=u"):
        assert marked not in without_password(text)


def test_a_secret_key_is_long_and_ones_own(tmp_path):
    file = tmp_path / "secrets" / "django.key"
    assert secret_key("", tmp_path) == ""
    file.parent.mkdir()
    file.write_text("abcdefgh" * 8 + "\n")
    assert secret_key("", tmp_path) == "abcdefgh" * 8
    assert secret_key("ijklmnop" * 8, tmp_path) == "ijklmnop" * 8
    for short in ("before-first-start", "a" * 64):
        with pytest.raises(BadSetting, match="SECRET_KEY") as caught:
            secret_key(short, tmp_path)
        assert short not in str(caught.value)
    file.write_text("")
    with pytest.raises(BadSetting, match=r"django\.key"):
        secret_key("", tmp_path)


def test_no_secret_key_is_one_line_that_says_what_to_set(tmp_path):
    said = str(NoSecretKey.at(tmp_path))
    assert "the same on every host" in said
    assert str(tmp_path / "secrets" / "django.key") in said
    assert NoSecretKey.code == "no_secret_key"
    assert BadSetting.code == "bad_setting"
