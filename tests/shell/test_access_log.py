"""Who read what: an entry of the reader's own log before the first byte, one for an answer, two for a live view."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client

from agentstate.clock import now
from audit import access as log
from audit import keys, ledger
from sessions.conversation import commands as conversation_commands
from sessions.core import access, entry_lines
from sessions.models.sessions import AccessLine, OpenView
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import opened
from tests.shell.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def entries(user, *kinds: str) -> list[dict[str, Any]]:
    """What the access log of `user` holds today, opened."""
    name = log.log_of(user.tenant_id, user.actor, now())
    found = [json.loads(payload) for _, payload in ledger.open_rows(ledger.read_rows(name))]
    return [entry for entry in found if not kinds or entry["kind"] in kinds]


def page(user, address: str, **query: str) -> Any:
    return cast.browser(user).get(address, query)


def test_reading_entries_is_one_entry_with_session_and_range():
    session, alice = opened(), cast.alice()
    Api(alice).get(f"/sessions/{session}/entries", limit=1)
    (entry,) = entries(alice)
    assert entry["kind"] == "access.read"
    assert entry["reads"] == [{"what": "entries", "about": {str(session): [0, 0]}}]
    assert entry["door"] == "GET /api/v1/sessions/{session}/entries"


def test_a_list_is_one_entry_with_its_filter_and_ids_and_a_search_hides_its_term():
    one, alice = opened(alias="Zebrafinch"), cast.alice()
    opened("C-1002")
    page(alice, "/sessions/", q="Zebrafinch")
    (entry,) = entries(alice)
    assert (entry["kind"], list(entry["reads"][0]["about"])) == ("access.searched", [str(one)])
    assert entry["reads"][0]["search"] == access.searched(alice, "Zebrafinch")
    assert "zebrafinch" not in json.dumps(entry).lower()


def test_reading_changes_no_session_and_each_reader_has_a_log_of_their_own():
    session, alice, bob = opened(), cast.alice(), cast.bob()
    before = ledger.read_head(session)
    for user in (alice, bob, bob):
        Api(user).get(f"/sessions/{session}")
    assert ledger.read_head(session) == before
    assert (len(entries(alice)), len(entries(bob))) == (1, 2)
    heads = [ledger.read_head(log.log_of(user.tenant_id, user.actor, now())) for user in (alice, bob)]
    dirty = "SELECT count(*) FROM audit_head WHERE dirty_since IS NOT NULL AND log = ANY(%(logs)s)"
    assert ledger.run(dirty, {"logs": [head.log for head in heads]}) == [(2,)]


def test_an_entry_is_under_the_readers_own_key_and_names_nobody():
    opened()
    alice = cast.alice()
    page(alice, "/sessions/")
    rows = list(ledger.read_rows(log.log_of(alice.tenant_id, alice.actor, now())))
    envelope, payload = ledger.open_row(rows[0])
    assert UUID(envelope.kid) == keys.subject_kid(alice.tenant_id, alice.actor)
    assert b"C-1001" not in payload
    assert b"alice" not in payload.lower()


def test_what_is_read_outside_of_a_request_is_written_at_once():
    session, alice = opened(), cast.alice()
    entry_lines.entries(alice, session)
    assert [entry["kind"] for entry in entries(alice)] == ["access.read"]


def test_the_line_of_an_entry_says_who_when_and_which_session():
    session, alice = opened(), cast.alice()
    Api(alice).get(f"/sessions/{session}/memory")
    line = AccessLine.objects.get()
    assert (line.reader, line.kind, line.about, line.teams) == (
        alice.actor,
        "access.read",
        [session],
        [cast.retail().pk],
    )


def test_a_refused_read_leaves_no_entry_but_a_refused_export_does():
    session, charlie, vera = opened(), cast.charlie(), cast.vera()
    problem(Api(charlie).get(f"/sessions/{session}/entries"), 404, "unknown_session")
    assert page(charlie, f"/sessions/{session}/").status_code == 404
    assert cast.browser(vera).post(f"/sessions/{session}/export/").status_code == 403
    assert not AccessLine.objects.filter(reader=charlie.actor).exists()
    assert [entry["what"] for entry in entries(vera, "access.refused")] == ["export"]


def test_the_same_reader_at_once_in_many_threads_loses_no_entry():
    session, alice = opened(), cast.alice()
    at_once(*[lambda: entry_lines.entries(alice, session)] * 8)
    assert len(entries(alice)) == 8


def test_a_head_of_a_transaction_that_was_rolled_back_is_not_remembered():
    session, alice = opened(), cast.alice()
    entry_lines.entries(alice, session)
    with transaction.atomic():
        entry_lines.entries(alice, session)
        transaction.set_rollback(True)
    for _ in range(2):
        entry_lines.entries(alice, session)
    assert len(entries(alice)) == 3


@pytest.fixture
def nothing_can_be_recorded(test_database):
    """The application may not write lines of the access log: as when a disk is full, for this table alone."""
    stack = settings.STACK

    def say(what: str) -> None:
        with psycopg.connect(stack.dsn(stack.superuser, stack.database), autocommit=True) as superuser:
            superuser.execute(what)

    say("REVOKE INSERT ON agent_sessions_accessline FROM app")
    yield
    say("GRANT INSERT ON agent_sessions_accessline TO app")


def test_what_cannot_be_recorded_is_not_shown(nothing_can_be_recorded):
    session, alice = opened(), cast.alice()
    answer = Api(alice).get(f"/sessions/{session}/entries")
    problem(answer, 503, "access_not_recorded")
    refused = page(alice, f"/sessions/{session}/")
    assert refused.status_code == 503
    assert "could not be recorded" in refused.content.decode()
    assert "C-1001" not in refused.content.decode() + answer.content.decode()
    with pytest.raises(log.NotRecorded):
        entry_lines.entries(alice, session)
    assert entries(alice) == []


def test_a_page_that_is_followed_opens_a_view_and_its_changes_write_no_more_entries():
    session, alice = opened(), cast.alice()
    page(alice, f"/sessions/{session}/")
    conversation_commands.say(cast.cleo(), session, "Hello?")
    for _ in range(3):
        page(alice, f"/sessions/{session}/changes/")
    assert [entry["kind"] for entry in entries(alice)] == ["access.opened"]
    assert access.close(OpenView.objects.get().pk, "left")
    (closed,) = entries(alice, "access.closed")
    assert closed["about"] == {str(session): [0, ledger.read_head(session).size - 1]}
    assert not OpenView.objects.exists()


def test_changes_without_an_open_view_open_one():
    session, alice = opened(), cast.alice()
    page(alice, f"/sessions/{session}/changes/")
    assert [entry["kind"] for entry in entries(alice)] == ["access.opened"]


def test_a_view_is_closed_once_whoever_tries():
    opened()
    alice = cast.alice()
    page(alice, "/live/")
    view = OpenView.objects.get().pk
    assert sorted(at_once(*[lambda: access.close(view, "left")] * 4)) == [False, False, False, True]
    assert len(entries(alice, "access.closed")) == 1


def test_a_view_whose_process_died_is_closed_by_the_sweeper_with_the_last_time_known():
    opened()
    alice = cast.alice()
    page(alice, "/live/")
    assert access.close_lost() == 0
    with connection.cursor() as cursor:
        cursor.execute("UPDATE agent_sessions_openview SET held = true, seen_at = seen_at - interval '1 hour'")
    seen = OpenView.objects.get().seen_at
    assert access.close_lost() == 1
    (closed,) = entries(alice, "access.closed")
    assert (closed["why"], closed["seen_at"]) == ("lost", seen.isoformat())


def test_two_transcripts_in_two_tabs_are_two_views():
    one, two, alice = opened(), opened("C-1002"), cast.alice()
    tab: Client = cast.browser(alice)
    for session in (one, two, one):
        tab.get(f"/sessions/{session}/")
    tab.get(f"/sessions/{two}/changes/")
    assert [list(entry["reads"][0]["about"]) for entry in entries(alice, "access.opened")] == [
        [str(one)],
        [str(two)],
        [str(one)],
    ]
    assert OpenView.objects.count() == 3


def test_the_wall_and_lists_show_no_words_to_those_who_may_not_read():
    session, adam = opened(topic="Quokkaburra"), cast.adam()
    for address in ("/live/", "/sessions/", "/audit/", f"/sessions/{session}/", f"/live/changes/?s={session}"):
        answer = page(adam, address)
        assert answer.status_code == 200
        assert b"C-1001" not in answer.content
        assert b"Quokkaburra" not in answer.content
    assert entries_of(adam) == 0


def entries_of(user) -> int:
    return AccessLine.objects.filter(reader=user.actor).count()
