"""Rows of another application's database: noted there, fetched here, acted on once; and never in its way."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections
from psycopg import sql

from agentstate.stack import postgres
from audit import keys
from sessions.automation.triggers import firings, installation, rows
from sessions.automation.triggers import repository as keeping
from sessions.automation.triggers.databases import NotReachable
from sessions.core import states
from sessions.models.sessions import AgentSession
from sessions.models.triggers import Trigger, TriggerFiring, Watch
from sessions.privacy import subject_report
from sessions.privacy.stores import STORES
from tests import cast
from tests.shell.bank_world import kinds, opened
from tests.shell.killed import killed_at
from tests.shell.test_triggers import ends, kept

pytestmark = pytest.mark.django_db(transaction=True)

OPENS = {"agent": "bank", "customer": "event.key.id", "say": "'The bank has flagged ' + event.key.id"}


@pytest.fixture
def there(bank) -> Iterator[psycopg.Connection[Any]]:
    """A program of the bank's own, as from psql; nothing of ours is left afterwards."""
    with psycopg.connect(bank.dsn, autocommit=True) as connection:
        yield connection
        connection.execute("DROP SCHEMA IF EXISTS agentstate_watch CASCADE")
        connection.execute("UPDATE core.customers SET check_flag = 'clear' WHERE id = 'C-1001'")


def watch(*columns: str, name: str = "flags", table: str = "core.customers") -> Watch:
    watched = installation.looked_up(name, "bank", table, columns=columns)
    return installation.install(cast.retail(), watched, "bank")


def flag(there: psycopg.Connection[Any], flagged: str = "refuse", customer: str = "C-1001") -> None:
    there.execute("UPDATE core.customers SET check_flag = %s WHERE id = %s", [flagged, customer])


def noted(there: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return there.execute("SELECT op, key, was FROM agentstate_watch.outbox ORDER BY place").fetchall()


def fetched() -> int:
    """What the task of triggers does for tables."""
    taken = rows.take_in()
    firings.fire_due()
    return taken


@pytest.fixture
def our_database_down(test_database) -> Callable[[], AbstractContextManager[None]]:
    """Ends every connection to our own database and lets none in, for as long as the context lasts."""

    @contextmanager
    def down() -> Iterator[None]:
        name = sql.Identifier(test_database.name)
        with test_database.administrator() as administrator:
            administrator.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
            try:
                connections.close_all()
                ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
                administrator.execute(ending, [test_database.name])
                yield
            finally:
                administrator.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))

    return down


def test_a_row_that_psql_changes_while_our_database_is_down_opens_a_session(there, bank, our_database_down):
    watch("check_flag")
    trigger = kept("flagged", on={"row": {"watch": "flags", "ops": ["update"]}}, do={"open": OPENS})
    with our_database_down():
        with pytest.raises(OperationalError):
            fetched()
        changing = "UPDATE core.customers SET check_flag = 'refuse' WHERE id = 'C-1001'"
        subprocess.run([postgres._binary("psql"), bank.dsn, "--command", changing], check=True, capture_output=True)
    assert noted(there) == [("update", {"id": "C-1001"}, None)]
    assert fetched() == 1
    assert ends(trigger) == [("fired", "")]
    session = AgentSession.objects.get()
    assert (session.channel, states.load(session.pk).state.items[-1].text) == ("chat", "The bank has flagged C-1001")
    assert noted(there) == []
    assert fetched() == 0


def test_a_changed_row_informs_the_open_session_of_its_customer(there):
    watch("check_flag")
    tell = {"say": "'Look at the flag'", "to": {"customer": "event.key.id"}}
    trigger = kept("flagged", on={"row": {"watch": "flags"}}, do={"tell": tell})
    session = opened("C-1001")
    flag(there)
    fetched()
    assert ends(trigger) == [("fired", "")]
    assert states.load(session).state.items[-1].text == "Look at the flag"


def test_without_such_a_session_it_says_so(there):
    watch("check_flag")
    tell = {"say": "'Look'", "to": {"customer": "event.key.id"}}
    trigger = kept("flagged", on={"row": {"watch": "flags"}}, do={"tell": tell})
    flag(there)
    fetched()
    assert ends(trigger) == [("refused", "no_session")]


def test_only_primary_keys_are_noted_and_what_changes_nothing_is_not(there):
    watch()
    flag(there, "refuse")
    flag(there, "refuse")
    there.execute("INSERT INTO core.customers (id, name, number) VALUES ('C-9901', 'Zoe', 'N-9901')")
    there.execute("UPDATE core.customers SET id = 'C-9902' WHERE id = 'C-9901'")
    there.execute("DELETE FROM core.customers WHERE id = 'C-9902'")
    assert noted(there) == [
        ("update", {"id": "C-1001"}, None),
        ("insert", {"id": "C-9901"}, None),
        ("update", {"id": "C-9902"}, {"id": "C-9901"}),
        ("delete", {"id": "C-9902"}, None),
    ]


def test_a_long_transaction_that_commits_late_is_not_lost_and_not_overtaken(there, bank):
    watch("check_flag")
    trigger = kept("flagged", on={"row": {"watch": "flags"}}, when="false", do={"open": OPENS})
    with psycopg.connect(bank.dsn) as slow:
        flag(slow, customer="C-1002")
        flag(there, customer="C-1001")
        assert fetched() == 0  # the first is still under way
        slow.commit()
    assert fetched() == 2
    assert ends(trigger) == [("passed", "condition_false")] * 2
    there.execute("UPDATE core.customers SET check_flag = 'clear' WHERE id = 'C-1002'")


def test_a_transaction_that_is_rolled_back_was_never_there(there, bank):
    watch("check_flag")
    kept("flagged", on={"row": {"watch": "flags"}}, do={"open": OPENS})
    with psycopg.connect(bank.dsn) as other:
        flag(other)
        other.rollback()
    assert fetched() == 0


def test_a_worker_killed_between_fetching_and_deleting_leaves_one_effect(there):
    watch("check_flag")
    trigger = kept("flagged", on={"row": {"watch": "flags"}}, do={"open": OPENS})
    flag(there)
    assert killed_at("after_poll:flags", rows.take_in)
    assert (len(noted(there)), ends(trigger)) == (1, [("due", "")])
    assert killed_at("after_poll:flags", fetched)  # it is fetched again, and that one dies there as well
    assert fetched() == 0
    assert (noted(there), ends(trigger), AgentSession.objects.count()) == ([], [("fired", "")], 1)


def test_a_worker_killed_between_acting_and_writing_it_down_leaves_one_effect(there):
    watch("check_flag")
    trigger = kept("flagged", on={"row": {"watch": "flags"}}, do={"open": OPENS})
    flag(there)
    rows.take_in()
    for _ in range(2):
        assert killed_at("before_fired", firings.fire_due)
        assert (ends(trigger), AgentSession.objects.count()) == ([("due", "")], 1)
        TriggerFiring.objects.update(lease_until=None)  # as if its lease had passed
    firings.fire_due()
    (session,) = AgentSession.objects.values_list("pk", flat=True)
    assert (ends(trigger), kinds(session).count("trigger.fired")) == ([("fired", "")], 1)


def test_a_worker_killed_after_it_told_a_session_tells_it_no_second_time(there):
    watch("check_flag")
    tell = {"say": "'Look at the flag'", "to": {"customer": "event.key.id"}}
    trigger = kept("flagged", on={"row": {"watch": "flags"}}, do={"tell": tell})
    session = opened("C-1001")
    flag(there)
    rows.take_in()
    assert killed_at("before_fired", firings.fire_due)
    TriggerFiring.objects.update(lease_until=None)
    firings.fire_due()
    assert ends(trigger) == [("fired", "")]
    assert [item.text for item in states.load(session).state.items] == ["Look at the flag"]


@pytest.mark.parametrize(
    "broken", ["DROP TABLE agentstate_watch.outbox", "ALTER TABLE agentstate_watch.outbox ADD CHECK (false) NOT VALID"]
)
def test_the_other_application_never_notices_that_we_are_broken(there, broken):
    watch()
    there.execute(broken)
    flag(there, "slow")
    assert there.execute("SELECT check_flag FROM core.customers WHERE id = 'C-1001'").fetchone() == ("slow",)
    rows.take_in()
    if "DROP" in broken:
        assert Watch.objects.get().trouble == "UndefinedTable"


def test_whoever_writes_cannot_lead_the_function_astray(there):
    watch()
    there.execute("CREATE TEMP TABLE outbox (watch text, op text, key jsonb, was jsonb)")
    there.execute("CREATE FUNCTION pg_temp.lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'mine' $$")
    there.execute("SET search_path = pg_temp, public")
    flag(there)
    there.execute("RESET search_path")
    assert there.execute("SELECT count(*) FROM pg_temp.outbox").fetchone() == (0,)
    assert [op for op, _, _ in noted(there)] == ["update"]


def test_a_watch_is_printed_for_the_owner_installed_and_taken_away(there):
    cast.retail()
    out = io.StringIO()
    call_command("watch_table", "flags", table="core.customers", column=["check_flag"], prints=True, stdout=out)
    assert Watch.objects.count() == 0
    assert there.execute("SELECT to_regclass('agentstate_watch.outbox')").fetchone() == (None,)
    there.execute(out.getvalue().encode())  # as the owner does
    call_command("watch_table", "flags", table="core.customers", team="retail", installed=True, stdout=io.StringIO())
    kept("flagged", on={"row": {"watch": "flags"}}, do={"open": OPENS})
    flag(there)
    assert fetched() == 1
    with pytest.raises(CommandError, match="from this watch"):
        call_command("watch_table", "flags", remove=True)
    keeping.switch(Trigger.objects.get().pk, False, cast.adam().actor)
    call_command("watch_table", "flags", remove=True, stdout=io.StringIO())
    assert there.execute("SELECT to_regclass('agentstate_watch.outbox')").fetchone() == (None,)
    flag(there, "slow")


def test_a_watch_that_a_trigger_uses_is_not_removed(there):
    watch("check_flag")
    kept("flagged", on={"row": {"watch": "flags"}}, do={"open": OPENS})
    with pytest.raises(installation.WatchInUse):
        installation.remove("flags")
    flag(there)
    assert (Watch.objects.count(), len(noted(there))) == (1, 1)


def test_a_watch_that_the_other_database_refuses_is_not_kept_here(there):
    there.execute("CREATE SCHEMA agentstate_watch CREATE VIEW outbox AS SELECT 1 AS mine")
    with pytest.raises(installation.NotInstalled):
        watch("check_flag")
    assert Watch.objects.count() == 0
    assert there.execute("SELECT mine FROM agentstate_watch.outbox").fetchone() == (1,)


def test_a_database_that_does_not_answer_is_told_without_its_address_and_fetched_from_later(there, settings):
    watch("check_flag")
    trigger = kept("flagged", on={"row": {"watch": "flags"}}, do={"open": OPENS})
    flag(there)
    right, settings.BANK_DSN = settings.BANK_DSN, "host=127.0.0.1 port=9 dbname=bank"
    assert fetched() == 0
    assert Watch.objects.get().trouble == "database_not_reachable"
    with pytest.raises(NotReachable) as refused:
        installation.looked_up("more", "bank", "core.customers")
    assert "127.0.0.1" not in str(refused.value)
    settings.BANK_DSN = right
    assert fetched() == 1
    assert (Watch.objects.get().trouble, ends(trigger)) == ("", [("fired", "")])


@pytest.mark.parametrize("table", ["core.nothing", "core.customers; DROP TABLE x", "", "a.b.c", 'core."'])
def test_a_table_that_is_not_there_cannot_be_watched(there, table):
    with pytest.raises(installation.BadWatch):
        installation.looked_up("flags", "bank", table)


def test_a_watch_is_of_one_team(there):
    watch()
    team, definition = cast.cards(), {"on": {"row": {"watch": "flags"}}, "do": {"open": OPENS}}
    with pytest.raises(keeping.UnknownWatch):
        keeping.keep(team.tenant_id, team.pk, cast.adam().actor, "spy", definition)


def test_a_full_queue_leaves_the_rows_where_they_are(there, monkeypatch):
    watch("check_flag")
    trigger = kept("flagged", on={"row": {"watch": "flags"}}, when="false", do={"open": OPENS})
    monkeypatch.setattr(rows.intake, "MAX_DUE", 2)
    for flagged in ("refuse", "slow", "clear"):
        flag(there, flagged)
    assert rows.take_in() == 2
    assert (Watch.objects.get().lag, TriggerFiring.objects.count()) == (1, 2)
    firings.fire_due()
    assert fetched() == 1
    assert len(ends(trigger)) == 3


def test_what_waits_of_a_customer_is_in_the_report_about_them_and_goes_with_their_erasure(there):
    watch("check_flag")
    trigger = kept("flagged", on={"row": {"watch": "flags"}}, do={"open": OPENS})
    flag(there)
    rows.take_in()
    (waiting,) = subject_report.made(cast.petra(), customer="C-1001")["waiting"]
    assert (waiting["trigger"], waiting["event"]["key"]) == ("flagged", {"id": "C-1001"})
    kid = TriggerFiring.objects.get().kid
    (store,) = [each for each in STORES if each.name == "waiting"]
    assert (store.count(kid), store.sweep(kid), store.count(kid)) == (1, 1, 0)
    assert bytes(TriggerFiring.objects.get().sealed) == b""
    firings.fire_due()
    assert (ends(trigger), AgentSession.objects.count()) == ([("refused", "erased")], 0)


def test_what_names_no_customer_yet_waits_under_the_teams_key(there):
    watch("check_flag")
    kept("flagged", on={"row": {"watch": "flags"}}, do={"run": {"to": {"session": "event.key.id"}}})
    flag(there)
    rows.take_in()
    assert TriggerFiring.objects.get().kid == keys.subject_kid(cast.tenant().pk, f"team:{cast.retail().pk}")


def test_what_waits_of_a_row_is_sealed_and_gone_once_it_has_ended(there):
    watch("check_flag")
    kept("flagged", on={"row": {"watch": "flags"}}, do={"open": OPENS})
    flag(there)
    rows.take_in()
    waiting = bytes(TriggerFiring.objects.get().sealed)
    assert waiting
    assert b"C-1001" not in waiting
    firings.fire_due()
    assert bytes(TriggerFiring.objects.get().sealed) == b""
