"""How the ledger is kept up: what /healthz/ledger, the banner and the auditors' page say of it."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client

from audit import condition, sequencer, sequencer_leader, signer
from audit.tlog import note
from audit.witness import Witness
from tests import cast
from tests.shell.pages import read
from tests.shell.test_ledger import new_log
from tests.shell.test_sequencer import grown

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def elected(monkeypatch):
    """A sequencer in office, whose rounds the test calls for."""
    tenant = cast.tenant().pk
    monkeypatch.setattr("tests.shell.test_ledger.TENANT", tenant)
    with sequencer_leader.SequencerLeader(tenant) as term:
        term._begin()
        yield term


def ledger_health() -> tuple[int, dict]:
    answer = Client().get("/healthz/ledger")
    return answer.status_code, answer.json()


def banner(user) -> str:
    page = read(cast.browser(user).get("/sessions/").content)
    return " ".join(node.text() for node in page.all("div") if "alarm" in node.attrs.get("class", ""))


def test_a_ledger_that_is_kept_up_is_well(elected):
    new_log()
    elected._tried()
    status, told = ledger_health()
    assert (status, told["ok"], told["sequencer"], told["signer"], told["waiting"]) == (200, True, True, True, 0)
    assert 0 <= told["signed_age"] < 60
    assert (told["lag"], told["witnesses"]) == (0, {})
    assert banner(cast.adam()) == ""


def test_without_a_signer_operators_read_that_sessions_go_on_and_heads_wait(elected, settings):
    new_log()
    right, settings.SIGNER_SOCKET = settings.SIGNER_SOCKET, "/nowhere/signer.sock"
    assert elected._tried() is None
    status, told = ledger_health()
    assert (status, told["signer"], told["trouble"], told["waiting"]) == (503, False, "signer_down", 1)
    assert "The signer does not answer" in banner(cast.adam())
    assert "Sessions go on; their heads wait" in banner(cast.adam())
    assert banner(cast.vera()) == banner(cast.alice()) == ""
    settings.SIGNER_SOCKET = right
    assert elected._tried() is not None
    assert (ledger_health()[0], banner(cast.adam())) == (200, "")


def test_a_refused_head_says_that_the_ledger_was_restored_or_altered(elected, test_database):
    new_log()
    elected._tried()
    with test_database.administrator(test_database.name) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE audit_gstate SET frontier = sha256('another history')")
    new_log()
    assert elected._tried() is None
    status, told = ledger_health()
    assert (status, told["trouble"], told["signer"]) == (503, "head_refused", True)
    assert "cut off, altered or restored from a backup" in banner(cast.adam())


def test_a_head_row_that_was_altered_is_told_by_its_log(elected, test_database):
    bad = new_log()
    elected._tried()
    with test_database.administrator(test_database.name) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE audit_head SET frontier = 'nonsense', size = 9, dirty_since = now()")
    elected._tried()
    assert str(bad.log) in banner(cast.adam())


def test_a_sequencer_that_stopped_is_told_by_its_silence(elected):
    log = new_log()
    elected._tried()
    grown(log)
    connection.cursor().execute("UPDATE audit_gstate SET alive_at = now() - interval '1 minute'")
    status, told = ledger_health()
    assert (status, told["sequencer"], told["trouble"]) == (503, False, "sequencer_down")
    assert "No sequencer runs" in banner(cast.adam())


def test_heads_that_wait_for_long_are_told_although_everything_runs(elected):
    new_log()
    connection.cursor().execute("UPDATE audit_head SET dirty_since = now() - interval '5 minutes'")
    told = condition.read(elected.tenant)
    assert (told.told.code, told.waiting, told.lag > 200) == ("sequencer_slow", 1, True)


def test_a_log_that_is_written_to_all_the_time_waits_only_for_its_newest_entries(elected):
    log = new_log()
    elected._tried()
    with connection.cursor() as cursor:  # as if it had never been found at rest since
        cursor.execute("UPDATE audit_head SET dirty_since = now() - interval '5 minutes'")
    assert condition.read(elected.tenant).waiting == 0
    grown(log)
    told = condition.read(elected.tenant)
    assert told.waiting == 1
    assert told.lag < 60
    assert told.told is None


def test_the_newest_cosignature_of_each_configured_witness_is_told(elected, settings, tmp_path):
    one, two = (Witness(tmp_path / name, name, [note.parse_vkey(signer.vkey())]) for name in ("w/1", "w/2"))
    settings.WITNESSES = [one.vkey(), "http://127.0.0.1:1", two.vkey(), "http://127.0.0.1:1"]
    connection.cursor().execute(
        "INSERT INTO audit_cosignature (tenant, size, name, at, line)"
        " VALUES (%s, 2, 'w/1', now() - interval '1 hour', ''), (%s, 1, 'w/1', now(), '')",
        [elected.tenant, elected.tenant],
    )
    seen = ledger_health()[1]["witnesses"]
    assert seen["w/1"] < 60
    assert seen["w/2"] is None


def test_auditors_and_admins_read_on_the_page_how_the_log_is_kept_up(elected):
    new_log()
    elected._tried()
    text = read(cast.browser(cast.adam()).get("/audit/downtimes/").content).text()
    assert "Sequencer Running" in text
    assert "None configured" in text
    assert cast.browser(cast.vera()).get("/audit/downtimes/").status_code == 403


def test_health_of_the_ledger_before_anything_was_set_up_is_an_answer():
    assert ledger_health()[0] == 503


def test_a_round_on_demand_tells_nothing(elected):
    elected._tried()
    assert sequencer.run_once(elected.tenant).heads == 0
    assert condition.read(elected.tenant).trouble == ""


def test_that_one_database_role_owns_everything_is_said_in_plain_words(elected, settings, monkeypatch):
    assert ledger_health()[1]["warnings"] == []
    monkeypatch.setitem(settings.DATABASES["owner"], "USER", settings.DATABASES["default"]["USER"])
    (warning,) = ledger_health()[1]["warnings"]
    assert warning.startswith("One database role owns everything.")
    page = cast.browser(cast.adam()).get("/audit/downtimes/")
    assert "One database role owns everything." in page.content.decode()
