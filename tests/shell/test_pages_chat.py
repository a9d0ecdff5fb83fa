"""Playing a caller, and taking a session out of the house."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile

import pytest
from django.urls import reverse

from sessions.approvals import commands as approvals_commands
from sessions.core import entry_lines, session_lines
from sessions.tools.registry import ToolFailed
from tests import cast
from tests.shell.bank_world import events, work
from tests.shell.pages import read
from tests.shell.test_pages import paused

pytestmark = pytest.mark.django_db(transaction=True)


def called(client) -> str:
    """The address of a conversation that was begun by the form."""
    page = read(client.get(reverse("chat")).content)
    form = {node.attrs["name"]: node.attrs.get("value", "") for node in page.all("input") if "name" in node.attrs}
    wish = {"agent": "bank", "customer": "C-1001", "channel": "chat", "topic": "my balance"}
    answer = client.post(reverse("chat"), {**form, **wish})
    assert answer.status_code == 302
    return answer.headers["Location"]


def test_a_person_plays_a_caller_and_reads_the_answer(bank):
    client = cast.browser(cast.cleo())
    address = called(client)
    client.post(f"{address}say/", {"text": "What is my balance?", "key": "1", "act": "say"})
    work()
    page = read(client.get(address).content)
    assert "What is my balance?" in page.id("items").text()
    assert "$" in page.id("items").text().split("What is my balance?")[1]
    assert read(client.get(f"{address}changes/").content).id("items").shape() == page.id("items").shape()


def test_supervisor_and_customer_read_until_when_a_call_is_tried_again(bank, monkeypatch):
    session, request = paused()

    def away():
        raise ToolFailed("no connection", transient=True)

    monkeypatch.setattr("demo.bank_agent.tools._bank", away)
    chat = reverse("chat_with", args=[session])
    assert "The agent retries until" not in read(cast.browser(cast.cleo()).get(chat).content).text()
    approvals_commands.decide(cast.bob(), request.id, approvals_commands.Decision("approve", seen=request.digest))
    work()
    failed = events(session, "tool.failed")[0]
    page = read(cast.browser(cast.alice()).get(reverse("session", args=[session])).content)
    assert f"no connection, will be retried until {failed['retry_until'][11:19]}" in page.text()
    assert (
        "The last attempt failed. The agent retries until" in read(cast.browser(cast.cleo()).get(chat).content).text()
    )


def test_hanging_up_ends_the_session(bank):
    client = cast.browser(cast.cleo())
    address = called(client)
    client.post(f"{address}say/", {"act": "end"})
    assert "The call has ended." in read(client.get(address).content).text()
    answer = client.post(f"{address}say/", {"text": "Hello?", "act": "say"})
    assert answer.status_code == 409
    assert "Hello?" in read(answer.content).id("composer").text()


@pytest.mark.parametrize("wrong", [{"customer": ""}, {"customer": "x" * 300}, {"channel": "fax"}, {"agent": "nobody"}])
def test_a_call_that_makes_no_sense_is_refused_with_words(bank, wrong):
    form = {"customer": "C-1001", "channel": "chat", "agent": "bank", "topic": "", "key": "k", **wrong}
    answer = cast.browser(cast.cleo()).post(reverse("chat"), form)
    assert answer.status_code == 400
    assert "malformed" in read(answer.content).text() or "There is no such agent" in read(answer.content).text()
    assert session_lines.sessions(cast.alice()) == []


def test_a_message_without_words_is_refused(bank):
    client = cast.browser(cast.cleo())
    address = called(client)
    assert client.post(f"{address}say/", {"text": "   ", "act": "say"}).status_code == 422


def test_only_who_may_speak_as_a_customer_plays_one(bank):
    session, _ = paused()
    alice = cast.browser(cast.alice())
    assert alice.get(reverse("chat")).status_code == 403
    assert alice.post(reverse("chat"), {"customer": "C-1001"}).status_code == 403
    assert alice.post(reverse("chat_say", args=[session]), {"text": "I am the customer"}).status_code == 403
    assert "I am the customer" not in [event["text"] for event in events(session, "message.added")]


def test_an_export_from_the_page_verifies_with_the_key_beside_it(bank, tmp_path):
    session, _ = paused()
    client = cast.browser(cast.let_in(cast.anna(), "read", "export"))
    answer = client.post(reverse("session_export", args=[session]))
    data = b"".join(answer.streaming_content)
    assert zipfile.ZipFile(io.BytesIO(data)).namelist()
    (tmp_path / "a.zip").write_bytes(data)
    (tmp_path / "a.vkey").write_bytes(client.get(reverse("session_vkey", args=[session])).content)
    command = [sys.executable, "-m", "audit.verify", str(tmp_path / "a.zip"), "--key", str(tmp_path / "a.vkey")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_exporting_needs_its_permission(bank):
    session, _ = paused()
    vera = cast.browser(cast.vera())
    page = read(vera.get(reverse("session_audit", args=[session])).content)
    assert "Exporting needs the permission export." in page.text()
    assert vera.post(reverse("session_export", args=[session])).status_code == 403
    assert vera.get(reverse("session_vkey", args=[session])).status_code == 403


def test_the_audit_page_lists_every_entry_with_its_leaf(bank):
    session, _ = paused()
    anna = cast.let_in(cast.anna(), "read")
    page = read(cast.browser(anna).get(reverse("session_audit", args=[session])).content)
    head = entry_lines.ledger_head(anna, session)
    lines = entry_lines.ledger_lines(anna, session, 0, head.size)
    assert head.root.hex() in page.text()
    for line in lines[-50:]:
        assert line.leaf in [cell.attrs.get("title") for cell in page.id(f"entry-{line.entry.seq}").all("td")]


def test_a_session_is_found_by_the_reference_that_people_say(bank):
    session, _ = paused()
    line = session_lines.session_line(cast.alice(), session)
    alice = cast.browser(cast.alice())
    for q in (line.reference, line.reference.lower(), str(session)):
        assert str(session) in alice.get(reverse("sessions"), {"q": q}).content.decode()
    for q in ("FFFFFF0", "nobody", "%", "' or 1=1 --"):
        assert str(session) not in alice.get(reverse("sessions"), {"q": q}).content.decode()
