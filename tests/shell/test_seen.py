"""What a reviewer saw is recorded with the decision, can be read again, and is erased with its subject."""

from __future__ import annotations

import io
import zipfile
from uuid import UUID

import msgspec
import pytest
from django.urls import reverse

from agentstate.engine import events as ev
from agentstate.errors import Invalid
from audit import keys
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.approvals import reviewer_view
from sessions.core import entry_lines, states
from sessions.exports import session as export
from sessions.models.sessions import AgentSession
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import events, say
from tests.shell.pages import read
from tests.shell.test_erased import destroy
from tests.shell.test_pages import paused
from tests.shell.test_pages_decisions import card, form_of, send

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])


@pytest.fixture
def asked(bank) -> tuple[UUID, UUID]:
    session, line = paused()
    return session, line.id


def recorded(session: UUID) -> dict:
    return events(session, "decision.made")[-1]["shown"]


def test_what_the_page_showed_is_in_the_entry_of_the_decision(asked):
    session, request = asked
    line = approvals_queries.request_line(cast.alice(), request)
    send(cast.browser(cast.alice()), request, "approve")
    shown = recorded(session)
    data = shown["data"]
    assert (data["surface"], data["preview"], data["arguments"]) == ("page", line.preview, line.arguments)
    assert [each["path"] for each in data["evidence"]] == ["state.authorization", "state.customer.accounts"]
    assert (data["rule"], data["digest"], data["masked"]) == (line.rule, line.digest, [])
    assert shown["digest"] == ev.digest(data)
    words = {
        entry.seq: entry.data["text"] for entry in entry_lines.entries(cast.alice(), session) if "text" in entry.data
    }
    assert any("$1,200.00" in words[seq] for seq in data["said"])


def test_it_is_what_stood_there_and_not_what_was_said_since(asked):
    session, request = asked
    browser = cast.browser(cast.alice())
    form = form_of(card(browser, request))
    say(session, "By the way, I am in a hurry.")
    browser.post(reverse("decision", args=[request]), {**form, "decision": "approve"})
    late = [e.seq for e in entry_lines.entries(cast.alice(), session) if "hurry" in (e.data or {}).get("text", "")]
    assert late
    assert not set(late) & set(recorded(session)["data"]["said"])


def test_a_view_is_of_its_reader_and_request_alone_and_cannot_be_made_up(asked):
    _, request = asked
    theirs = form_of(card(cast.browser(cast.bob()), request))
    for view in (theirs["view"], "made up", "", theirs["view"][:-2]):
        answer = cast.browser(cast.alice()).post(
            reverse("decision", args=[request]), {**theirs, "view": view, "decision": "approve"}
        )
        assert answer.status_code in (409, 422)
    with pytest.raises(Invalid, match="what it showed"):
        approvals_commands.decide(cast.alice(), request, approvals_commands.Decision("approve", view=theirs["view"]))
    assert approvals_queries.request_line(cast.alice(), request).state == "pending"


def test_a_program_that_names_what_it_read_has_it_recorded_and_one_that_does_not_has_nothing(asked):
    session, request = asked
    path = f"/requests/{request}/decisions"
    digest = approvals_queries.request_line(cast.alice(), request).digest
    assert Api(cast.alice()).post(path, {"decision": "approve", "seen": digest}).status_code == 201
    assert (recorded(session)["data"]["surface"], recorded(session)["data"]["said"]) == ("api", [])
    other, line = paused("$900.00")
    approvals_commands.decide(cast.alice(), line.id, approvals_commands.Decision("approve"))
    assert recorded(other) is None


def test_who_audits_reads_again_what_they_saw_on_a_page_and_in_the_report(asked):
    session, request = asked
    send(cast.browser(cast.alice()), request, "approve")
    anna = cast.browser(cast.let_in(cast.anna(), "see", "read", "export"))
    page = read(anna.get(reverse("decision_seen", args=[request])).content)
    assert "Matches the record" in page.text()
    assert "Move $1,200.00" in page.text()
    assert "savings" in page.text()
    assert (
        reverse("decision_seen", args=[request]) in anna.get(reverse("session_audit", args=[session])).content.decode()
    )
    assert cast.browser(cast.charlie()).get(reverse("decision_seen", args=[request])).status_code == 404
    out = io.BytesIO()
    export.write(cast.alice(), session, out, unmask=True, reason="an audit")
    report = zipfile.ZipFile(out).read("report.html").decode()
    assert "What they saw" in report
    assert "On the page: Move $1,200.00" in report


def test_it_is_erased_with_its_subject(asked):
    session, request = asked
    send(cast.browser(cast.alice()), request, "reject", reason="another account")
    destroy(AgentSession.objects.get(pk=session).kid)
    keys.forget_all()
    states.forget_all()
    page = cast.browser(cast.alice()).get(reverse("decision_seen", args=[request])).content.decode()
    assert "was erased or pruned" in page
    assert "$1,200.00" not in page


def made_decision(data: dict) -> ev.DecisionMade:
    return ev.DecisionMade("request", "approve", "user:ann", "", "seen", shown=reviewer_view.shown(data))


def test_long_values_are_cited_and_the_whole_is_bounded(asked):
    _, request = asked
    _, held, _ = approvals_queries.request_of(cast.alice(), request)
    long = {"note": "x" * 5_000, "amount": {"minor": 1, "currency": "USD"}}
    many = {f"field{n}": "y" * 900 for n in range(200)}
    for arguments in (long, many):
        made = reviewer_view.view(msgspec.structs.replace(held, approved_arguments=arguments), "d", surface="page")
        assert len(ev.encode(made_decision(made))) < 2 * reviewer_view.LONGEST
        cited = made["arguments"]["note"] if "note" in made["arguments"] else made["arguments"]
        assert set(cited) == {"sha256", "bytes"}
