"""The index of keys and logs: complete whatever is rolled back, raced or forgotten, and next to free."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit import erasure, keyed, keys, ledger
from tests.searching import drawn
from tests.shell.test_ledger import TENANT, batch, new_log
from tests.shell.test_sequencer import grown
from tests.shell.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def kid(name: str):
    return keys.subject_kid(TENANT, name)


def of_others(*names: str) -> ledger.Batch:
    """A batch of the log's own subject, with an entry about each of these."""
    plain = batch(*(b"x" for _ in names))
    drafts = [ledger.Draft("said", b'{"a":1}', kid=kid(name)) for name in names]
    return ledger.Batch(drafts, plain.kid, plain.actor, plain.at, uuid4())


def test_every_log_with_an_entry_under_a_key_is_found():
    head = new_log()
    other = new_log()
    assert keyed.logs_of(kid("somebody")) == sorted([head.log, other.log])
    assert ledger.append(head, of_others("ada", "bert"))
    assert keyed.logs_of(kid("ada")) == keyed.logs_of(kid("bert")) == [head.log]
    assert keyed.differences() == ([], [])


def test_an_index_row_that_was_rolled_back_is_written_by_the_next_append():
    head = new_log()
    with transaction.atomic():
        assert ledger.append(head, of_others("ada"))
        transaction.set_rollback(True)
    assert keyed.logs_of(kid("ada")) == []
    assert ledger.append(head, of_others("ada"))
    assert keyed.logs_of(kid("ada")) == [head.log]


def test_a_lost_race_writes_no_row_and_remembers_none():
    head = new_log()
    grown(head)
    assert ledger.append(head, of_others("ada")) is None
    assert keyed.logs_of(kid("ada")) == []
    assert keyed.unseen(head.log, [kid("ada")]) == [kid("ada")]


def test_many_who_begin_under_one_key_at_once_leave_one_row_each():
    heads = [new_log() for _ in range(8)]
    at_once(*((lambda head=head: ledger.append(head, of_others("ada"))) for head in heads))
    assert keyed.logs_of(kid("ada")) == sorted(head.log for head in heads)


def test_only_the_first_entry_of_a_key_in_a_log_carries_the_row(monkeypatch):
    head, sent = new_log(), []
    assert keyed.unseen(head.log, [kid("somebody")]) == []
    built = ledger._statement
    monkeypatch.setattr(ledger, "_statement", lambda *parts: sent.append(built(*parts)) or sent[-1])
    assert ledger.append(grown(head), of_others("ada"))
    assert ["audit_keyedlog" in sql for sql in sent] == [False, True]


@settings(max_examples=drawn(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.booleans(), st.booleans()), max_size=12))
def test_whatever_happens_the_index_is_what_the_ledger_says(steps):
    """Appends to three logs about four people; some are rolled back, now and then a process starts anew."""
    heads = [new_log() for _ in range(3)]
    for number, name, undone, restarted in steps:
        if restarted:
            keyed.forget_all()
        with transaction.atomic():
            longer = ledger.append(heads[number], of_others(name))
            if undone:
                transaction.set_rollback(True)
        heads[number] = heads[number] if undone else longer
    assert keyed.differences() == ([], [])


def test_rebuild_check_finds_a_row_that_is_missing_and_rebuild_writes_it(test_database, capsys):
    head = new_log()
    with test_database.administrator(test_database.name) as owner:
        owner.execute("DELETE FROM audit_keyedlog")
    with pytest.raises(CommandError, match="1 differences"):
        call_command("rebuild", "--check")
    assert f"{head.log} key {kid('somebody')}: got no row, want a row" in capsys.readouterr().out
    call_command("rebuild")
    call_command("rebuild", "--check")
    assert erasure.logs_of(kid("somebody")) == [(head.log, False)]
