"""Attacks on what is sealed: aliases, reasons, links' secrets, search tokens, saved plans. Some are a superuser's."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from agentstate.stack import postgres
from agentstate.stack.endpoints import Endpoints, endpoints
from tests import places
from tests.attacks.client import Json, Person, Talk, eventually
from tests.attacks.stack import Stack
from tests.processes import ROOT


def marker() -> str:
    """A word that stands nowhere else."""
    return f"Mark{uuid4().hex[:12]}"


def place(stack: Stack) -> Endpoints:
    return endpoints({"AGENTSTATE_STATE_DIR": str(stack.state)}, ROOT)


@contextmanager
def superuser(stack: Stack) -> Iterator[psycopg.Connection]:
    with postgres.superuser(place(stack), place(stack).database) as connection:
        yield connection


def in_statistics(stack: Stack, *words: str) -> list[str]:
    """The columns whose statistics hold a word, after PostgreSQL has looked at all tables."""
    found = places.statistics(place(stack))
    return [name for name, text in found.items() if any(word in text for word in words)]


def in_dump(stack: Stack, *words: str) -> list[str]:
    """The words that a dump of the database holds."""
    where = place(stack)
    dump = [postgres._binary("pg_dump"), "--dbname", where.dsn(where.superuser, where.database)]
    said = subprocess.run(dump, capture_output=True, check=True, timeout=120).stdout
    assert b"agent_sessions_agentsession" in said
    return [word for word in words if word.encode() in said or word.encode().hex().encode() in said]


def found(stack: Stack, person: Person, reference: str) -> set[str]:
    """The sessions that this person's search by a reference lists."""
    page = stack.browser(person).page(f"/sessions/?q={reference}")
    page = re.sub(r'(?s)<div class="note risk alarm".*?</div>', "", page)  # names a session that another attack altered
    return set(re.findall(r'href="/sessions/([0-9a-f-]{36})/"', page))


def in_one_hour() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat()


# --- E3, E4: the alias --------------------------------------------------------------------------------------------


def test_e3_an_alias_is_in_no_statistics_of_the_catalog(stack: Stack) -> None:
    alias = marker()
    talks = [stack.talk(alias=f"{alias}-{number % 3}").id for number in range(12)]
    assert in_statistics(stack, alias) == []
    assert found(stack, stack.watcher, f"{alias}-0") == set(talks[::3])


def test_e3_a_dump_of_the_database_holds_no_alias(stack: Stack) -> None:
    alias = marker()
    talk = stack.talk(alias=alias)
    assert in_dump(stack, alias) == []
    assert stack.watcher.get(f"/sessions/{talk.id}").must()["alias"] == alias


def test_e3_no_file_of_the_database_holds_an_alias(stack: Stack) -> None:
    alias = marker()
    stack.talk(alias=alias)
    with superuser(stack) as owner:
        owner.execute("CHECKPOINT")
    files = [path for path in place(stack).postgres_dir.rglob("*") if path.is_file()]
    assert len(files) > 500
    assert [path for path in files if alias.encode() in read(path)] == []


def read(path: Path) -> bytes:
    """The bytes of a file of the database; none where it is gone by now."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_e4_who_may_not_read_is_shown_no_alias_by_any_list_or_page(stack: Stack) -> None:
    alias = marker()
    adam, caller = stack.team("admin", "caller")
    talk = stack.talk(alias=alias, caller=caller)
    for path in ("/sessions", f"/sessions/{talk.id}"):
        assert talk.id in adam.get(path).text
        assert alias not in adam.get(path).text, path
    browser = stack.browser(adam)
    for page in ("/sessions/", f"/sessions/?q={talk.id[-6:]}", "/live/"):
        assert alias not in browser.page(page), page


def test_e4_the_search_of_privacy_staff_finds_no_session_by_its_alias_and_a_reader_is_on_record(stack: Stack) -> None:
    alias = marker()
    petra, vera, adam, caller = stack.team("privacy", "viewer", "admin", "caller")
    talk = stack.talk(alias=alias, caller=caller)
    assert found(stack, petra, alias) == set()
    assert found(stack, vera, alias) == {talk.id}
    lines = adam.get(f"/audit/access?reader={vera.actor}").must()["entries"]
    assert [line["kind"] for line in lines if talk.id in line["about"]] == ["access.searched"]


def test_e4_no_alert_request_or_audit_page_shows_an_alias_to_who_may_not_read(stack: Stack) -> None:
    alias = marker()
    adam, sue, caller = stack.team("admin", "supervisor", "caller")
    talk = stack.talk(alias=alias, caller=caller)
    talk.say("hello", caller).must()
    talk.post(sue, "takeover", reason="to help").must()
    for path in ("/alerts?limit=500", "/requests?limit=500", "/audit/staff", f"/audit/access?reader={sue.actor}"):
        assert alias not in adam.get(path).text, path
    browser = stack.browser(adam)
    for page in ("/alerts/", "/decisions/", "/audit/"):
        assert alias not in browser.page(page), page
    assert alias in sue.get(f"/sessions/{talk.id}").text


# --- E5: secrets of links -----------------------------------------------------------------------------------------


def web_log(stack: Stack) -> str:
    return (stack.state / "log" / "web.log").read_text(errors="replace")


def path_and_secret(address: str) -> tuple[str, str]:
    """The path of a link, and the secret at its end."""
    path = httpx.URL(address).path
    return path, path.strip("/").rpartition("/")[2]


def disclosed(sue: Person, talk: Talk) -> tuple[str, str, str]:
    """The id of a disclosure of a session's first entry, and the path and the secret of its link."""
    made = sue.post(f"/sessions/{talk.id}/disclosures", what="entry", first=0, days=1, reason="asked").must()
    return (made["disclosure"]["id"], *path_and_secret(made["address"]))


def client_at(stack: Stack, source: str) -> httpx.Client:
    """A client that calls from this address of ours."""
    return httpx.Client(transport=httpx.HTTPTransport(local_address=source), base_url=stack.url)


def asked(stack: Stack, method: str, path: str, source: str, status: int) -> None:
    """A request from this address of ours, whose refusal the web process has written into its log."""
    before = web_log(stack).count(method_of(status))
    with client_at(stack, source) as client:
        assert client.request(method, path).status_code == status, (method, path)
    eventually(lambda: web_log(stack).count(method_of(status)) > before, "the refusal is in the log")


def method_of(status: int) -> str:
    """What Django's own line about such a refusal begins with."""
    return {403: "Forbidden (", 404: "Not Found: ", 410: "Gone: ", 429: "Too Many Requests: "}[status]


@pytest.mark.alone
def test_e5_the_secret_of_a_link_is_in_no_line_about_a_refusal(stack: Stack) -> None:
    sue, talk = stack.supervisor(), stack.talk()
    disclosure, path, token = disclosed(sue, talk)
    asked(stack, "POST", path, "127.0.0.21", 403)
    with client_at(stack, "127.0.0.22") as client:
        while client.get(path).status_code == 200:
            pass
    asked(stack, "GET", path, "127.0.0.22", 429)
    sue.delete(f"/sessions/{talk.id}/disclosures/{disclosure}").must()
    asked(stack, "GET", f"{path}proof.json", "127.0.0.23", 410)
    assert token not in web_log(stack)


@pytest.mark.alone
def test_e5_neither_a_used_sign_in_link_nor_a_mistyped_address_leads_to_a_secret_in_the_log(stack: Stack) -> None:
    link, token = path_and_secret(stack.at_the_machine("link", stack.supervisor().name, stack.url))
    asked(stack, "POST", link, "127.0.0.24", 403)
    for path in (f"/x{link}", f"/SIGN-IN/link/{token}/", f"/{token}/", f"/shared/{token}/more/"):
        asked(stack, "GET", path, "127.0.0.24", 404)
    assert token not in web_log(stack)


@pytest.mark.alone
def test_e5_no_other_spelling_of_a_links_address_leads_to_its_secret_in_the_log(stack: Stack) -> None:
    _, path, token = disclosed(stack.supervisor(), stack.talk())
    spelled = "".join(f"%{ord(letter):02x}" for letter in token)
    for address in (f"/shared/{spelled}/x/", f"/shared//{token}/", f"/shared/{token}", f"/x?from={path}"):
        with client_at(stack, "127.0.0.26") as client:
            client.get(address)
    asked(stack, "GET", f"/shared/{token}/more/", "127.0.0.26", 404)
    assert token not in web_log(stack)
    assert spelled not in web_log(stack)


# --- E6: search tokens --------------------------------------------------------------------------------------------


def searches(adam: Person, reader: Person) -> set[str]:
    """The tokens of searches in this reader's access log."""
    lines = adam.get(f"/audit/access?reader={reader.actor}").must()["entries"]
    return {read["search"] for line in lines for read in (line["facts"] or {}).get("reads", []) if "search" in read}


def differ(adam: Person, vera: Person, viola: Person) -> None:
    """Each reader's log has one token, and not the same."""
    one, other = searches(adam, vera), searches(adam, viola)
    assert (len(one), len(other), one & other) == (1, 1, set())


def test_e6_two_readers_who_search_for_one_customer_leave_different_tokens(stack: Stack) -> None:
    vera, viola, adam, caller = stack.team("viewer", "viewer", "admin", "caller")
    talk = stack.talk(caller=caller)
    for reader in (vera, viola, vera):
        assert found(stack, reader, talk.customer["id"]) == {talk.id}
    differ(adam, vera, viola)


def test_e6_a_search_by_alias_leaves_a_token_of_its_reader_too(stack: Stack) -> None:
    vera, viola, adam, caller = stack.team("viewer", "viewer", "admin", "caller")
    alias = marker()
    talk = stack.talk(alias=alias, caller=caller)
    for reader in (vera, viola):
        assert found(stack, reader, alias) == {talk.id}
    differ(adam, vera, viola)


def test_e6_tomorrows_search_for_a_customer_who_came_back_leads_to_no_entry_of_today(stack: Stack) -> None:
    vera, adam, caller = stack.team("viewer", "admin", "caller")
    talk = stack.talk(caller=caller)
    assert found(stack, vera, talk.customer["id"]) == {talk.id}
    tokens = [stack.at_the_machine("search_token", vera.name, talk.customer["id"], days) for days in (0, 1, 366)]
    assert searches(adam, vera) == {tokens[0]}
    assert len(set(tokens)) == 3


# --- E7, E8: reasons ----------------------------------------------------------------------------------------------


def four_reasons(stack: Stack) -> tuple[list[str], Person]:
    """Each reason that staff give, by its own word; and a caller of the team."""
    words = [marker() for _ in range(4)]
    sue, sam, adam, anna, caller = stack.team("supervisor", "supervisor", "admin", "auditor", "caller")
    (stop,) = sue.post("/stops", scope="tool", value="note", reason=words[2]).must()["stops"]
    body = {"team": stop["team"], "until": in_one_hour()}
    sue.post("/delegations", receiver=sam.id, permissions=["decide"], reason=words[0], **body).must()
    adam.post("/audit/grants", user=anna.id, kinds=["read"], reason=words[1], **body).must()
    assert sue.post(f"/stops/{stop['id']}/lift", why=words[3]).must()["lifted_why"] == words[3]
    return words, caller


def test_e7_no_reason_of_staff_is_in_a_dump_or_in_the_statistics(stack: Stack) -> None:
    words, _ = four_reasons(stack)
    assert in_dump(stack, *words) == []
    assert in_statistics(stack, *words) == []


def test_e7_a_callers_token_reads_no_reason_of_a_stop(stack: Stack) -> None:
    words, caller = four_reasons(stack)
    answer = caller.get("/stops")
    assert [each["value"] for each in answer.must()["stops"]] == ["note"]
    assert not any(word in answer.text for word in words)
    assert not any(word in stack.browser(caller).page("/stops/") for word in words)


def test_e7_a_callers_token_reads_no_reason_of_a_delegation_or_an_audit_access(stack: Stack) -> None:
    words, caller = four_reasons(stack)
    for path in ("/delegations", "/audit/grants", "/audit/staff", "/stops?state=lifted"):
        assert not any(word in caller.get(path).text for word in words), path


def erasing(stack: Stack, hold: str, why: str) -> tuple[Person, Person, Json, str]:
    """A customer who was under a legal hold and whose erasure is asked for; two privacy staff, and the hold's id."""
    petra, paul, caller = stack.team("privacy", "privacy", "caller")
    talk = stack.talk(caller=caller)
    held = petra.post("/holds", session=talk.id, reason=hold).must()
    petra.delete(f"/holds/{held['id']}").must()
    asked = petra.post("/erasures", session=talk.id, basis="objection", reason=why).must()
    assert petra.get(f"/erasures/{asked['id']}").must()["erasure"]["reason"] == why
    return petra, paul, {**asked, "session": talk.id}, held["id"]


def begun(stack: Stack, erasure: Json) -> bool:
    """Whether the key is closed, as a superuser reads it."""
    with superuser(stack) as owner:
        closed = "SELECT 1 FROM audit_subjectkey WHERE kid = %s AND closing_at IS NOT NULL"
        return bool(owner.execute(closed, [erasure["subject"]]).fetchall())


def test_e8_the_reason_of_an_erasure_is_gone_while_its_sweep_is_held_up(stack: Stack) -> None:
    why = marker()
    petra, paul, erasure, _ = erasing(stack, marker(), why)
    with superuser(stack) as owner, owner.transaction():
        owner.execute("SELECT 1 FROM agent_sessions_agentsession WHERE id = %s FOR UPDATE", [erasure["session"]])
        paul.post(f"/erasures/{erasure['id']}", state="approved").must()
        eventually(lambda: begun(stack, erasure), "the erasure begins")
        answer = petra.get(f"/erasures/{erasure['id']}")
        assert answer.must()["erasure"]["done_at"] is None
        assert why not in answer.text + paul.get("/erasures").text + stack.browser(petra).page("/privacy/")


def test_e8_the_reason_of_a_legal_hold_is_gone_while_the_row_that_has_it_cannot_be_swept(stack: Stack) -> None:
    hold = marker()
    petra, paul, erasure, row = erasing(stack, hold, marker())
    assert hold in petra.get("/holds").text
    with superuser(stack) as owner, owner.transaction():
        owner.execute("SELECT 1 FROM audit_legalhold WHERE id = %s FOR UPDATE", [row])
        paul.post(f"/erasures/{erasure['id']}", state="approved").must()
        eventually(lambda: petra.get(f"/erasures/{erasure['id']}").must()["erasure"]["destroyed_at"], "destroyed")
        assert hold not in petra.get("/holds").text + stack.browser(petra).page("/privacy/")
        with superuser(stack) as other:
            (sealed,) = other.execute("SELECT reason FROM audit_legalhold WHERE id = %s", [row]).fetchone() or (b"",)
        assert sealed


def test_e8_neither_reason_is_read_by_who_begins_anew_while_the_sweep_is_held_up(stack: Stack) -> None:
    hold, why = marker(), marker()
    petra, paul, erasure, _ = erasing(stack, hold, why)
    with superuser(stack) as owner, owner.transaction():
        owner.execute("SELECT 1 FROM agent_sessions_agentsession WHERE id = %s FOR UPDATE", [erasure["session"]])
        paul.post(f"/erasures/{erasure['id']}", state="approved").must()
        eventually(lambda: begun(stack, erasure), "the erasure begins")
        told = paul.get(f"/erasures/{erasure['id']}").text + paul.get("/holds").text + paul.get("/audit/staff").text
        told += stack.browser(paul).page("/privacy/") + petra.get("/erasures").text
        assert why not in told
        assert in_dump(stack, hold, why) == []


# --- E10: saved plans ---------------------------------------------------------------------------------------------

INPUT = {"type": "object", "properties": {"subject": {"type": "string"}}, "required": ["subject"]}


def test_e10_a_plan_with_the_reference_of_a_customer_is_not_saved(stack: Stack) -> None:
    sue, talk = stack.supervisor(), stack.talk()
    call = {"_tool": "check", "subject": talk.customer["id"]}
    assert sue.post("/plans", name="named", calls=[call]).code == "names_customer"
    assert talk.customer["id"] not in sue.get("/plans").text


def test_e10_neither_the_description_nor_a_default_of_a_saved_plan_names_a_customer(stack: Stack) -> None:
    sue, talk = stack.supervisor(), stack.talk()
    customer, call = talk.customer["id"], {"_tool": "check", "subject": "†input.subject"}
    for more in (
        {"inputs": INPUT, "about": f"As for {customer}: check first."},
        {"inputs": {**INPUT, "properties": {"subject": {"type": "string", "default": customer}}}},
        {"inputs": INPUT, "conditions": [f"input.subject != '{customer}'"]},
    ):
        assert sue.post("/plans", name="hidden", calls=[call], **more).code == "names_customer", more
    assert sue.post("/plans", name="hidden", calls=[call], inputs=INPUT).must()["version"] == 1


def test_e10_a_later_version_of_a_saved_plan_names_no_customer(stack: Stack) -> None:
    sue, talk = stack.supervisor(), stack.talk()
    sue.post("/plans", name="grown", calls=[{"_tool": "check", "subject": "†input.subject"}], inputs=INPUT).must()
    named = {"_tool": "check", "subject": {"deep": [f"see {talk.customer['id']}"]}}
    assert sue.post("/plans", name="grown", calls=[named]).code == "names_customer"
    assert (
        sue.post("/plans", name=f"for-{talk.customer['id']}", calls=[{"_tool": "check", "subject": "x"}]).status >= 400
    )
    assert talk.customer["id"] not in sue.get("/plans").text
