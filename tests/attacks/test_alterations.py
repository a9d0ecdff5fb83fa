"""Attacks on the record by PostgreSQL's superuser, who has no key: what was altered or deleted is found and told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from audit.tlog import tree
from tests.attacks.client import Person, Talk, eventually, words
from tests.attacks.stack import Stack
from tests.attacks.superuser import Root, superuser

WORDS = "This session was altered in the database"
FOUND = 90.0  # seconds: the installation's passes follow each other closely


def signed_talk(root: Root) -> Talk:
    """A session that rests, and whose head stands in the signed global log."""
    talk = root.stack.talk()
    talk.say("What is my balance?").must()
    talk.rests()
    query = "SELECT h.size = p.size AND p.index < (SELECT max(size) FROM audit_signedhead) FROM audit_head h"
    query += " JOIN audit_place p USING (log) WHERE h.log = %s"
    eventually(lambda: root.run(query, talk.id) == [(True,)], "its head is signed")
    return talk


def payload_byte(root: Root, log: str) -> None:
    sql = "UPDATE audit_payload SET ciphertext = set_byte(ciphertext, 20, get_byte(ciphertext, 20) # 1)"
    root.change((f"{sql} WHERE log = %s AND seq = 2", (log,)))


def envelope(root: Root, log: str) -> None:
    sql = """UPDATE audit_entry SET envelope = convert_to(replace(convert_from(envelope, 'UTF8'), '"epoch":', """
    root.change((f"""{sql}'"epoch":1'), 'UTF8') WHERE log = %s AND seq = 2""", (log,)))


def middle(root: Root, log: str) -> None:
    root.change(*((f"DELETE FROM audit_{table} WHERE log = %s AND seq = 3", (log,)) for table in TABLES))


def tail(root: Root, log: str) -> None:
    """The last two entries go; head, place and row say that they never were."""
    rows = root.run("SELECT envelope FROM audit_entry WHERE log = %s ORDER BY seq", log)
    left = [tree.leaf_hash(bytes(row[0])) for row in rows[:-2]]
    size, frontier = len(left), tree.append(b"", 0, left)
    root.change(
        *((f"DELETE FROM audit_{table} WHERE log = %s AND seq >= %s", (log, size)) for table in TABLES),
        ("UPDATE audit_head SET size = %s, frontier = %s, dirty_since = NULL WHERE log = %s", (size, frontier, log)),
        ("UPDATE audit_place SET size = %s, frontier = %s WHERE log = %s", (size, frontier, log)),
        ("UPDATE agent_sessions_agentsession SET seq = %s WHERE id = %s", (size, log)),
    )


def swapped(root: Root, log: str) -> None:
    sql = "UPDATE audit_payload p SET ciphertext = q.ciphertext FROM audit_payload q WHERE p.log = %s"
    root.change((f"{sql} AND q.log = p.log AND p.seq + q.seq = 5 AND p.seq IN (2, 3)", (log,)))


def payload_deleted(root: Root, log: str) -> None:
    root.change(("DELETE FROM audit_payload WHERE log = %s AND seq = 2", (log,)))


def session_deleted(root: Root, log: str) -> None:
    """All rows that name the session, in every table that the application has; not its own findings."""
    tables = """SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.atttypid = 'uuid'::regtype
        AND a.attname IN ('log', 'session', 'session_id') AND NOT a.attisdropped
        AND c.relname NOT IN ('audit_alteration', 'audit_scrub', 'audit_entry')"""
    rest = [
        (f"WITH gone AS (DELETE FROM {table} WHERE {column} = %s) SELECT 1", (log,))
        for table, column in root.run(tables)
    ]
    root.change(
        *rest,
        ("DELETE FROM audit_entry WHERE log = %s", (log,)),
        ("DELETE FROM agent_sessions_agentsession WHERE id = %s", (log,)),
    )


def head_deleted(root: Root, log: str) -> None:
    root.change(("DELETE FROM audit_head WHERE log = %s", (log,)))


def row_deleted(root: Root, log: str) -> None:
    root.change(("DELETE FROM agent_sessions_agentsession WHERE id = %s", (log,)))


TABLES = ("entry", "payload")
PROGRESS = "SELECT heads_at, pass_at FROM audit_scrub"
Attack = Callable[[Root, str], None]


def alert_about(person: Person, log: str) -> list[Any]:
    alerts = person.get("/alerts?limit=500&state=open").must()["alerts"]
    return [each for each in alerts if each["name"] == "altered" and each["about"] == log]


def comes_by(root: Root) -> None:
    """Waits until the scrubber has ended another comparison of heads and another pass."""
    ((heads, entries),) = root.run(PROGRESS)

    def ended() -> bool:
        now = root.run(PROGRESS)[0]
        return bool(now[0] > heads and now[1] > entries)

    eventually(ended, "the scrubber came by again", FOUND)


def is_found_and_told(stack: Stack, attack: Attack, *, put_back: bool = False) -> None:
    """The alert comes; API and pages say it in these words; lists, pages of others and health go on."""
    with superuser(stack) as root:
        talk, sue = signed_talk(root), stack.supervisor()
        root.copy("whole", talk.id)
        attack(root, talk.id)
        alerts = eventually(lambda: alert_about(sue, talk.id), "an alert is raised", FOUND)
        assert alerts[0]["severity"] == "critical"
        is_told(stack, sue, talk)
        if put_back:
            root.put_back("whole", talk.id)


def is_told(stack: Stack, sue: Person, talk: Talk) -> None:
    """API and pages refuse the session by that name; lists, pages of others and health go on and name it."""
    for path in ("", "/state", "/entries"):
        is_refused(sue, talk, path)
    browser = stack.browser(sue)
    for path in ("", "state/", "audit/"):
        page = browser.http.get(f"/sessions/{talk.id}/{path}")
        assert page.status_code == 409
        assert WORDS in words(page.text)
    for path in ("/live/", "/sessions/", "/decisions/"):
        assert "altered in the database" in words(browser.page(path))  # the banner
    sue.get("/sessions").must()
    health = browser.http.get("/healthz/ledger")
    assert (health.status_code, health.json()["altered"] > 0) == (503, True)
    assert browser.http.get("/healthz").json()["altered"] > 0


def is_refused(sue: Person, talk: Talk, path: str) -> None:
    answer = sue.get(f"/sessions/{talk.id}{path}")
    assert (answer.status, answer.code) == (409, "session_altered"), answer


def test_m1_a_changed_byte_of_a_payload_is_found_and_told(stack: Stack):
    is_found_and_told(stack, payload_byte)


def test_m1_a_changed_envelope_is_found_and_told(stack: Stack):
    is_found_and_told(stack, envelope)


def test_m1_an_entry_deleted_from_the_middle_is_found_and_told(stack: Stack):
    is_found_and_told(stack, middle)


def test_m1_a_tail_cut_off_with_head_and_place_set_back_is_found_and_told(stack: Stack):
    """It is put right at the end: the session may go on, which the signer would go on refusing."""
    is_found_and_told(stack, tail, put_back=True)


def test_m1_swapped_payloads_are_found_and_told(stack: Stack):
    is_found_and_told(stack, swapped)


def test_m1_a_payload_that_nothing_accounts_for_is_found_and_told(stack: Stack):
    is_found_and_told(stack, payload_deleted)


def test_h2_a_deleted_session_is_found_and_told(stack: Stack):
    is_found_and_told(stack, session_deleted)


def test_h2_a_session_without_its_head_is_found_and_told(stack: Stack):
    is_found_and_told(stack, head_deleted)


def test_h2_a_session_without_its_row_is_found_and_told(stack: Stack):
    is_found_and_told(stack, row_deleted)


def test_m1_the_entries_that_are_left_are_no_list_also_before_the_scrubber_comes_by(stack: Stack):
    with superuser(stack) as root:
        talk, sue = signed_talk(root), stack.supervisor()
        middle(root, talk.id)
        is_refused(sue, talk, "/entries")


def test_m1_who_acknowledges_is_named_and_it_is_raised_no_more(stack: Stack):
    with superuser(stack) as root:
        talk, sue = signed_talk(root), stack.supervisor()
        payload_byte(root, talk.id)
        alert = eventually(lambda: alert_about(sue, talk.id), "an alert is raised", FOUND)[0]
        sue.post(f"/alerts/{alert['id']}/close", reason="restored elsewhere").must()
        comes_by(root)
        comes_by(root)
    assert alert_about(sue, talk.id) == []
    assert sue.get(f"/alerts/{alert['id']}").must()["closed_by"] == sue.actor
