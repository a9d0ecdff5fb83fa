"""The scrubber: what a superuser changed, deleted or swapped is found, told, and found right again."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO, StringIO
from uuid import UUID, uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from audit import keys, ledger, sequencer, signer, verify
from audit.models import Alteration, Scrub
from audit.scrub import altered, entries, heads, schedule
from sessions.auditing import alterations
from sessions.automation.alerts import commands as alert_commands
from sessions.conversation import commands as conversation_commands
from sessions.core import states
from sessions.models.alerts import Alert
from sessions.models.sessions import AgentSession
from sessions.privacy import erasure as erasing
from tests import cast
from tests.shell.api_world import Api
from tests.shell.attack_world import FLIP, Superuser
from tests.shell.bank_world import opened
from tests.shell.erasure_world import approved
from tests.shell.pages import read

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
TABLES_OF_A_SESSION = """
SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
  WHERE c.relnamespace = 'public'::regnamespace AND a.atttypid = 'uuid'::regtype AND NOT a.attisdropped
    AND a.attname IN ('log', 'session', 'session_id') AND c.relname NOT IN ('audit_alteration', 'audit_scrub')"""


@pytest.fixture
def superuser(test_database) -> Superuser:
    return Superuser(test_database)


@pytest.fixture
def session() -> UUID:
    """A session whose head is signed and which the scrubber found right."""
    found = opened()
    for number in range(4):
        conversation_commands.say(cast.cleo(), found, f"sentence {number}")
    look()
    assert standing() == []
    return found


def look() -> None:
    """A round of the sequencer, a comparison of all heads and a full pass, at once."""
    sequencer.run_once(cast.tenant().pk, with_map=True)
    scrubbed()


def scrubbed() -> None:
    tenant = cast.tenant().pk
    Scrub.objects.update(heads_at=None, pass_at=None, rest_until=None)
    for _ in range(500):
        alterations.scrub(tenant)
        row = Scrub.objects.get(pk=tenant)
        if row.heads_at is not None and row.pass_at is not None:
            return
        Scrub.objects.update(rest_until=None)
    raise AssertionError("the pass did not end")


def standing() -> list[tuple[UUID, str, int]]:
    rows = Alteration.objects.filter(right_at=None).order_by("seq", "what")
    return [(row.log, row.what, row.seq) for row in rows]


def alert(session: UUID) -> Alert:
    return Alert.objects.filter(name="altered", about=str(session), team=cast.retail()).latest("raised_at")


def payload_byte(superuser: Superuser, session: UUID) -> None:
    flipped = FLIP.format("ciphertext", 20)
    assert superuser.run(f"UPDATE audit_payload SET ciphertext = {flipped} WHERE log = %s AND seq = 2", session) == 1


def envelope(superuser: Superuser, session: UUID) -> None:
    sql = "UPDATE audit_entry SET envelope = convert_to(replace(convert_from(envelope, 'UTF8'), '\"actor\":\"user:',"
    sql += " '\"actor\":\"user;'), 'UTF8') WHERE log = %s AND seq = 2"
    assert superuser.run(sql, session) == 1


def middle(superuser: Superuser, session: UUID) -> None:
    superuser.drop(session, 2)


def tail(superuser: Superuser, session: UUID) -> None:
    """The end goes, with everything that says how long the log was: head, place, row, caches."""
    size = ledger.read_head(session).size
    superuser.drop(session, size - 2, size - 1)
    superuser.rehash(session)
    superuser.run("UPDATE audit_place SET size = %s WHERE log = %s", size - 2, session)
    superuser.run("UPDATE audit_head SET dirty_since = NULL WHERE log = %s", session)
    superuser.run("DELETE FROM agent_sessions_snapshot WHERE session = %s", session)
    superuser.run("UPDATE agent_sessions_agentsession SET seq = %s WHERE id = %s", size - 2, session)


def swapped(superuser: Superuser, session: UUID) -> None:
    sql = "UPDATE audit_payload p SET ciphertext = q.ciphertext FROM audit_payload q WHERE p.log = %s"
    sql += " AND q.log = p.log AND p.seq + q.seq = 5 AND p.seq IN (2, 3)"
    assert superuser.run(sql, session) == 2


def payload_gone(superuser: Superuser, session: UUID) -> None:
    assert superuser.run("DELETE FROM audit_payload WHERE log = %s AND seq = 2", session) == 1


def deleted(superuser: Superuser, session: UUID) -> None:
    """Every row that names the session, in every table."""
    for table, column in superuser.rows(TABLES_OF_A_SESSION):
        superuser.run(f"DELETE FROM {table} WHERE {column} = %s", session)
    assert superuser.run("DELETE FROM agent_sessions_agentsession WHERE id = %s", session) == 1


def head_gone(superuser: Superuser, session: UUID) -> None:
    assert superuser.run("DELETE FROM audit_head WHERE log = %s", session) == 1


def row_gone(superuser: Superuser, session: UUID) -> None:
    assert superuser.run("DELETE FROM agent_sessions_agentsession WHERE id = %s", session) == 1


#: attack -> what is found
ATTACKS: dict[Callable[[Superuser, UUID], None], list[tuple[str, int]]] = {
    payload_byte: [("payload_altered", 2)],
    envelope: [("entry_altered", 2)],
    middle: [("entry_missing", 2)],
    tail: [("log_cut_off", -1)],
    swapped: [("payload_altered", 2), ("payload_altered", 3)],
    payload_gone: [("payload_missing", 2)],
    deleted: [("log_missing", -1)],
    head_gone: [("log_missing", -1)],
    row_gone: [("session_missing", -1)],
}
WORDS = "This session was altered in the database."


@pytest.fixture(params=ATTACKS, ids=lambda attack: attack.__name__)
def attack(request) -> Callable[[Superuser, UUID], None]:
    return request.param


def forgotten() -> None:
    states.forget_all()
    keys.forget_all()


def test_each_alteration_is_found_alerted_and_told_by_health(attack, superuser, session):
    attack(superuser, session)
    scrubbed()
    assert standing() == [(session, what, seq) for what, seq in ATTACKS[attack]]
    raised = alert(session)
    assert (raised.severity, raised.state, raised.hits) == ("critical", "open", 1)
    answer = Client().get("/healthz/ledger")
    assert (answer.status_code, answer.json()["altered"]) == (503, len(ATTACKS[attack]))
    assert Client().get("/healthz").json()["altered"] == len(ATTACKS[attack])
    scrubbed()  # what stands is not told again
    assert alert(session).hits == 1


def test_pages_and_api_say_so_in_these_words_and_lists_still_work(attack, superuser, session):
    attack(superuser, session)
    forgotten()
    scrubbed()
    api, browser = Api(cast.alice()), cast.browser(cast.alice())
    for path in ("", "/state", "/entries", "/chart", "/memory"):
        answer = api.get(f"/sessions/{session}{path}")
        assert (path, answer.status_code, answer.json()["code"]) == (path, 409, "session_altered")
        assert answer.json()["title"] == WORDS
    for path in ("", "state/", "audit/"):
        answer = browser.get(f"/sessions/{session}/{path}")
        assert (path, answer.status_code) == (path, 409)
        assert WORDS in read(answer.content).text()
    for path in ("/live/", "/sessions/", "/decisions/", "/alerts/", "/stuck/"):
        assert browser.get(path).status_code == 200
    for path in ("sessions", "requests", "alerts"):
        assert api.get(f"/{path}").status_code == 200


def test_before_the_scrubber_came_by_a_reader_refuses_all_the_same(superuser, session):
    for attack in (payload_byte, middle, payload_gone, envelope, swapped):
        other = opened()
        for number in range(4):
            conversation_commands.say(cast.cleo(), other, f"sentence {number}")
        attack(superuser, other)
        forgotten()
        api = Api(cast.alice())
        for path in ("entries", "state"):
            answer = api.get(f"/sessions/{other}/{path}")
            if (attack, path) == (envelope, "state"):
                assert answer.status_code in (200, 409)  # a snapshot stands for the entry
                continue
            assert (attack.__name__, path, answer.status_code, answer.json().get("code")) == (
                attack.__name__, path, 409, "session_altered",
            )  # fmt: skip


def banner(user) -> str:
    page = read(cast.browser(user).get("/sessions/").content)
    return " ".join(node.text() for node in page.all("div") if "alarm" in node.attrs.get("class", ""))


def test_the_banner_is_for_supervisors_auditors_and_admins_until_somebody_acknowledges(superuser, session):
    payload_byte(superuser, session)
    scrubbed()
    for user in (cast.alice(), cast.bob(), cast.anna(), cast.adam()):
        assert "altered in the database" in banner(user)
    assert banner(cast.vera()) == banner(cast.charlie()) == ""
    alert_commands.acknowledge_alert(cast.alice(), alert(session).pk)
    assert banner(cast.bob()) == ""
    answer = Client().get("/healthz/ledger").json()
    assert answer["altered"] == 0
    scrubbed()
    assert (banner(cast.bob()), alert(session).held_by) == ("", cast.alice().actor)


def test_an_alert_that_was_closed_by_name_is_not_raised_again_for_the_same_place(superuser, session):
    payload_byte(superuser, session)
    scrubbed()
    alert_commands.close_alert(cast.alice(), alert(session).pk, "I restored a copy elsewhere")
    scrubbed()
    assert (alert(session).state, Client().get("/healthz/ledger").json()["altered"]) == ("closed", 0)
    middle(superuser, session)  # another place of the same session is told anew
    scrubbed()
    assert Alert.objects.filter(name="altered", about=str(session), state="open").count() == 1


def test_what_is_put_back_is_found_right_again_and_the_alert_closes(superuser, session):
    payload_byte(superuser, session)
    scrubbed()
    payload_byte(superuser, session)  # the same bit turned back
    scrubbed()
    assert standing() == []
    assert altered.of_log(session) is None
    assert (alert(session).state, alert(session).cause) == ("closed", "right_again")
    assert banner(cast.alice()) == ""
    assert Api(cast.alice()).get(f"/sessions/{session}/entries").status_code == 200


def test_a_deleted_session_is_told_to_every_team(superuser, session):
    cast.charlie()
    deleted(superuser, session)
    scrubbed()
    teams = set(Alert.objects.filter(name="altered").values_list("team_id", flat=True))
    assert {cast.retail().pk, cast.cards().pk} <= teams


def test_rebuild_check_names_a_deleted_session(superuser, session):
    deleted(superuser, session)
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("rebuild", "--check", stdout=out)
    assert f"{session} log_missing" in out.getvalue()


def test_deleted_leaves_do_not_hide_a_deleted_session(superuser, session):
    deleted(superuser, session)
    hidden = superuser.run(
        "DELETE FROM audit_glog WHERE position(convert_to(%s, 'UTF8') IN body) > 0", f"/s/{session}\n"
    )
    assert hidden > 0
    scrubbed()
    assert [what for _, what, _ in standing()] == ["leaves_altered"]


def test_erased_and_pruned_contents_are_accounted_for(monkeypatch, session):
    monkeypatch.setattr(keys, "CACHE_SECONDS", 0.0)
    approved()
    assert erasing.carry_out_due() == 1
    assert any(row.ciphertext is None for row in ledger.read_rows(session))
    look()
    assert standing() == []
    assert entries.look(session) == []


def test_a_forged_tombstone_accounts_for_nothing(superuser, session):
    """Without the key nobody writes an entry that says what was pruned; one whose envelope says so does not open."""
    sql = "UPDATE audit_entry SET envelope = convert_to(replace(convert_from(envelope, 'UTF8'), '\"kind\":\"message."
    sql += "added\"', '\"kind\":\"payload.pruned\"'), 'UTF8') WHERE log = %s AND seq = 3"
    superuser.run(sql, session)
    payload_gone(superuser, session)
    assert ("payload_missing", 2) in {(each.what, each.seq) for each in entries.look(session)}


def test_yesterdays_database_under_todays_signer_alerts_everybody(superuser, session):
    superuser.run("UPDATE audit_gstate SET trouble = 'head_refused', trouble_detail = 'Got 3 leaves; signed 9 before.',"
                  " trouble_at = now(), alive_at = now() + interval '1 hour'")  # fmt: skip
    alterations.scrub(cast.tenant().pk)
    raised = Alert.objects.get(name="altered", about="ledger", team=cast.retail())
    assert (raised.why, raised.severity) == ("head_refused", "critical")
    for user in (cast.alice(), cast.anna(), cast.adam()):
        assert "restored from a backup" in banner(user)
    assert banner(cast.vera()) == ""
    superuser.run("UPDATE audit_gstate SET trouble = '', trouble_at = NULL, alive_at = now() + interval '1 hour'")
    alterations.scrub(cast.tenant().pk)
    raised.refresh_from_db()
    assert (raised.state, raised.cause) == ("closed", "right_again")


def test_the_page_of_ledger_health_shows_the_pass_and_what_was_found(superuser, session):
    payload_byte(superuser, session)
    scrubbed()
    text = read(cast.browser(cast.adam()).get("/audit/downtimes/").content).text()
    assert "Last full scan" in text
    assert "The content of the entry was changed." in text
    alert_commands.acknowledge_alert(cast.alice(), alert(session).pk)
    assert "Alice" in read(cast.browser(cast.adam()).get("/audit/downtimes/").content).text()


@pytest.fixture
def small_pieces(monkeypatch) -> None:
    monkeypatch.setattr(schedule, "ROWS", 2)
    monkeypatch.setattr(schedule, "TICK", 0.0)  # one piece of work a call


def test_a_pass_goes_on_where_a_killed_worker_stopped_also_within_a_long_log(small_pieces, superuser, session):
    tenant = cast.tenant().pk
    Scrub.objects.update(heads_at=None, pass_at=None, rest_until=None)
    middle(superuser, session)
    places = []
    while Scrub.objects.get(pk=tenant).pass_at is None:
        Scrub.objects.update(rest_until=None)
        forgotten()  # nothing but the row is left
        alterations.scrub(tenant)
        row = Scrub.objects.get(pk=tenant)
        places.append((row.log, row.seq))
    assert len(set(places)) > 2
    assert standing() == [(session, "entry_missing", 2)]


def test_a_long_log_that_is_right_is_found_right_in_pieces(small_pieces, session):
    scrubbed()
    assert standing() == []
    assert Scrub.objects.get().pass_entries >= ledger.read_head(session).size


def test_the_scrubber_rests_for_as_long_as_its_share_asks(monkeypatch, settings, session):
    settings.SCRUB_SHARE = 0.05
    Scrub.objects.update(heads_at=None, pass_at=None, rest_until=None)
    times, begun = iter([100.0, *[102.0] * 50]), schedule._now()
    monkeypatch.setattr(schedule, "_now", lambda: begun)
    monkeypatch.setattr(schedule.time, "perf_counter", lambda: next(times))
    alterations.scrub(cast.tenant().pk)
    row = Scrub.objects.get()
    assert row.heads_begun is None or row.heads_at is None
    assert row.rest_until - begun == timedelta(seconds=40)
    before = (row.leaf, row.log, row.pass_at)
    alterations.scrub(cast.tenant().pk)  # it rests
    row = Scrub.objects.get()
    assert (row.leaf, row.log, row.pass_at) == before


def test_of_two_workers_one_works(session, test_database):
    Scrub.objects.update(heads_at=None, pass_at=None, rest_until=None)
    with test_database.administrator(test_database.name) as other, other.transaction():
        other.execute("SELECT 1 FROM audit_scrub FOR UPDATE")
        alterations.scrub(cast.tenant().pk)
    assert Scrub.objects.get().pass_at is None


@pytest.mark.parametrize("attack", [payload_byte, tail], ids=lambda each: each.__name__)
def test_a_session_of_another_team_that_was_altered_stays_unseen(attack, superuser, session):
    attack(superuser, session)
    scrubbed()
    answer = Api(cast.charlie()).get(f"/sessions/{session}/entries")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_session")
    assert AgentSession.objects.filter(pk=session).exists()


def test_a_last_entry_that_is_gone_is_found_by_the_comparison_of_heads_alone(superuser, session):
    superuser.drop(session, ledger.read_head(session).size - 1)
    assert [(each.log, each.what) for each in heads.compare_all(cast.tenant().pk)] == [(session, "tail_differs")]


def test_an_entry_at_the_place_of_another_is_named_although_each_is_whole(session):
    rows = [(row.seq, row.envelope, row.ciphertext) for row in ledger.read_rows(session)]
    (_, *second), (_, *third) = rows[2], rows[3]
    rows[2], rows[3] = (2, *third), (3, *second)
    one = entries.LogReading(session, len(rows), None)
    one.read(rows)
    assert [(each.what, each.seq) for each in one.end()] == [("entry_altered", 2), ("entry_altered", 3)]


def test_a_genuine_tombstone_of_another_log_accounts_for_nothing(superuser, session):
    """It opens, for its envelope names its own log; but it was written there."""
    data = json.dumps({"kind": entries.PRUNED, "ranges": [{"first": 0, "last": 99}]}).encode()
    drafts = [ledger.Draft(entries.PRUNED, data)]
    kid = keys.subject_kid(cast.tenant().pk, "somebody")
    other = uuid4()
    assert ledger.create(
        other, cast.tenant().pk, ledger.Batch(drafts, kid, "system", "2026-11-23T12:00:00.000000Z", uuid4())
    )
    seq = ledger.read_head(session).size
    for table in ("audit_entry", "audit_payload"):
        column = "envelope" if table == "audit_entry" else "ciphertext"
        sql = f"INSERT INTO {table} (log, seq, {column}) SELECT %s, %s, {column} FROM {table} WHERE log = %s"
        assert superuser.run(sql, session, seq, other) == 1
    payload_gone(superuser, session)
    assert ("payload_missing", 2) in {(each.what, each.seq) for each in entries.look(session)}


def export(session: UUID) -> tuple[int, bytes]:
    answer = cast.browser(cast.alice()).post(f"/sessions/{session}/export/")
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return answer.status_code, body


def test_an_export_of_an_altered_session_says_so_first_or_is_refused_by_that_name(attack, superuser, session, tmp_path):
    attack(superuser, session)
    forgotten()
    scrubbed()
    status, body = export(session)
    if status == 200:
        with zipfile.ZipFile(BytesIO(body)) as archive:
            readme = archive.read("README.txt").decode()
            assert readme.startswith("WHEN THIS WAS MADE, SOMETHING DID NOT HOLD")
            assert WORDS in readme[:200]
            assert WORDS in archive.read("report.html").decode()
            assert json.loads(archive.read("report.json"))["warnings"][0] == WORDS
        (tmp_path / "out.zip").write_bytes(body)
        assert not verify.verify(tmp_path / "out.zip", signer.vkey(), log=str(session)).ok
    else:
        assert (status, WORDS in read(body).text()) == (409, True)
    assert (attack.__name__, status) in [(each.__name__, 409 if each in REFUSED else 200) for each in ATTACKS]


#: of these no head is there that the signer would sign, or no row that says whose the session was
REFUSED = (tail, deleted, head_gone, row_gone)


def test_an_export_under_a_refused_ledger_says_so_first(superuser, session):
    superuser.run("UPDATE audit_gstate SET trouble = 'head_refused', trouble_detail = 'Got 3 leaves; signed 9 before.',"
                  " trouble_at = now(), alive_at = now() + interval '1 hour'")  # fmt: skip
    _, body = export(session)
    with zipfile.ZipFile(BytesIO(body)) as archive:
        assert "restored from a backup" in archive.read("README.txt").decode()[:400]


def test_the_page_of_an_altered_session_offers_its_export(superuser, session):
    payload_byte(superuser, session)
    scrubbed()
    assert "Export anyway" in read(cast.browser(cast.alice()).get(f"/sessions/{session}/").content).text()
    assert "Export anyway" not in read(cast.browser(cast.vera()).get(f"/sessions/{session}/").content).text()


def test_after_a_pass_and_a_comparison_the_scrubber_rests_until_the_next_is_due(session, settings):
    row = Scrub.objects.get()
    for _ in range(3):
        Scrub.objects.update(rest_until=None)
        alterations.scrub(cast.tenant().pk)
    now = Scrub.objects.get()
    assert (now.pass_at, now.heads_at, now.pass_begun, now.heads_begun) == (row.pass_at, row.heads_at, None, None)
    settings.SCRUB_ENTRIES_EVERY = 0.001
    Scrub.objects.update(rest_until=None)
    alterations.scrub(cast.tenant().pk)
    now = Scrub.objects.get()
    assert (now.pass_at != row.pass_at or now.pass_begun is not None, now.heads_at) == (True, row.heads_at)


def test_a_signed_head_that_is_deleted_while_its_leaves_are_compared_is_found(
    small_pieces, superuser, monkeypatch, session
):
    monkeypatch.setattr(heads, "LEAVES", 1)
    Scrub.objects.update(heads_at=None, rest_until=None)
    alterations.scrub(cast.tenant().pk)
    assert Scrub.objects.get().heads_begun is not None
    superuser.run("DELETE FROM audit_signedhead")
    while Scrub.objects.get().heads_at is None:
        Scrub.objects.update(rest_until=None)
        alterations.scrub(cast.tenant().pk)
    assert "leaves_altered" in {what for _, what, _ in standing()}


def test_a_head_row_that_is_deleted_within_its_long_log_ends_no_pass(small_pieces, superuser, session):
    def further(until: Callable[[Scrub], bool]) -> None:
        for _ in range(500):
            Scrub.objects.update(rest_until=None)
            alterations.scrub(cast.tenant().pk)
            if until(Scrub.objects.get()):
                return
        raise AssertionError("it does not go on")

    Scrub.objects.update(pass_at=None, heads_at=None)
    further(lambda row: row.log == session and row.log_begun is not None and row.seq > 0)
    head_gone(superuser, session)
    further(lambda row: row.pass_at is not None)
    scrubbed()
    assert (session, "log_missing", -1) in standing()


@pytest.mark.parametrize("gone", ["entry", "payload"])
def test_what_is_gone_at_the_end_of_a_piece_of_a_long_log_is_named(gone, small_pieces, superuser, session):
    superuser.run("DELETE FROM audit_payload WHERE log = %s AND seq = 3", session)
    if gone == "entry":
        superuser.run("DELETE FROM audit_entry WHERE log = %s AND seq = 3", session)
    scrubbed()
    assert standing() == [(session, f"{gone}_missing", 3)]


def test_what_is_gone_from_within_a_piece_to_the_end_of_a_long_log_is_named_entry_by_entry(
    small_pieces, superuser, session
):
    size = ledger.read_head(session).size
    superuser.drop(session, *range(3, size))
    scrubbed()
    missing = [(session, "entry_missing", seq) for seq in range(3, size)]
    assert standing() == [(session, "tail_differs", -1), *missing]


def test_the_page_of_ledger_health_lists_a_bounded_number_of_alterations_oldest_first(monkeypatch, session):
    monkeypatch.setattr(altered, "MAX_LISTED", 2)
    for seq in (3, 1, 2):
        altered.report(cast.tenant().pk, [altered.Found(session, "entry_altered", seq)])
    listed = alterations.lines(cast.adam(), [cast.retail().pk])
    assert [line.place.seq for line in listed] == [3, 1]
