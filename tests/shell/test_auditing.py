"""What auditors see: who read what, samples that can be drawn again, downtimes and staff, all within their grant."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.urls import reverse

from agentstate.clock import now
from agentstate.engine.schemas import HIDDEN
from agentstate.people import commands as people
from agentstate.people import grants
from agentstate.people.models import AccessGrant, Team
from agentstate.people.permissions import PermissionDenied
from agentstate.people.roles import GRANTABLE, Role
from audit import globallog, ledger, retention, sampling, sequencer, staff
from audit.models import Gap
from audit.proofs.drawn import Standing, look
from audit.retention import Class, Rule, Schedule
from sessions.auditing import queries as auditing
from sessions.conversation import commands as conversation_commands
from sessions.data import commands as data_commands
from sessions.data import queries as data_queries
from sessions.models.sessions import AccessLine, AgentSession
from tests import cast
from tests.shell.api_world import UNKNOWN, Api, problem
from tests.shell.attack_world import Superuser, talk
from tests.shell.bank_world import opened
from tests.shell.pages import read
from tests.shell.side_by_side_world import told

pytestmark = pytest.mark.django_db(transaction=True)
PAGES = ["audit_access", "audit_samples", "audit_gaps", "audit_staff", "audit_grants"]
HOSTILE = ["'; DROP TABLE x", "<script>", "user:" + "0" * 36, "9" * 400, "%00", "../..", "user:" + "x" * 36]


def grant(**wishes) -> AccessGrant:
    wishes = {"until": now() + timedelta(hours=1), "reason": "audit", "by": cast.adam(), "kinds": GRANTABLE, **wishes}
    return grants.give(cast.anna(), cast.retail(), **wishes)


def get(name: str, user=None, **query: str):
    return cast.browser(user or cast.anna()).get(reverse(name), query)


def rows_of(answer) -> str:
    """The text of a page's table."""
    return " ".join(body.text() for body in read(answer.content.decode()).all("tbody"))


def test_an_auditor_sees_who_read_what_by_reader_session_day_and_kind():
    one, two, alice, bob = opened(), opened("C-1002"), cast.alice(), cast.bob()
    Api(alice).get(f"/sessions/{one}/entries")
    Api(bob).get(f"/sessions/{two}/memory")
    grant()
    anna = cast.anna()
    assert [line.reader for line in auditing.reads(anna, reader=alice.actor)] == [alice.actor]
    assert [line.about for line in auditing.reads(anna, session=two)] == [(two,)]
    assert len(auditing.reads(anna, kind="access.read", day=now().date())) == 2
    assert auditing.reads(anna, day=now().date() - timedelta(days=1)) == []
    assert {line.kind for line in auditing.reads(anna)} == {"access.read", "access.log_read"}


def test_people_come_first_and_what_programs_read_on_request():
    session, alice, robot = (
        opened(),
        cast.with_password(cast.alice()),
        cast.person("robot", Role.SUPERVISOR, cast.retail()),
    )
    for each in (alice, robot, robot):
        Api(each).get(f"/sessions/{session}/entries")
    grant()
    assert [line.reader for line in auditing.reads(cast.anna(), by="programs")] == [robot.actor] * 2
    assert robot.actor not in {line.reader for line in auditing.reads(cast.anna(), by="people")}
    first, asked = (rows_of(get("audit_access", **query)) for query in ({}, {"by": "programs"}))
    assert ("Alice" in first, "Robot" in first) == (True, False)
    assert ("Alice" in asked, "Robot" in asked) == (False, True)
    problem(Api(cast.anna()).get("/audit/access", by="birds"), 400, "invalid")


def test_reads_are_paged_without_loss_or_repetition():
    session, alice = opened(), cast.alice()
    for _ in range(5):
        Api(alice).get(f"/sessions/{session}/entries")
    grant(kinds=["audit"])
    api, after, seen = Api(cast.anna()), "", []
    while after is not None:
        page = api.get("/audit/access", kind="access.read", limit=2, **({"after": after} if after else {})).json()
        seen += [(entry["log"], entry["seq"]) for entry in page["entries"]]
        after = page["next"]
    assert len(seen) == len(set(seen)) == 5


def test_a_grant_on_one_session_shows_that_session_and_what_was_read_of_it_alone():
    one, two, alice = opened(), opened("C-1002"), cast.alice()
    cast.browser(alice).get("/sessions/")
    Api(alice).get(f"/sessions/{two}/entries")
    grant(sessions=[one])
    anna = Api(cast.anna())
    assert [line["id"] for line in anna.get("/sessions").json()["sessions"]] == [str(one)]
    assert anna.get(f"/sessions/{one}/entries").status_code == 200
    problem(anna.get(f"/sessions/{two}/entries"), 404, "unknown_session")
    lists = [line for line in auditing.reads(cast.anna()) if line.reader == alice.actor]
    assert [(line.about, line.hidden) for line in lists] == [((one,), 1)]
    assert str(two) not in str(lists)


def test_a_grant_to_read_one_session_opens_its_customers_page_and_no_other():
    one, two = opened(), opened("C-1002")
    mine, other = (AgentSession.objects.get(pk=each).kid for each in (one, two))
    given = grant(sessions=[one], kinds=["see", "read"])
    anna = cast.browser(cast.anna())
    assert anna.get(reverse("customer", args=[mine])).status_code == 200
    assert anna.get(reverse("customer", args=[other])).status_code == 404
    read_it = AccessLine.objects.filter(reader=cast.anna().actor, kind="access.profile_read")
    assert [row.about for row in read_it] == [[mine]]
    grants.revoke(given.pk, cast.adam())
    assert anna.get(reverse("customer", args=[mine])).status_code == 404


def test_a_grant_without_reading_opens_no_customers_page():
    session = opened()
    grant(sessions=[session], kinds=["see", "audit"])
    kid = AgentSession.objects.get(pk=session).kid
    assert cast.browser(cast.anna()).get(reverse("customer", args=[kid])).status_code == 404


def test_a_grant_to_unmask_one_session_shows_private_data_of_that_session_and_is_on_record():
    schema = {"type": "object", "properties": {"pin": {"type": "string", "x-private": True}}}
    one, two = told(), told()
    for each in (one, two):
        data_commands.add_data(
            cast.alice(), each, {"type": "data", "kind": "notes", "data": {"pin": "1234"}, "schema": schema}
        )
    grant(sessions=[one], kinds=["see", "read", "unmask"])
    grant(sessions=[two], kinds=["see", "read"])
    shown = [data_queries.data_of(cast.anna(), each).objects[0].value["pin"] for each in (one, two)]
    assert shown == ["1234", HIDDEN]
    unmasked = AccessLine.objects.filter(reader=cast.anna().actor, kind="access.unmasked")
    assert [row.about for row in unmasked] == [[one]]


def test_a_grant_on_a_time_shows_sessions_opened_in_it():
    session = opened()
    grant(opened_from=now() - timedelta(minutes=5), opened_to=now() + timedelta(minutes=5))
    assert Api(cast.anna()).get(f"/sessions/{session}").json()["name"] == "C-1001"
    AccessGrant.objects.update(opened_to=now() - timedelta(minutes=4))
    problem(Api(cast.anna()).get(f"/sessions/{session}"), 404, "unknown_session")


def test_an_auditor_changes_nothing():
    session = opened()
    grant()
    anna = cast.anna()
    with pytest.raises(PermissionDenied):
        conversation_commands.say(anna, session, "Hello?")
    problem(Api(anna).post(f"/sessions/{session}/end", {"reason": "so"}), 403, "permission_denied")
    assert ledger.read_head(session).size == 1


def test_what_is_asked_for_after_the_grant_has_ended_is_refused_on_record():
    session = opened()
    given = grant()
    assert Api(cast.anna()).get(f"/sessions/{session}/entries").status_code == 200
    grants.revoke(given.pk, cast.adam())
    problem(Api(cast.anna()).get(f"/sessions/{session}/entries"), 404, "unknown_session")
    kinds = [line.kind for line in auditing.reads(cast.adam(), reader=cast.anna().actor)]
    assert kinds == ["access.refused", "access.read"]


@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_there_for_auditors_and_refused_to_others(name):
    assert get(name).status_code == 403
    grant()
    page = get(name)
    assert page.status_code == 200
    assert read(page.content).text()
    assert get(name, cast.charlie()).status_code == 403


def test_a_page_of_reads_names_reader_session_and_range():
    session, alice = opened(), cast.alice()
    Api(alice).get(f"/sessions/{session}/entries")
    grant()
    text = read(get("audit_access", kind="access.read", by="anybody").content).text()
    assert "Alice" in text
    assert session.hex[-6:].upper() in text
    assert "entry 0" in text
    assert "C-1001" not in text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_filters_are_refused_and_quoted_safely(text):
    grant()
    for name, field in [
        ("audit_access", "reader"),
        ("audit_access", "session"),
        ("audit_access", "day"),
        ("audit_access", "kind"),
        ("audit_access", "after"),
        ("audit_samples", "seed"),
        ("audit_samples", "n"),
        ("audit_samples", "from"),
        ("audit_gaps", "before"),
        ("audit_staff", "day"),
        ("audit_staff", "before"),
    ]:
        answer = get(name, **{field: text, **({"seed": "a"} if name == "audit_samples" and field != "seed" else {})})
        assert answer.status_code in (200, 400), (name, field)
        assert b"<script>" not in answer.content


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("access", {"reader": "nobody"}),
        ("access", {"session": "x"}),
        ("access", {"day": "2026-13-01"}),
        ("access", {"kind": "x"}),
        ("access", {"after": f"2026-01-01T00:00:00/{UNKNOWN}/1"}),
        ("access", {"limit": "501"}),
        ("staff", {"day": "x"}),
        ("sample", {"seed": ""}),
        ("sample", {"seed": "a", "n": "0"}),
        ("downtimes", {"before": "-2"}),
        ("grants", {"x": "1"}),
    ],
)
def test_the_api_refuses_a_wrong_parameter_by_name(path, query):
    grant()
    problem(Api(cast.anna()).get(f"/audit/{path}", **query), 400, "invalid", list(query)[-1])


def test_grants_are_given_listed_and_taken_back_by_the_api():
    adam, anna = Api(cast.adam()), cast.anna()
    wanted = {"user": str(anna.pk), "team": str(cast.retail().pk), "kinds": ["read"], "reason": "yearly"}
    made = adam.post("/audit/grants", {**wanted, "until": (now() + timedelta(days=3)).isoformat()})
    assert made.status_code == 201
    assert Api(anna).get("/audit/grants").json()["grants"] == [made.json()]
    assert adam.ask("DELETE", f"/audit/grants/{made.json()['id']}").json()["revoked_at"]
    problem(Api(cast.alice()).post("/audit/grants", {**wanted, "until": "2031-01-01T00:00:00Z"}), 403)
    problem(Api(cast.alice()).ask("DELETE", f"/audit/grants/{made.json()['id']}"), 404, "unknown_grant")


def test_an_admin_gives_and_takes_back_a_grant_by_the_page():
    anna, adam = cast.anna(), cast.browser(cast.adam())
    until = (now() + timedelta(days=3)).date().isoformat()
    form = {"user": str(anna.pk), "team": str(cast.retail().pk), "kinds": ["read"], "reason": "yearly", "until": until}
    assert adam.post(reverse("audit_grants"), {**form, "until": "soon"}).status_code == 422
    assert adam.post(reverse("audit_grants"), form).status_code == 302
    made = AccessGrant.objects.get()
    assert "Runs" in adam.get(reverse("audit_grants")).content.decode()
    adam.post(reverse("audit_grant_revoke", args=[made.pk]))
    assert "Revoked" in adam.get(reverse("audit_grants")).content.decode()


def test_entries_of_the_whole_organization_are_for_who_audits_all_teams():
    """L2: an act by somebody of this team is not by that a matter of this team."""
    both = cast.person("bea", Role.ADMIN, cast.retail())
    people.grant_role(both, cast.cards(), Role.ADMIN, None)
    retention.put(
        cast.tenant().pk,
        Schedule((Class("a", 40), Class("b", 50)), (Rule("a", team=str(cast.cards().pk)), Rule("b"))),
        both.actor,
        [cast.retail().pk, cast.cards().pk],
    )
    staff.record(cast.tenant().pk, now(), "tool.accepted", both.actor, "", {"tool": "crm"})
    staff.record(cast.tenant().pk, now(), "stop.set", both.actor, "", {"teams": [str(cast.cards().pk)]})
    anna = cast.let_in(cast.anna(), "see", "audit")
    found = {line.kind: line for line in auditing.staff_entries(anna, now().date(), limit=500)}
    assert set(found) & {"tool.accepted", "stop.set"} == set()
    facts = found["retention.set"].facts
    assert facts["teams"] == [str(cast.retail().pk)]
    assert str(cast.cards().pk) not in str(facts)
    assert list(facts["schedule"]["classes"]) == [{"name": "b", "days": 50}]
    for team in Team.objects.all():
        people.grant_role(both, team, Role.ADMIN, None)
    assert {"tool.accepted", "stop.set"} <= {
        line.kind for line in auditing.staff_entries(both, now().date(), limit=500)
    }


def test_what_staff_did_is_read_by_day_and_only_of_ones_own_teams():
    grant()
    cast.charlie()
    found = Api(cast.anna()).get("/audit/staff", limit=500).json()["entries"]
    assert "grant.given" in {line["kind"] for line in found}
    named = {line["subject"] for line in found}
    assert cast.anna().actor in named
    assert cast.charlie().actor not in named
    assert Api(cast.anna()).get("/audit/staff", day="2020-01-01").json() == {"entries": [], "next": None}


def test_downtimes_are_listed_newest_first():
    grant()
    tenant = cast.tenant().pk
    for index in (3, 9):
        since = now() - timedelta(minutes=index)
        Gap.objects.create(tenant=tenant, index=index, part="signer", since=since, until=now())
    found = Api(cast.anna()).get("/audit/downtimes").json()["downtimes"]
    assert [line["index"] for line in found] == [9, 3]
    assert "No head was signed" in read(get("audit_gaps").content).text()


def test_a_sample_is_the_same_for_the_same_seed_and_bound_to_the_sizes():
    population = [(uuid4(), size) for size in (3, 100, 1, 40)]
    one = sampling.drawn(population, "seed", 20)
    assert one == sampling.drawn(population[::-1], "seed", 20)
    assert len(set(one)) == 20
    assert all(0 <= seq < dict(population)[log] for log, seq in one)
    assert one != sampling.drawn(population, "other", 20)
    assert one != sampling.drawn([*population[:-1], (population[-1][0], 41)], "seed", 20)


def test_a_sample_of_everything_has_every_entry_once_and_of_nothing_none():
    population = [(UUID(int=1), 2), (UUID(int=2), 0), (UUID(int=3), 3)]
    everything = [(UUID(int=1), 0), (UUID(int=1), 1), (UUID(int=3), 0), (UUID(int=3), 1), (UUID(int=3), 2)]
    assert sorted(sampling.drawn(population, "s", 99)) == everything
    assert sampling.drawn([], "s", 5) == []


def test_every_drawn_entry_links_to_its_proof():
    opened()
    grant()
    anna = cast.browser(cast.anna())
    ledger_settled()
    page = read(anna.get(reverse("audit_samples"), {"seed": "a", "n": 1}).content)
    (proof,) = [each.attrs["href"] for each in page.all("a") if each.text() == "Prove"]
    answer = anna.get(proof)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert AccessLine.objects.filter(reader=cast.anna().actor, kind="access.proved").count() == 2


def whole_sample(session: UUID) -> dict[int, dict]:
    """Every entry of a session, drawn, by seq."""
    size = ledger.read_head(session).size
    found = Api(cast.anna()).get(f"/audit/sample?seed=a&n={size}").json()["entries"]
    assert len(found) == size
    return {line["seq"]: line for line in found}


def test_what_was_deleted_or_altered_is_drawn_and_told_with_what_the_tree_says(test_database):
    session, superuser = opened(), Superuser(test_database)
    conversation_commands.say(cast.cleo(), session, "Good morning")
    grant()
    ledger_settled()
    before = whole_sample(session)
    assert {line["standing"] for line in before.values()} == {"sound"}
    assert all(line["leaf"] == line["held"] for line in before.values())
    superuser.run("UPDATE audit_entry SET envelope = '\\x7bff' WHERE log = %s AND seq = 1", session)
    assert {line["standing"] for line in whole_sample(session).values()} == {"unproven", "unreadable"}
    superuser.run("DELETE FROM audit_entry WHERE log = %s AND seq = 1", session)
    after = whole_sample(session)
    assert (after[1]["standing"], after[1]["leaf"], after[1]["held"]) == ("missing", "", "")
    page = read(get("audit_samples", seed="a", n=str(len(after))).content).text()
    assert "Missing: the log has no such entry any more" in page


def test_a_deleted_entry_is_told_by_the_leaf_that_the_kept_tree_has_of_it(test_database):
    head, superuser = talk(300), Superuser(test_database)
    tenant = head.tenant
    sequencer.settle(head.log)
    place = globallog.latest_place(head.log)
    (before,) = look(tenant, head.log, [7], place.index, place.size).values()
    superuser.run("UPDATE audit_entry SET envelope = envelope || ' ' WHERE log = %s AND seq = 9", head.log)
    superuser.drop(head.log, 7)
    after = look(tenant, head.log, [7, 8, 9], place.index, place.size)
    assert [each.standing for each in after.values()] == [Standing.MISSING, Standing.SOUND, Standing.ALTERED]
    assert after[7].held == before.leaf == before.held


def ledger_settled() -> None:
    sequencer.run_once(cast.tenant().pk)


def test_the_staff_log_names_people_and_teams_instead_of_their_ids():
    people.grant_role(cast.vera(), cast.cards(), Role.VIEWER, None)
    told = read(get("audit_staff", cast.adam()).content).text()
    assert "role viewer, team Card services" in told
    assert str(cast.cards().pk) not in told


def test_draws_are_spread_evenly():
    population = [(UUID(int=1), 10), (UUID(int=2), 30)]
    hits = [sampling.drawn(population, str(seed), 1)[0][0] for seed in range(400)]
    assert 60 <= hits.count(UUID(int=1)) <= 140
