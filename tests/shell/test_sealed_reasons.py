"""Why staff delegated, opened something to an auditor, stopped or lifted: sealed under their team's key. Why a subject
is erased or held: unreadable from the instant at which the erasure begins, whatever a process remembers.
"""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentstate.clock import now
from agentstate.people import commands as people
from agentstate.people import delegations, grants
from agentstate.people.models import AccessGrant, Delegation
from agentstate.people.roles import Role
from audit import erasure, keys, ledger, staff
from audit.erasure import State
from audit.keys import teams
from audit.models import ErasureRequest
from sessions.auditing import queries as auditing
from sessions.models.sessions import Stop
from sessions.privacy import commands as asking
from sessions.privacy import queries as privacy
from sessions.stops import commands as stops_commands
from sessions.stops import queries as stop_lines
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import opened
from tests.shell.test_secrecy import text_columns, traces

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner", "erase"])
LENT, GIVEN, STOPPED, LIFTED = "Quokkaburra", "Zebrafinch", "Wombatlike", "Numbatesque"
REASONS = (LENT, GIVEN, STOPPED, LIFTED)


def all_four() -> Stop:
    """One of each reason, in the team retail; gives the stop, which was lifted."""
    until = now() + timedelta(hours=1)
    delegations.give(cast.bob(), cast.alice(), cast.retail(), until=until, reason=LENT, permissions=["decide"])
    grants.give(cast.anna(), cast.retail(), until=until, reason=GIVEN, by=cast.adam(), kinds=["read"])
    (stop,) = stops_commands.stop(cast.alice(), "tool", "transfer", reason=STOPPED)
    return stops_commands.lift(cast.alice(), stop.pk, LIFTED)


def shown() -> list[str]:
    """The four reasons as rows give them."""
    stop = Stop.objects.get()
    return [Delegation.objects.all()[0].reason, AccessGrant.objects.get().reason, stop.reason, stop.lifted_why]


def test_no_reason_of_staff_stands_in_clear_and_the_team_reads_each():
    all_four()
    assert [place for place, text in text_columns().items() if traces(text, *REASONS)] == []
    assert shown() == list(REASONS)
    (lent,) = Api(cast.alice()).get("/delegations").json()["delegations"]
    (stop,) = Api(cast.vera()).get("/stops").json()["stops"]
    assert (lent["reason"], stop["reason"], stop["lifted_why"]) == (LENT, STOPPED, LIFTED)
    grants.give(cast.anna(), cast.retail(), until=now() + timedelta(hours=1), reason="x", by=None, kinds=["audit"])
    entries = auditing.staff_entries(cast.anna(), now().date())
    assert {(line.facts or {}).get("reason") for line in entries} >= set(REASONS)
    assert "sealed" not in str([line.facts for line in entries])
    rows = ledger.read_rows(staff.log_of(cast.tenant().pk, now()))
    assert [payload for _, payload in ledger.open_rows(rows) if traces(payload.decode(), *REASONS)] == []


@pytest.mark.parametrize(
    ("who", "address", "field"),
    [
        ("alice", "/stops/", "reason"),
        ("alice", "/stops/", "why"),
        ("bob", "/decisions/lent/", "reason"),
        ("adam", "/audit/grants/", "reason"),
        ("petra", "/privacy/", "reason"),
    ],
)
def test_each_form_says_beside_the_field_who_reads_the_reason_and_asks_for_no_customers_name(who, address, field):
    stops_commands.stop(cast.alice(), "tool", "transfer", reason=STOPPED)
    cast.anna()
    page = cast.browser(getattr(cast, who)()).get(address).content.decode()
    labels = re.findall(r"<label[^>]*>(?:(?!</label>).)*</label>", page, re.DOTALL)
    fields = [each for each in labels if f'name="{field}"' in each]
    assert fields
    for each in fields:
        assert "read this" in each
        assert "Do not write a customer's name." in each


def test_every_reason_is_gone_with_the_teams_key(test_database):
    all_four()
    team = cast.retail()
    kid = teams.kids_of(team.tenant_id, [team.pk])[team.pk]
    with test_database.administrator(test_database.name) as owner:
        owner.execute("UPDATE audit_subjectkey SET wrapped = NULL, destroyed_at = now() WHERE kid = %s", [kid])
    keys.forget_all()
    assert shown() == [""] * 4
    grants.give(cast.anna(), team, until=now() + timedelta(hours=1), reason="x", by=None, kinds=["audit"])
    told = str([line.facts for line in auditing.staff_entries(cast.anna(), now().date())])
    assert traces(told, *REASONS) == []


def test_the_customers_side_reads_no_reason_of_a_stop_in_force_or_lifted():
    all_four()
    (held,) = stops_commands.stop(cast.alice(), "tool", "transfer", reason=STOPPED)
    for user, expected in ((cast.vera(), STOPPED), (cast.cleo(), "")):
        lines = Api(user).get("/stops").json()["stops"]
        assert [line["reason"] for line in lines] == [expected] * 2
        assert [bool(line["lifted_why"]) for line in lines] == [False, bool(expected)]
        (line,) = stop_lines.in_force_for(user)
        assert (line.id, line.reason) == (held.pk, expected)
        for page in ("/live/", "/sessions/", "/stops/"):
            assert bool(traces(cast.browser(user).get(page).content.decode(), STOPPED)) == bool(expected), page


def test_a_list_of_stops_costs_as_many_queries_for_many_as_for_one():
    def asked() -> int:
        keys.forget_all()
        with CaptureQueriesContext(connection) as caught:
            assert [row.reason for row in stop_lines.stops_of(cast.alice())]
        return len(caught)

    stops_commands.stop(cast.alice(), "tool", "transfer", reason=STOPPED)
    one = asked()
    for number in range(8):
        team = people.create_team(tenant=cast.tenant(), slug=f"t{number}", name=f"Team {number}", by=None)
        people.grant_role(cast.alice(), team, Role.SUPERVISOR, None)
    stops_commands.stop(cast.alice(), "everything", reason=STOPPED)
    assert Stop.objects.count() == 10
    assert asked() == one


# --- erasures and holds -------------------------------------------------------------------------------------------


def approved() -> ErasureRequest:
    """An approved erasure of a customer who was under a hold before."""
    session = opened()
    hold = asking.set_hold(cast.petra(), session=session, reason=GIVEN)
    asking.lift_hold(cast.petra(), hold.pk)
    asked = asking.ask_erasure(cast.petra(), basis="objection", reason=LENT, session=session)
    return asking.rule_erasure(cast.paul(), asked.pk, State.APPROVED)


@pytest.mark.parametrize("sign", ["closed", "destroyed"])
def test_reasons_of_erasure_and_hold_are_unreadable_once_the_erasure_has_begun_although_no_sweep_runs(sign):
    """Another process closed or destroyed the key; this one remembers it, and the sweep is held up."""
    request = approved()
    assert privacy.detail(cast.petra(), request.pk).erasure.reason == LENT
    assert [line.reason for line in privacy.all_holds(cast.petra())] == [GIVEN]
    assert traces(cast.browser(cast.petra()).get("/privacy/").content.decode(), LENT, GIVEN) == [LENT, GIVEN]
    key, when = keys.subject_key(request.kid), {"closed": "closing_at", "destroyed": "destroyed_at"}[sign]
    erasure._erase(f"UPDATE audit_subjectkey SET {when} = now() WHERE kid = %(kid)s", {"kid": request.kid})
    assert (keys.remembered([request.kid]), len(key)) == (True, 32)
    assert privacy.detail(cast.petra(), request.pk).erasure.reason == ""
    assert [line.reason for line in privacy.erasures(cast.petra())] == [""]
    assert [line.reason for line in privacy.all_holds(cast.petra())] == [""]
    page = cast.browser(cast.petra()).get("/privacy/").content.decode()
    assert traces(page, LENT, GIVEN) == []
    api = Api(cast.petra())
    answers = api.get("/erasures").content + api.get(f"/erasures/{request.pk}").content + api.get("/holds").content
    assert traces(answers.decode(), LENT, GIVEN) == []
