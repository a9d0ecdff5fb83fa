"""What nobody inside can notice, a monitor elsewhere does: it read the public log before."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.cache import cache

from audit import globallog, monitor, sequencer
from audit.tlog import headmap
from tests.shell.attack_world import (
    FLIP,
    MONITOR,
    VERIFIER,
    Held,
    Superuser,
    copied,
    found_by,
    kept,
    restored,
    spoken,
    talk,
)
from tests.shell.test_attacks_entries import put_back, remembered
from tests.shell.test_ledger import TENANT

pytestmark = pytest.mark.django_db(transaction=True)
Look = Callable[[Held], set[str]]


@pytest.fixture
def superuser(test_database) -> Superuser:
    return Superuser(test_database)


@pytest.fixture
def look(live_server, superuser, tmp_path, monkeypatch) -> Look:
    """One look of the monitor at the installation; and whether it was the one to find something."""
    monkeypatch.setattr(monitor, "AHEAD", 0.01)
    monkeypatch.setattr(monitor, "PATIENCE", 0.01)
    superuser.run("UPDATE people_tenant SET id = %s", TENANT)  # whose log is the public one

    def once(held: Held) -> set[str]:
        cache.clear()
        state = tmp_path / "monitor"
        code = monitor.main([f"{live_server.url}/log", "--key", held.vkey, "--state", str(state), "--once"])
        return {0: set(), 1: {MONITOR}}[code]

    return once


def evidence(folder: Path) -> dict:
    (path,) = (folder / "monitor").glob("evidence-*.json")
    found: dict = json.loads(path.read_text())
    return found


def test_a_monitor_finds_nothing_where_nothing_was_done(look):
    head = talk()
    assert look(kept(head)) == set()
    assert look(kept(spoken(head, "more"))) == set()


def test_a_restored_backup_of_everything_is_found_by_the_monitor(look, test_database, tmp_path):
    head = talk()
    kept(head)
    copy, memory = copied(test_database), remembered(test_database)
    held = kept(spoken(head, "I object."))
    assert look(held) == set()
    restored(test_database, copy)
    put_back(test_database, memory)
    assert look(held) == {MONITOR}
    assert len(evidence(tmp_path)["heads"]) == 2


def test_a_fork_signed_by_a_signer_that_forgot_is_found_by_the_monitor_with_both_heads(look, test_database, tmp_path):
    head = talk()
    kept(head)
    copy, memory = copied(test_database), remembered(test_database)
    held = kept(spoken(head, "what one auditor is shown"))
    assert look(held) == set()
    restored(test_database, copy)
    put_back(test_database, memory)
    other = kept(spoken(head, "what the other is shown", "and more of it"))
    kept(spoken(talk(), "and more than before"))
    assert look(other) == {MONITOR}
    assert evidence(tmp_path)["kind"] == "fork"


def test_a_head_map_that_lies_by_an_edited_cache_is_found_by_monitor_and_verifier(look, superuser, tmp_path):
    """The superuser changes what the map is computed from: the signer cannot know, the map is a claim."""
    held = kept(talk())
    assert look(held) == set()
    first = headmap.key_of(globallog.origin_of(held.log))[0]
    last = (first + 1) * 33 - 1  # of the cell over all keys that begin with this byte: a kind, and a hash
    assert superuser.run(f"UPDATE audit_maptile SET data = {FLIP.format('data', last)} WHERE tile = 0") == 1
    while headmap.key_of(globallog.origin_of((other := talk()).log))[0] == first:
        pass
    sequencer.settle(other.log, with_map=True)
    assert found_by(held, tmp_path) == {VERIFIER}
    assert look(held) == {MONITOR}
    assert evidence(tmp_path)["kind"] == "lie"


def test_a_leaf_of_the_global_log_that_was_edited_is_found_by_the_monitor(look, superuser):
    held = kept(talk())
    assert superuser.run("UPDATE audit_glog SET body = replace(body::text, '36', '37')::bytea") > 0
    assert look(held) == {MONITOR}
