"""`python -m audit.verify` as an auditor runs it: a process of its own, the file alone, nothing else at hand."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audit import verify
from tests.core.tlog_world import LOG, OTHER_LOG, SIGNER, STRANGER, chatter, export

ROOT = Path(__file__).parents[2]
NOTHING_ELSE = """
import runpy, sys
sys.argv[0] = sys.argv[1]; del sys.argv[1]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    strangers = {"django", "audit", "agentstate", "sessions", "psycopg", "msgspec"} & set(sys.modules)
    assert not strangers, strangers
"""


@pytest.fixture
def bundle(tmp_path):
    """A good bundle with its key beside it, as the export writes them."""
    path = tmp_path / "session.zip"
    path.write_bytes(export(chatter(3)))
    (tmp_path / "session.zip.vkey").write_text(f"{SIGNER.vkey()}\n")
    return path


def run(*arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "audit.verify", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def test_a_good_bundle_under_the_auditors_key_ends_with_zero(bundle):
    result = run(bundle, "--key", SIGNER.vkey())
    assert result.returncode == 0, result.stdout + result.stderr
    assert "given with --key" in result.stdout
    assert result.stdout.endswith("OK: every check holds.\n")


def test_the_key_may_be_a_file(bundle, tmp_path):
    own = tmp_path / "mine"
    own.write_text(SIGNER.vkey())
    result = run(bundle, "--key", own)
    assert result.returncode == 0
    assert f"given with --key {own}" in result.stdout


def test_without_a_key_the_file_beside_is_used_and_that_is_said_aloud(bundle):
    result = run(bundle)
    assert result.returncode == 0
    assert "beside the bundle" in result.stdout
    assert "WARNING" in result.stdout


def test_without_any_key_nothing_verifies(bundle):
    bundle.with_name("session.zip.vkey").unlink()
    result = run(bundle)
    assert result.returncode == 1
    assert "no log key" in result.stdout
    assert result.stderr == ""


def test_a_bundle_and_key_forged_together_fail_under_the_auditors_key(bundle):
    bundle.write_bytes(export(chatter(3), STRANGER))
    bundle.with_name("session.zip.vkey").write_text(STRANGER.vkey())
    assert run(bundle).returncode == 0
    result = run(bundle, "--key", SIGNER.vkey())
    assert result.returncode == 1
    assert "is not signed by" in result.stdout


def test_the_file_runs_alone_without_the_project_and_without_django(bundle, tmp_path):
    copy = tmp_path / "alone" / "verify.py"
    copy.parent.mkdir()
    shutil.copy(ROOT / "audit" / "verify.py", copy)
    command = [sys.executable, "-I", "-c", NOTHING_ELSE, str(copy), str(bundle), "--json"]
    result = subprocess.run(command, cwd=copy.parent, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["ok"] is True


def test_the_verdict_for_programs_names_entry_kind_check_and_message(bundle):
    ledger = chatter(3)
    assert ledger.stored[1].ciphertext is not None
    ledger.stored[1].ciphertext = bytes(len(ledger.stored[1].ciphertext))
    bundle.write_bytes(export(ledger))
    result = run(bundle, "--json")
    verdict = json.loads(result.stdout)
    assert result.returncode == 1
    assert set(verdict) == {"ok", "failures", "counts", "head", "log", "timestamp", "key", "unproved"}
    assert [{**failure, "message": ""} for failure in verdict["failures"]] == [
        {"entry": 1, "kind": "message.added", "check": "payload", "message": ""}
    ]


def test_the_session_can_be_asked_for(bundle):
    assert run(bundle, "--log", LOG).returncode == 0
    assert run(bundle, "--log", OTHER_LOG).returncode == 1


@pytest.mark.parametrize("key", ["nonsense", "a+b", "a+00000000+AAAA", "+" * 50, "/dev/zero", "/", "\u202e+1+2"])
def test_a_key_that_is_none_is_refused_in_one_line(bundle, key):
    result = run(bundle, "--key", key)
    assert result.returncode == 1
    assert "Traceback" not in result.stdout + result.stderr
    assert result.stdout.count("FAIL") == 1


def test_wrong_usage_ends_with_two():
    assert run().returncode == 2


def test_a_hostile_bundle_cannot_write_to_the_auditors_terminal(tmp_path):
    verdict = verify.Verdict()
    verdict.fail("archive", "\x1b[2J\u202e all is well")
    text = "\n".join(verify.in_words(verdict))
    assert text.isascii()
    assert "\x1b" not in text
