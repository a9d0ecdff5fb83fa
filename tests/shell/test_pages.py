"""Every page: who may open it, that it renders whole, safely and without inline code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse

from sessions import urls as console
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.core import session_lines
from sessions.tools.mcp import servers
from tests import cast
from tests.shell.bank_world import opened, say, work
from tests.shell.pages import read
from tests.shell.test_mcp import Crm

pytestmark = pytest.mark.django_db(transaction=True)
# Reached by POST, by the customer, or as a download: each has tests of its own.
ELSEWHERE = {
    "grant_revoke", "decision_act", "delegation_revoke", "proposal", "proposal_answer",
    "audit_access", "audit_samples", "audit_gaps", "audit_staff", "audit_grants", "audit_grant_revoke",
    "audit_exports", "audit_export_new", "audit_export_cancel", "audit_export_download", "audit_export_vkey",
    "home", "memory_mind", "versions_change", "plan_edit", "goals_change", "customer_change", "session_export",
    "session_vkey", "verify",
    "chat", "chat_with", "chat_changes", "chat_say",
    "session_stop", "stuck_step_in", "tool_answer", "tool_server_look",
    "alert_act", "alert_rule_keep", "alert_rule_switch", "alert_rule", "levels_table",
    "triggers", "trigger", "trigger_keep", "trigger_switch",
    "notices_read", "notice_rules", "notice_rule", "notice_rule_keep", "notice_rule_switch", "notice_team",
    "notice_endpoints", "notice_endpoint", "notice_endpoint_keep", "notice_endpoint_act",
    "session_proof", "disclosure_revoke", "shared", "shared_file",
    "session_supervise", "stop_lift", "next_work", "desk_skills", "desk_wanted", "desk_deputy",
    "desk_deputy_remove",
    "privacy_change", "erasure", "erasure_rule",
    "retention", "retention_change",
}  # fmt: skip
NONSENSE = [
    "/live/changes/?s=x",
    "/sessions/?before=x",
    "/sessions/?status=x",
    "/sessions/?q=%00",
    "/decisions/changes/?r=x",
]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \"quoted\" & 'single' </p>"


@pytest.fixture(autouse=True)
def _a_tool_server(settings, tmp_path) -> Iterator[None]:
    """One that is described, so that it has a page; nobody asks it anything."""
    settings.TOOL_FOLDER = str(tmp_path)
    Crm(tmp_path).describe()
    yield
    servers._read.cache_clear()


def paused(amount: str = "$1,200.00"):
    """A session that waits for a decision, and its request."""
    session = opened("C-1001")
    work()
    say(session, f"I want to move {amount} from savings to checking.")
    say(session, "Yes, that is right.")
    return session, next(line for line in approvals_queries.requests(cast.alice()) if line.session == session)


def addresses(session, request) -> list[str]:
    """Every address that a person reads by GET."""
    one, two = [session], [request.id]
    return [
        reverse("live"),
        reverse("live_changes") + f"?s={session}",
        reverse("decisions"),
        reverse("decisions") + "?view=decided",
        reverse("decisions") + "?view=expired",
        reverse("decision_changes") + f"?r={request.id}",
        reverse("decision", args=two),
        reverse("decision_seen", args=two),
        reverse("delegations"),
        reverse("alerts"),
        reverse("alerts") + "?view=closed",
        reverse("alert_changes"),
        reverse("alert_rules"),
        reverse("levels"),
        reverse("notices"),
        reverse("notices") + "?view=unread",
        reverse("notices_bell"),
        reverse("notice_wishes"),
        reverse("sessions"),
        reverse("sessions") + "?status=idle&q=A1B2C3",
        reverse("session", args=one),
        reverse("session", args=one) + "?before=5",
        reverse("session_changes", args=one),
        reverse("session_audit", args=one),
        reverse("session_disclosures", args=one),
        reverse("session_state", args=one),
        reverse("stuck"),
        reverse("stuck_session", args=one),
        reverse("memory", args=one),
        reverse("versions", args=one),
        reverse("plan", args=one),
        reverse("plan_changes", args=one),
        reverse("session_chart", args=one),
        reverse("charts"),
        reverse("policies"),
        reverse("library"),
        reverse("policy", args=["bank"]),
        reverse("policy_dry_run"),
        reverse("session_grants", args=one),
        reverse("tools"),
        reverse("tool", args=["transfer"]),
        reverse("tool_server", args=["crm"]),
        reverse("chart", args=["bank-transfer"]),
        reverse("audit"),
        reverse("privacy"),
        reverse("proposals"),
        reverse("stops"),
        reverse("handover"),
        reverse("desk"),
        reverse("customer", args=[session_lines.session_line(cast.alice(), session).customer]),
    ]


def test_these_are_all_pages_that_are_read(bank):
    reached = {resolve(address.partition("?")[0]).url_name for address in addresses(*paused())}
    named = {pattern.name for pattern in console.urlpatterns}
    assert named - reached == ELSEWHERE


def test_every_page_opens_for_a_supervisor_and_carries_the_policy(bank):
    client = cast.browser(cast.alice())
    for address in addresses(*paused()):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_no_page_holds_inline_style_or_script(bank):
    client, caller = cast.browser(cast.alice()), cast.browser(cast.cleo())
    session, request = paused()
    pages = [client.get(address) for address in addresses(session, request)]
    pages += [caller.get(reverse("chat")), caller.get(reverse("chat_with", args=[session])), client.get("/nowhere/")]
    pages += [cast.browser().get(reverse("people:sign_in"))]
    for answer in pages:
        tree = read(answer.content)
        assert not list(tree.all("style"))
        for node in tree.all():
            assert "style" not in node.attrs
            assert not [name for name in node.attrs if name.startswith("on")]
            assert node.tag != "script" or (node.attrs.get("src", "").startswith("/static/") and not node.children)
            assert not node.attrs.get("href", "").startswith("javascript:")


def test_ids_are_unique_on_every_page(bank):
    client = cast.browser(cast.alice())
    for address in addresses(*paused()):
        ids = [node.attrs["id"] for node in read(client.get(address).content).all() if "id" in node.attrs]
        assert len(ids) == len(set(ids)), address


def test_strangers_are_sent_to_the_door(bank):
    session, request = paused()
    for address in addresses(session, request):
        answer = cast.browser().get(address)
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith(reverse("people:sign_in"))


def test_another_team_finds_nothing(bank):
    session, request = paused()
    charlie = cast.browser(cast.charlie())
    for address in addresses(session, request):
        answer = charlie.get(address)
        named = "customers/" in address or str(session) in address or str(request.id) in address
        assert answer.status_code == (404 if named and "live" not in address else 200), address
        assert str(request.id) not in answer.content.decode()
        assert f"/sessions/{session}" not in answer.content.decode()


def test_who_may_see_but_not_read_gets_no_word_of_it(bank):
    session, request = paused()
    adam = cast.browser(cast.adam())
    words = ["savings", "1,200", "Move $"]
    for address in (reverse("live"), reverse("sessions"), reverse("session", args=[session])):
        answer = adam.get(address)
        assert answer.status_code == 200
        assert not [word for word in words if word in answer.content.decode()], address
    assert adam.get(reverse("session_changes", args=[session])).status_code == 403
    assert adam.get(reverse("session_audit", args=[session])).status_code == 403
    assert adam.get(reverse("decision", args=[request.id])).status_code == 404


def test_what_a_customer_says_is_text_and_never_markup(bank):
    session, request = paused()
    conversation_commands.say(cast.cleo(), session, HOSTILE)
    client = cast.browser(cast.alice())
    for address in addresses(session, request):
        html = client.get(address).content.decode()
        assert "<script>alert" not in html
        assert "<img src=x" not in html
    assert HOSTILE in read(client.get(reverse("session", args=[session])).content).id("items").text()


def test_the_wall_asks_no_query_per_row(bank):
    client = cast.browser(cast.alice())

    def asked() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            client.get(reverse("live"))
        return len(captured)

    paused()
    asked()
    few = asked()
    for number in range(6):
        opened(f"C-{1002 + number}")
    work()
    assert asked() <= few


def test_a_page_that_is_not_there_says_so_in_the_house_style():
    client = cast.browser(cast.alice())
    for address in ("/nowhere/", reverse("session", args=["00000000-0000-0000-0000-000000000000"])):
        answer = client.get(address)
        assert answer.status_code == 404
        assert "Page not found" in read(answer.content).text()


@pytest.mark.parametrize(
    "address",
    ["/live/changes/?s=x", "/sessions/?before=x", "/sessions/?status=x", "/decisions/changes/?r=x", "/sessions/?q=%00"],
)
def test_a_query_that_makes_no_sense_is_refused_with_words(address):
    answer = cast.browser(cast.alice()).get(address)
    assert answer.status_code == 400
    assert "malformed" in read(answer.content).text()


def test_a_form_without_its_token_is_refused_in_the_house_style(bank):
    _, request = paused()
    client = cast.browser(cast.alice(), enforce_csrf_checks=True)
    answer = client.post(reverse("decision", args=[request.id]), {"decision": "approve"})
    assert answer.status_code == 403
    assert "Form expired" in read(answer.content).text()
    assert approvals_queries.request_line(cast.alice(), request.id).state == "pending"


def test_an_error_of_ours_shows_no_traceback(bank, monkeypatch):
    client = cast.browser(cast.alice(), raise_request_exception=False)
    monkeypatch.setattr("sessions.core.session_lines.live_sessions", lambda *_: 1 / 0)
    answer = client.get(reverse("live"))
    assert answer.status_code == 500
    text = read(answer.content).text()
    assert "Server error" in text
    assert "ZeroDivision" not in text


@pytest.mark.parametrize("wish", ["0" * 5000, "9" * 5000, "1" * 19, "-1", "²", "%00"])
def test_no_wish_in_an_address_breaks_a_page(wish):
    session, browser = opened(), cast.browser(cast.alice())
    for page in (
        f"/sessions/{session}/?before={wish}",
        f"/sessions/{session}/audit/?before={wish}",
        f"/sessions/?before={wish}",
        f"/sessions/?q={wish}",
        f"/decisions/?view={wish}",
        f"/decisions/changes/?r={wish}",
        f"/live/changes/?s={wish}",
    ):
        assert browser.get(page).status_code < 500, page
