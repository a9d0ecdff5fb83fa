"""The pages about data subjects: asking, approving with the counts in sight, holds, retention, the report."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.urls import reverse

from agentstate.clock import now
from audit.erasure import State
from audit.models import ErasureRequest, LegalHold
from sessions.models.proposals import Proposal
from sessions.privacy import commands
from sessions.privacy import erasure as erasing
from sessions.proposals import workflow
from tests import cast
from tests.shell.bank_world import CUSTOMER, opened
from tests.shell.erasure_world import approved, asked, kid_of
from tests.shell.pages import read

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])


def page(user, address: str) -> str:
    answer = cast.browser(user).get(address)
    assert answer.status_code == 200, address
    return read(answer.content).text()


def sent(user, address: str, *where, **fields):
    return cast.browser(user).post(reverse(address, args=where), fields)


def test_an_erasure_is_asked_for_approved_and_done_on_pages_alone(at_once):
    session = opened()
    fields = {"who": CUSTOMER, "basis": "objection", "reason": "asked by letter"}
    answer = sent(cast.petra(), "privacy_change", "erasures", **fields)
    request = ErasureRequest.objects.get()
    assert answer["Location"] == reverse("erasure", args=[request.pk])
    assert "Waits for approval" in page(cast.paul(), reverse("privacy"))
    detail = page(cast.paul(), answer["Location"])
    assert "asked by letter" in detail
    assert "Encrypted words of entries 1" in detail
    assert str(session)[-6:].upper() in detail
    assert sent(cast.paul(), "erasure_rule", request.pk, "approve").status_code == 302
    assert "Being erased" in page(cast.paul(), answer["Location"])
    erasing.carry_out_due()
    done = page(cast.paul(), answer["Location"])
    assert "Erased" in done
    assert "asked by letter" not in done


def test_who_asked_sees_no_button_to_approve_and_is_refused_without_it():
    opened()
    request = asked()
    address = reverse("erasure", args=[request.pk])
    body = cast.browser(cast.petra()).get(address).content
    assert (b"/approve/" in body, b"/withdraw/" in body) == (False, True)
    answer = sent(cast.petra(), "erasure_rule", request.pk, "approve")
    assert answer.status_code == 403
    assert ErasureRequest.objects.get().state == State.ASKED


def test_a_request_that_a_hold_blocks_says_which():
    opened()
    commands.set_hold(cast.petra(), customer=CUSTOMER, reason="case 12 at court")
    request = approved()
    assert "Blocked by a legal hold" in page(cast.paul(), reverse("privacy"))
    assert "case 12 at court" in page(cast.paul(), reverse("erasure", args=[request.pk]))


def test_a_hold_is_set_by_a_session_and_lifted():
    session = opened()
    fields = {"who": str(session), "only": "session", "reason": "a case", "until": "2126-01-31"}
    assert sent(cast.petra(), "privacy_change", "holds", **fields).status_code == 302
    hold = LegalHold.objects.get()
    assert (hold.log, hold.kid) == (session, kid_of(session))
    assert "One session" in page(cast.petra(), reverse("privacy"))
    assert sent(cast.petra(), "privacy_change", "lift", hold=str(hold.pk)).status_code == 302
    assert "Lifted by" in page(cast.petra(), reverse("privacy"))


def test_what_is_wrong_in_a_form_is_told_above_it_and_what_was_typed_stays():
    opened()
    answer = sent(cast.petra(), "privacy_change", "erasures", who="C-nobody", basis="objection", reason="asked")
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "no such data subject" in text
    assert 'value="C-nobody"' in text
    for fields in ({"who": ""}, {"who": CUSTOMER, "until": "soon"}, {"who": CUSTOMER, "only": "session"}):
        answer = sent(cast.petra(), "privacy_change", "holds", **{"reason": "a case", **fields})
        assert answer.status_code == 422, fields


def test_retention_rules_are_added_and_taken_away():
    cast.paul()
    made = sent(cast.petra(), "retention_change", name="calls", days="30", channel="phone")
    (proposal,) = Proposal.objects.all()
    assert made["Location"] == reverse("proposal", args=[proposal.pk])
    assert sent(cast.paul(), "proposal_answer", proposal.pk, "agree").status_code == 302
    Proposal.objects.update(due_at=now() - timedelta(seconds=1))
    assert workflow.carry_out_due() == 1
    assert "calls 30 any any phone" in page(cast.petra(), reverse("retention"))
    wrong = sent(cast.petra(), "retention_change", name="calls", days="many")
    assert wrong.status_code == 422
    assert sent(cast.petra(), "retention_change", remove="1").status_code == 302
    assert "All sessions are kept" in page(cast.petra(), reverse("retention"))


def test_the_report_is_a_page_and_a_file():
    opened(topic="Quokkaburra")
    shown = sent(cast.petra(), "privacy_change", "report", who=CUSTOMER, form="page")
    assert "Quokkaburra" in shown.content.decode()
    file = sent(cast.petra(), "privacy_change", "report", who=CUSTOMER, form="json")
    assert "attachment" in file["Content-Disposition"]
    assert "Quokkaburra" in json.dumps(json.loads(file.content)["logs"])


@pytest.mark.parametrize("address", ["/privacy/", "/privacy/retention/"])
def test_the_pages_are_refused_to_whom_they_do_not_concern(address):
    opened()
    for user in (cast.vera(), cast.cleo()):
        assert cast.browser(user).get(address).status_code == 403
    assert "Privacy requests" not in page(cast.vera(), "/live/")
    assert "Privacy requests" in page(cast.petra(), "/live/")
    request = asked()
    assert cast.browser(cast.charlie()).get(reverse("erasure", args=[request.pk])).status_code == 404
