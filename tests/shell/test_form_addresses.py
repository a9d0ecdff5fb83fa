"""Every address to which a page posts a form: a person who holds every role of another team changes nothing by it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.urls import URLPattern, resolve, reverse

from agentstate.clock import now
from agentstate.people import commands as people
from agentstate.people import delegations, deputies
from agentstate.people.models import User
from agentstate.people.roles import Role
from sessions import urls as console
from sessions.agents import registry
from sessions.approvals import commands as approvals_commands
from sessions.automation.notifications import commands as notifications
from sessions.disclosures import commands as disclosures
from sessions.disclosures.content import What
from sessions.exports import selection
from sessions.models.alerts import TeamRule
from sessions.models.proposals import Proposal
from sessions.models.sessions import StandingGrant
from sessions.privacy import commands as erasure
from sessions.standing_approvals import commands as grants
from sessions.stops import commands as stops_commands
from tests import cast
from tests.shell.api_operations import NAMED, OPERATIONS, WITH_BODY, body_for
from tests.shell.api_world import Api
from tests.shell.bank_world import offering
from tests.shell.notice_world import rule as notice_rule
from tests.shell.test_alert_pages import raised
from tests.shell.test_api_profiles import CHANGES
from tests.shell.test_auditing import grant as audit_grant
from tests.shell.test_pages import paused
from tests.shell.test_pages_notifications import endpoint
from tests.shell.test_profiles import agreed_customer
from tests.shell.test_triggers import ON_ENTRY, kept

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
# What an address may do, where it says so itself.
ACTS = {
    "decision_act": ("claim", "take", "keep", "release", "assign", "undo"),
    "session_stop": ("pause", "resume", "cancel", "grant", "seal"),
    "session_supervise": (
        "take-over", "speak", "barge-in", "whisper", "hand-back", "pass-on", "no-person", "assign",
    ),
    "alert_act": ("acknowledge", "take", "close"),
    "stuck_step_in": ("session", "happened", "not_happened", "retry", "supply", "skip"),
    "versions_change": ("name", "rollback", "compensate", "fork", "promote", "vote", "settle"),
    "customer_change": ("consent", "settings", "feedback", "refusals", "forget"),
    "erasure_rule": ("approve", "refuse", "withdraw"),
    "privacy_change": ("erasures", "holds", "lift", "report", "propose-report"),
    "proposal_answer": ("agree", "reject", "withdraw"),
    "notice_team": ("shipped", "quiet"),
    "notice_endpoint_act": ("switch", "test", "again"),
}  # fmt: skip
# What is nobody's or one's own: the tools of the whole house, one's own preferences, notices, work and link.
OF_NO_TEAM = {"tool_server_look", "tool_answer", "notice_wishes", "notices_read", "next_work"}
# Known to the privacy role of every team, which answers for a team that is late; until then it may not.
KNOWN_TO_ALL = {"proposal_answer"}
# Written by reading and by being refused: who looked at what, and what a process remembers of itself.
PASSING = {"agent_sessions_accessline", "django_session"}


@pytest.fixture
def olga() -> User:
    """Everything in another team, nothing in this one."""
    user = cast.person("olga", Role.SUPERVISOR, cast.cards())
    for role in Role:
        people.grant_role(user, cast.cards(), role, None)
    return user


@pytest.fixture
def things(bank, monkeypatch) -> dict[str, object]:
    """One of each of what addresses name, by the name in the address; all of them are team Retail's."""
    monkeypatch.setattr(registry, "policy_named", lambda name: offering("customer"))
    alice, retail = cast.alice(), cast.retail()
    granting, wanted = paused("$1,100.00")
    approvals_commands.decide(alice, wanted.id, approvals_commands.Decision("approve"))
    grants.grant_same(alice, granting, wanted.id)
    session, request = paused("$1,300.00")
    _, alert = raised("Can I speak to a person?")
    assert cast.browser(alice).get(reverse("alert_rules")).status_code == 200  # the first look makes the shipped ones
    until = now() + timedelta(days=1)
    made = disclosures.disclose(alice, session, What.ENTRY, reason="the ombudsman", first=1, days=7)
    cast.browser(cast.petra()).post(reverse("retention_change"), {"name": "calls", "days": "30", "channel": "phone"})
    Proposal.objects.update(teams=[retail.pk])
    lent = delegations.give(cast.bob(), alice, retail, permissions=["decide"], until=until, reason="on leave")
    people.grant_role(cast.charlie(), retail, Role.VIEWER, None)
    return {
        "session_id": session,
        "request_id": request.id,
        "alert_id": alert,
        "rule_id": TeamRule.objects.filter(team=retail)[0].pk,
        "stop_id": stops_commands.stop(alice, "team", "retail", reason="wrong amounts")[0].pk,
        "delegation_id": lent.pk,
        "deputy_id": deputies.name(cast.charlie().pk, retail.pk, cast.adam()).pk,
        "disclosure_id": made.row.pk,
        "export_id": selection.ask(alice, selection.Filter()).pk,
        "grant_id": StandingGrant.objects.get().pk,
        "trigger_id": kept("complaints", on=ON_ENTRY, do={"run": {}}).pk,
        "endpoint_id": endpoint().pk,
        "erasure_id": erasure.ask_erasure(cast.petra(), basis="objection", reason="a letter", session=session).pk,
        "customer_id": agreed_customer()[1],
        "audit_grant": audit_grant().pk,
        "proposal_id": Proposal.objects.get().pk,
        "notice_rule": notice_rule().pk,
    }


def form_addresses(things: dict[str, object]) -> Iterator[tuple[str, str]]:
    """The name and the address of each that may be posted to, once for each thing that it can do."""
    for pattern in console.urlpatterns:
        assert isinstance(pattern, URLPattern)
        name, named = str(pattern.name), pattern.pattern.converters
        if name in OF_NO_TEAM:
            continue
        arguments = {each: things.get(each, "crm") for each in named if each not in ("act", "how")}
        if name.startswith("notice_rule") and "rule_id" in named:
            arguments["rule_id"] = things["notice_rule"]
        if name == "audit_grant_revoke":
            arguments["grant_id"] = things["audit_grant"]
        choice = next((each for each in named if each in ("act", "how")), "")
        for act in ACTS[name] if choice else ("",):
            yield name, reverse(name, kwargs={**arguments, **({choice: act} if choice else {})})


def form(things: dict[str, object]) -> dict[str, str]:
    """What all forms together send, as somebody of team Retail would fill them in."""
    retail, session = cast.retail(), str(things["session_id"])
    definition = {"on": {"kinds": ["session.opened"]}, "steps": [{"to": ["role:supervisor"], "by": ["in_app"]}]}
    return {
        "team": str(retail.pk), "decision": "approve", "reason": "Because.", "why": "Because.", "text": "Hello",
        "sure": "yes", "what": "team:retail", "to": "alice", "of": "alice", "who": session, "basis": "objection",
        "name": "made-by-another-team", "definition": json.dumps(definition), "seen": "0", "on": "0",
        "digest": "x" * 64, "calls": "[]", "version": "1", "op": "add", "task": "t", "title": "t", "entry": "1",
        "customer": "C-1001", "url": "https://hooks.example.com/x", "secret": "desk", "first": "1", "days": "7",
        "receiver": str(cast.alice().pk), "permissions": "decide", "until": (now() + timedelta(days=2)).isoformat(),
        "tokens": "1000", "call": "call-1", "by": "topic", "value": "transfer", "skill": "cards", "rule": "",
        "user": str(cast.vera().pk),
        "item": "1", "purpose": "service", "hold": str(uuid.uuid4()), "kind": "message", "amount": "1",
    }  # fmt: skip


def stored() -> dict[str, str]:
    """A digest of every table's rows."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        names = sorted({name for (name,) in cursor.fetchall()} - PASSING)
        found = {}
        for name in names:
            cursor.execute(f"SELECT md5(coalesce(string_agg(t::text, chr(10) ORDER BY t::text), '')) FROM \"{name}\" t")
            found[name] = cursor.fetchone()[0]
        return found


def test_a_person_of_another_team_posts_every_form_and_changes_nothing(things, olga):
    client, sent, faults, posted = cast.browser(olga), form(things), [], set()
    assert client.get(reverse("alert_rules")).status_code == 200  # the first look makes her own team's shipped ones
    before = stored()
    for name, address in form_addresses(things):
        answer = client.post(address, sent)
        if answer.status_code == 405:
            continue
        posted.add(name)
        names_a_thing = resolve(address).kwargs.keys() - {"act", "how"}
        refused = answer.status_code in (403 if name in KNOWN_TO_ALL else 404, 404)
        if not refused if names_a_thing else answer.status_code < 400:
            faults.append(f"{address}: {answer.status_code}")
        after = stored()
        changed = sorted(each for each in after if after[each] != before.get(each))
        if changed:
            faults.append(f"{address}: {answer.status_code}, changed {changed}")
        before = after
    assert faults == []
    assert len(posted) >= 40


# What a person who may only see and read asks of the API without writing for others, or on their own behalf.
OPEN_TO_READERS = {
    "POST /desk/next", "POST /charts/check", "POST /charts/simulate",
    "POST /sessions/{session}/plans/check", "POST /sessions/{session}/replay", "POST /proofs/check",
    "POST /notices/read", "PUT /notices/wishes",
}  # fmt: skip
# What such a person may not even see.
UNSEEN = {
    "DELETE /audit/grants/{grant}", "DELETE /exports/{export}", "POST /erasures/{erasure}", "DELETE /holds/{hold}",
    "DELETE /proposals/{proposal}", "POST /proposals/{proposal}/answers", "DELETE /delegations/{delegation}",
}  # fmt: skip
# What it would do is looked up before the permission for it is asked for, and that this was read is recorded.
READS_FIRST, READING = {"POST /sessions/{session}/rollback"}, {"audit_entry", "audit_head", "audit_payload"}
ANOTHERS = {"PUT /requests/{request_id}/claim", "DELETE /requests/{request_id}/claim"}  # claimed by another person


def bodies(things: dict[str, object]) -> dict[str, dict[str, object]]:
    """Of operations whose body names a thing, or is another than the list of operations has."""
    retail, until = str(cast.retail().pk), (now() + timedelta(days=1)).isoformat()
    lent = {"team": retail, "permissions": ["decide"], "until": until, "reason": "on leave"}
    opened = {"team": retail, "kinds": ["read"], "until": until, "reason": "an audit"}
    return {
        "/audit/grants": {**opened, "user": str(cast.anna().pk)},
        "/delegations": {**lent, "receiver": str(cast.alice().pk)},
        "/deputies": {"user": str(cast.bob().pk), "team": retail},
        "/sessions/{session}/grants": {"request": str(things["request_id"])},
        "/plans": {"name": "hello", "calls": [{"_tool": "load_customer", "customer": "C-nobody"}]},
        **{f"/customers/{{customer}}/profile/{what}": body for what, body in CHANGES.items()},
    }


def named(things: dict[str, object], path: str) -> dict[str, str]:
    """The things of team Retail by the names that the API's addresses have for them."""
    found = {name if name == "request_id" else name.removesuffix("_id"): str(each) for name, each in things.items()}
    found["rule"] = found["notice_rule"] if path.startswith("/notice-rules") else found["rule"]
    found["grant"] = found["audit_grant"] if path.startswith("/audit/") else found["grant"]
    return {**NAMED, **{name: each for name, each in found.items() if name in NAMED}}


def test_a_person_who_may_only_read_is_refused_every_write_of_the_api_by_its_permission(things):
    vera, own, faults = Api(cast.vera()), bodies(things), []
    things["hold_id"] = erasure.set_hold(cast.petra(), customer="C-1001", reason="a case at court").pk
    things["delivery_id"] = notifications.test_endpoint(cast.adam(), things["endpoint_id"]).pk
    assert vera.get("/sessions").status_code == 200  # the first use of a token is noted
    before = stored()
    for method, path in OPERATIONS:
        operation = f"{method} {path}"
        if method == "GET" or operation in OPEN_TO_READERS:
            continue
        body = own.get(path) or body_for(path, method)
        sent = {"data": json.dumps(body), "content_type": "application/json"} if method in WITH_BODY else {}
        answer = vera.ask(method, path.format(**named(things, path)), **sent)
        said = answer.json()
        wanted = 404 if operation in UNSEEN else 409 if operation in ANOTHERS else 403
        by_permission = said.get("permission") or said.get("code") == "decision_not_allowed"
        if answer.status_code != wanted or (wanted == 403 and not by_permission):
            faults.append(f"{operation}: {answer.status_code} {said.get('code')} {said.get('field')}")
        after = stored()
        changed = {each for each in after if after[each] != before.get(each)}
        if changed - (READING if operation in READS_FIRST else set()):
            faults.append(f"{operation}: {answer.status_code}, changed {sorted(changed)}")
        before = after
    assert faults == []
