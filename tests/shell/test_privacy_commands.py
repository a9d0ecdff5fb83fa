"""`manage.py erasure`, `hold` and `retention`: what the pages do, at the machine, under somebody's name."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from agentstate.clock import now
from agentstate.engine.instants import stamp
from audit.models import ErasureRequest, LegalHold
from sessions.models.proposals import Proposal
from sessions.models.sessions import AgentSession
from sessions.proposals import workflow
from sessions.proposals.commands import answer_proposal
from tests import cast
from tests.shell.bank_world import CUSTOMER, opened
from tests.shell.erasure_world import entries_of_staff

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
WHO = ("--customer", CUSTOMER)


def said(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


@pytest.fixture
def people():
    return cast.petra(), cast.paul(), cast.vera()


def test_an_erasure_is_asked_for_approved_and_carried_out_at_the_machine(people, at_once):
    opened()
    asked = said("erasure", "request", *WHO, "--basis", "objection", "--reason", "a letter", "--as", "petra").strip()
    with pytest.raises(CommandError, match="cannot approve it"):
        said("erasure", "approve", asked, "--as", "petra")
    assert said("erasure", "approve", asked, "--as", "paul") == f"{asked} is approved.\n"
    assert said("erasure", "run") == "1 erasures finished\n"
    assert said("erasure", "show", "--as", "petra").split()[:3] == [asked, "done", "objection"]
    assert [each["request"] for each in entries_of_staff("erasure.done")] == [asked]


@pytest.mark.parametrize("act", ["refuse", "withdraw"])
def test_a_request_is_refused_or_withdrawn_and_nothing_is_erased(act, people, at_once):
    opened()
    asked = said("erasure", "request", *WHO, "--basis", "objection", "--reason", "a letter", "--as", "petra").strip()
    said("erasure", act, asked, "--as", "petra" if act == "withdraw" else "paul")
    assert said("erasure", "run") == "0 erasures finished\n"
    assert ErasureRequest.objects.get().state in ("refused", "withdrawn")


def test_the_report_is_json_on_standard_output_and_on_record(people):
    session = opened()
    found = json.loads(said("erasure", "report", "--session", str(session), "--as", "petra"))
    assert str(session) in json.dumps(found)
    assert len(entries_of_staff("subject.reported")) == 1


def test_a_hold_is_set_shown_and_lifted_at_the_machine(people):
    session = opened()
    tomorrow = stamp(now() + timedelta(days=1))
    hold = said("hold", "set", *WHO, "--reason", "case 12", "--until", tomorrow, "--as", "petra").strip()
    only = said("hold", "set", "--session", str(session), "--only-session", "--reason", "x", "--as", "paul").strip()
    shown = said("hold", "show", "--as", "petra")
    kid = AgentSession.objects.get(pk=session).kid
    assert f"{hold}  key {kid}" in shown
    assert f"{only}  session {session}  until lifted" in shown
    said("hold", "lift", hold, "--as", "paul")
    assert hold not in said("hold", "show", "--as", "petra")
    with pytest.raises(CommandError, match="lifted already"):
        said("hold", "lift", hold, "--as", "paul")


def test_a_held_subject_is_kept_although_its_erasure_was_approved_at_the_machine(people, at_once):
    opened()
    said("hold", "set", *WHO, "--reason", "case 12", "--as", "petra")
    asked = said("erasure", "request", *WHO, "--basis", "objection", "--reason", "a letter", "--as", "petra").strip()
    said("erasure", "approve", asked, "--as", "paul")
    assert said("erasure", "run") == "0 erasures finished\n"


def test_a_schedule_is_set_from_a_file_and_the_dry_run_says_what_would_go(people, tmp_path):
    session = opened()
    AgentSession.objects.update(ended_at=now() - timedelta(days=40))
    schedule = {"classes": [{"name": "short", "days": 30}], "rules": [{"retention": "short"}]}
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(schedule))
    assert json.loads(said("retention", "set", str(file), "--as", "petra"))["classes"] == []
    (proposal,) = Proposal.objects.all()
    answer_proposal(cast.paul(), proposal.pk, agrees=True)
    Proposal.objects.update(due_at=now() - timedelta(seconds=1))
    assert workflow.carry_out_due() == 1
    assert json.loads(said("retention", "show"))["classes"] == schedule["classes"]
    assert json.loads(said("retention", "show"))["rules"][0]["retention"] == "short"
    told = said("retention", "dry-run")
    assert f"{session}  short  ended" in told
    assert "payloads of 1 sessions would go" in told
    said("hold", "set", *WHO, "--reason", "case 12", "--as", "petra")
    assert "kept by a legal hold\n0 payloads of 0 sessions would go" in said("retention", "dry-run")


@pytest.mark.parametrize(
    "words",
    [
        ("erasure", "request", *WHO, "--basis", "objection", "--reason", "x", "--as", "vera"),
        ("erasure", "report", *WHO, "--as", "vera"),
        ("hold", "set", *WHO, "--reason", "x", "--as", "vera"),
        ("hold", "show", "--as", "nobody"),
        ("erasure", "request", "--customer", "C-never", "--basis", "objection", "--reason", "x", "--as", "petra"),
    ],
)
def test_whoever_may_not_is_refused_in_one_line_and_nothing_is_written(words, people):
    opened()
    with pytest.raises(CommandError) as refused:
        said(*words)
    assert "\n" not in str(refused.value).strip()
    assert (ErasureRequest.objects.count(), LegalHold.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    "text", ["", "[", "[]", '{"classes": [{"name": "", "days": 1}]}', '{"rules": [{"retention": "x"}]}']
)
def test_a_schedule_that_makes_no_sense_is_refused_in_one_line(text, people, tmp_path):
    file = tmp_path / "schedule.json"
    file.write_text(text)
    with pytest.raises(CommandError):
        said("retention", "set", str(file), "--as", "petra")
    assert json.loads(said("retention", "show")) == {"classes": [], "rules": []}
