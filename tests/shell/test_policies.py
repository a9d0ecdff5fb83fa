"""Policies at work: read over the API and on pages, dry-run over what was recorded, granted from, and on record."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from msgspec import structs

from agentstate import clock
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.instants import stamp
from audit import access as access_log
from audit import ledger, staff
from sessions.agents import registry
from sessions.core import standing_approvals
from sessions.library import folders, policies
from sessions.policies import dry_runs, recording
from sessions.versions.replays import Bounds
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import events, offering, opened, say, state, work
from tests.shell.test_versions import moved, waiting

pytestmark = pytest.mark.django_db(transaction=True)

STRICT = {
    "name": "strict",
    "version": 1,
    "rules": [
        {"name": "all", "tools": ["transfer"], "when": "true", "tier": 3, "gate": "approve", "why": "x", "quorum": 2}
    ],
}
LOOSE = {
    "name": "loose",
    "version": 1,
    "rules": [{"name": "any", "tools": ["*"], "when": "true", "tier": 1, "gate": "allow", "why": "x"}],
}


@pytest.fixture
def only_the_bank(monkeypatch) -> None:
    """The agents of an installation: other tests of this process have registered theirs, under the same policy."""
    monkeypatch.setattr(registry, "_registry", {"bank": registry.find("bank")})


def lately() -> dict[str, str]:
    return {"since": (clock.now() - timedelta(hours=1)).isoformat()}


def written(log: UUID) -> bytes:
    """All that stands in a log."""
    return b"".join(payload for _, payload in ledger.open_rows(ledger.read_rows(log)))


def dry(policy: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = Api(cast.adam()).post("/policies/dry-run", {"policy": policy, **lately(), **more})
    assert answer.status_code == 200, answer.json()
    return answer.json()


P = json.dumps({**STRICT, "name": "p"})
OPEN = "has(state.risk) && state.risk > 5"  # a missing value turns it off
KING = [{**STRICT["rules"][0], "reviewers": ["role:king"]}]  # type: ignore[index]


# What is installed


def test_policies_are_listed_with_what_their_cases_say(only_the_bank) -> None:
    lines = {line["name"]: line for line in Api(cast.alice()).get("/policies").json()["policies"]}
    shipped = [lines[name] for name in ("airline", "bank", "retail", "speech")]  # beside them, those of other tests
    assert lines["bank"]["agents"] == ["bank"]
    assert all(line["failed"] == 0 and line["cases"] >= 20 for line in shipped)


def test_one_policy_is_read_in_full_and_an_unknown_one_is_named() -> None:
    alice = Api(cast.alice())
    found = alice.get("/policies/retail@1").json()
    assert (found["reference"], len(found["policy"]["rules"]), found["before"]) == ("retail@1", 20, 0)
    assert {each["fault"] for each in found["results"]} == {""}
    problem(alice.get("/policies/retail@9"), 404, "unknown_policy")
    problem(alice.get("/policies/..%2f..%2fbank"), 404)


def test_a_superseded_version_says_where_it_fails_open_and_a_document_that_does_is_refused() -> None:
    alice, client = Api(cast.alice()), cast.browser(cast.alice())
    (fault,) = alice.get("/policies/bank@1").json()["fails_open"]
    assert fault.startswith("rule 'transfer.new_payee': has(arguments.new_payee) turns the rule off")
    assert alice.get("/policies/bank").json()["fails_open"] == []
    assert "Rules disabled by a missing value" in client.get(reverse("policy", args=["bank@1"])).content.decode()
    assert "Rules disabled by a missing value" not in client.get(reverse("policy", args=["bank"])).content.decode()
    document = {**STRICT, "rules": [{**STRICT["rules"][0], "when": OPEN}]}  # type: ignore[index]
    answer = Api(cast.adam()).post("/policies/dry-run", {"policy": document, **lately()})
    assert "turns the rule off" in problem(answer, 400, "bad_policy")["detail"]


def test_the_page_of_a_policy_says_what_each_rule_asks() -> None:
    client = cast.browser(cast.alice())
    page = client.get(reverse("policy", args=["airline@1"])).content.decode()
    assert "One approval within 15 minutes." in page
    assert "They confirm: arguments.amount." in page
    assert "Escalates to role supervisor after 10 minutes." in page
    assert client.get(reverse("policy", args=["airline@7"])).status_code == 404


def test_what_changed_between_two_versions_is_told_by_rule() -> None:
    from sessions.policies.queries import changes

    older = policies.named("bank")
    first, second, *rest = older.rules
    other = msgspec.structs.replace(first, tier=1, why="Other.")
    newer = pol.Policy("bank", 2, (other, *rest, pol.Rule("n", ("t",), "true", 1, "allow", "w")))
    told = [(each.rule, each.how, each.fields) for each in changes(older, newer)]
    assert told == [(second.name, "removed", []), (first.name, "changed", ["tier", "why"]), ("n", "added", [])]


# What would have stopped


def test_a_stricter_policy_would_have_stopped_what_went_through(bank) -> None:
    session = moved()
    found = dry(STRICT)
    assert (found["sessions"], found["counts"]["stopped"]) == (1, 2)
    assert found["rules"] == {"all": 1, "default.effect": 1}  # no rule speaks of the authorization
    (call,) = [each for each in found["calls"] if each["move"] == "stopped" and each["tool"] == "transfer"]
    assert (call["session"], call["tool"], call["was"]["rule"]) == (str(session), "transfer", "transfer.small")
    assert (call["would"]["gate"], call["would"]["tier"], call["would"]["quorum"]) == ("approve", 3, 2)
    assert len(bank.transfers("C-1001")) == 1


def test_a_looser_policy_would_have_let_through_what_waited_and_todays_differs_in_nothing(bank) -> None:
    waiting()
    assert dry(LOOSE)["counts"]["let through"] == 1
    today = Api(cast.adam()).post("/policies/dry-run", {"reference": "bank@1", **lately()}).json()
    assert today["judged"] >= 3
    assert today["counts"]["same"] == today["judged"]


def test_each_call_is_judged_with_the_state_as_it_was_then(bank) -> None:
    """The rule reads what the authorization service had said: nothing yet for the first calls, yes for the transfer."""
    moved()
    rule = {**STRICT["rules"][0], "tools": ["*"], "when": "!has(state.authorization)"}  # type: ignore[index]
    found = dry({**STRICT, "rules": [rule]})
    said = {call["tool"]: call["would"]["rule"] for call in found["calls"]}
    assert (said["load_customer"], said["authorize"]) == ("all", "all")
    assert said["transfer"] == "default.effect"


def test_what_is_not_looked_at_is_said(bank, monkeypatch) -> None:
    moved()
    opened("C-1002")
    usual = Bounds(sessions=9, entries=9_999, seconds=20.0)
    monkeypatch.setattr(dry_runs, "BOUNDS", structs.replace(usual, sessions=1))
    found = dry(STRICT)
    assert (found["sessions"], found["left_out"]) == (1, [{"sessions": 1, "why": "more than 1 sessions"}])
    monkeypatch.setattr(dry_runs, "BOUNDS", structs.replace(usual, entries=1))
    assert "more than 1 entries" in {each["why"] for each in dry(STRICT)["left_out"]}
    monkeypatch.setattr(dry_runs, "BOUNDS", structs.replace(usual, seconds=-1.0))
    assert dry(STRICT)["judged"] == 0


def test_only_who_configures_may_look_and_that_they_did_is_in_their_log(bank) -> None:
    session = moved()
    problem(Api(cast.alice()).post("/policies/dry-run", {"policy": STRICT, **lately()}), 403, "permission_denied")
    dry(STRICT)
    adam = cast.adam()
    told = written(access_log.log_of(adam.tenant_id, adam.actor, clock.now()))
    assert b'"what":"dry run"' in told
    assert str(session).encode() in told
    assert b"strict@1" in told


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"reference": "bank", "policy": STRICT}, 422, ""),
        ({}, 422, ""),
        ({"reference": "nobody"}, 422, "bad_policy"),
        ({"reference": "../bank"}, 422, "bad_policy"),
        ({"policy": {**STRICT, "zone": "Mars/Crater"}}, 422, "bad_policy"),
        ({"policy": {"rules": []}}, 422, "bad_policy"),
        ({"reference": "bank", "until": "2001-01-01T00:00:00Z"}, 422, ""),
        ({"reference": "bank", "since": "2001-01-01T00:00:00Z"}, 422, ""),
    ],
)
def test_a_dry_run_that_makes_no_sense_is_refused_by_name(body, status, code) -> None:
    answer = Api(cast.adam()).post("/policies/dry-run", {**lately(), **body})
    assert answer.status_code in (400, status), answer.json()
    assert not code or answer.json()["code"] == code


def test_the_page_and_the_command_say_the_same(bank, tmp_path) -> None:
    moved()
    page = cast.browser(cast.adam()).get(reverse("policy_dry_run") + "?policy=bank@1&days=7").content.decode()
    assert "Unchanged" in page
    assert cast.browser(cast.alice()).get(reverse("policy_dry_run") + "?policy=bank@1&days=7").status_code == 403
    file, out = tmp_path / "strict.json", StringIO()
    file.write_text(json.dumps(STRICT))
    call_command("dry_run_policy", str(file), stdout=out)
    assert "transfer: stopped; allow at tier 1 by transfer.small -> approve at tier 3 by all" in out.getvalue()
    with pytest.raises(CommandError, match="nobody"):
        call_command("dry_run_policy", "nobody")


# Grants


@pytest.fixture
def sticky(monkeypatch) -> None:
    monkeypatch.setattr(registry, "policy_named", lambda name: offering())


def approved(api: Api) -> tuple[UUID, str]:
    session = waiting()
    (request,) = [line["id"] for line in api.get("/requests", state="pending").json()["requests"]]
    assert api.post(f"/requests/{request}/decisions", {"decision": "approve"}).status_code == 201
    work()
    return session, request


def another(session: UUID, amount: str = "$1,100.00") -> None:
    say(session, f"I want to move {amount} from savings to checking.")
    say(session, "Yes, that is right.")


def test_an_approver_grants_the_same_and_it_is_listed_used_and_taken_back(bank, sticky) -> None:
    alice = Api(cast.alice())
    session, request = approved(alice)
    (offer,) = alice.get(f"/sessions/{session}/grants").json()["offers"]
    assert (offer["request"], offer["uses"], offer["seconds"]) == (request, 3, 3600)
    answer = alice.post(f"/sessions/{session}/grants", {"request": request, "uses": 2, "reason": "a regular"})
    assert answer.status_code == 201, answer.json()
    another(session)
    (grant,) = alice.get(f"/sessions/{session}/grants").json()["grants"]
    assert (grant["used"], grant["uses"], grant["standing"], grant["by"]) == (1, 2, "open", cast.alice().actor)
    assert events(session, "call.allowed")[-1]["rule"] == f"grant:{grant['id']}"
    assert len(bank.transfers("C-1001")) == 2
    assert alice.post(f"/sessions/{session}/grants/{grant['id']}/revoke", {}).status_code == 201
    another(session)
    assert len(alice.get("/requests", state="pending").json()["requests"]) == 1
    assert alice.get(f"/sessions/{session}/grants").json()["grants"][0]["standing"] == "revoked"


def test_a_grant_is_of_its_session_alone_and_of_nobody_without_the_right(bank, sticky) -> None:
    alice = Api(cast.alice())
    session, request = approved(alice)
    problem(Api(cast.vera()).post(f"/sessions/{session}/grants", {"request": request}), 403)
    problem(Api(cast.charlie()).post(f"/sessions/{session}/grants", {"request": request}), 404, "unknown_session")
    assert alice.post(f"/sessions/{session}/grants", {"request": request}).status_code == 201
    other = opened("C-1001")
    work()
    another(other)
    assert len(alice.get("/requests", state="pending").json()["requests"]) == 1
    assert alice.get(f"/sessions/{other}/grants").json() == {"grants": [], "offers": []}


def test_the_page_grants_and_takes_back_without_a_script(bank, sticky) -> None:
    session, request = approved(Api(cast.alice()))
    client, address = cast.browser(cast.alice()), reverse("session_grants", args=[session])
    assert "again automatically?" in client.get(address).content.decode()
    wrong = client.post(address, {"request": request, "uses": "9", "minutes": "5"})
    assert (wrong.status_code, "want 1 to 3" in wrong.content.decode()) == (422, True)
    assert client.post(address, {"request": request, "uses": "3", "minutes": "5"}).status_code == 302
    (key,) = state(session).grants
    assert "Ask agent to revise" in client.get(address).content.decode()
    assert client.post(reverse("grant_revoke", args=[session, key])).status_code == 302
    assert state(session).grants[key].revoked_by == cast.alice().actor


def test_a_grants_end_is_judged_by_the_databases_clock_in_the_statement_that_appends(bank, sticky) -> None:
    """Whatever the clock of the worker says that decided."""
    alice = Api(cast.alice())
    session, request = approved(alice)
    assert alice.post(f"/sessions/{session}/grants", {"request": request}).status_code == 201
    held = state(session)
    (grant,) = held.grants.values()
    over = msgspec.structs.replace(grant, until=stamp(clock.now() - timedelta(seconds=1)))
    let_through = [ev.CallAllowed("c", 2, grant.name, "bank@9")]
    for each, lasts in ((grant, True), (over, False)):
        then = msgspec.structs.replace(held, grants={each.id: each})
        for guard in (None, ledger.Fragment("SELECT 1 WHERE %(g_yes)s", {"g_yes": True})):
            fragment = standing_approvals.in_time(guard, then, let_through)
            assert fragment is not None
            assert bool(list(ledger.run(fragment.sql, fragment.params))) == lasts
    gone = standing_approvals.in_time(None, msgspec.structs.replace(held, grants={}), let_through)
    assert gone is not None
    assert not list(ledger.run(gone.sql, gone.params))
    assert standing_approvals.in_time(None, held, [ev.CallAllowed("c", 2, "transfer.small", "bank@9")]) is None


# On record


def test_which_policies_are_in_force_is_on_record_and_a_change_is_told_in_the_staff_log(
    only_the_bank, monkeypatch
) -> None:
    tenant = cast.tenant().pk
    call_command("check_policy", record=True, stdout=StringIO())
    assert recording.record(tenant, clock.now()) == []
    (first,) = recording.history(tenant)
    bank = policies.named("bank").reference
    assert first["bank"] == f"{bank} {policies.digest_of(bank)}"
    monkeypatch.setattr(recording.policies, "digest_of", lambda reference: "0" * 64)
    (change,) = recording.record(tenant, clock.now())
    assert change.startswith(f"bank: {bank} ")
    told = written(staff.log_of(tenant, clock.now()))
    assert b"policy.changed" in told
    assert len(recording.history(tenant)) == 2


def test_the_check_names_what_is_wrong(tmp_path) -> None:
    out = StringIO()
    call_command("check_policy", stdout=out)
    said = next(line for line in out.getvalue().splitlines() if line.startswith("airline@1: 26 rules, 47 cases; "))
    assert said.endswith("superseded, cannot be put in force: a missing value turns rules off in 24 places")
    assert f"bank@{policies.named('bank').version}: 12 rules" in out.getvalue()
    opened = {**STRICT, "rules": [{**STRICT["rules"][0], "when": OPEN}]}  # type: ignore[index]
    stranger = {**STRICT, "rules": [{**STRICT["rules"][0], "reviewers": ["team:nowhere", "user:nobody"]}]}  # type: ignore[index]
    for document, reason in (
        (opened, "turns the rule off"),
        (stranger, "no team 'nowhere'"),
        ({**STRICT, "rules": [{}]}, "name"),
        (5, "object"),
    ):
        file = tmp_path / "p.json"
        file.write_text(json.dumps(document))
        with pytest.raises(CommandError, match=reason):
            call_command("check_policy", str(file), stdout=StringIO())
    with pytest.raises(CommandError, match=r"missing\.json"):
        call_command("check_policy", str(tmp_path / "missing.json"))


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"1.json": "not json"}, "p/1.json: "),
        ({"1.json": json.dumps(STRICT)}, "it says that it is strict@1"),
        ({}, "p/0.json"),
        ({"1.json": P}, r"p/1\.cases\.json"),
        ({"1.json": P, "1.cases.json": '{"cases": []}'}, "rule 'all' decides no case"),
        ({"1.json": json.dumps({**STRICT, "name": "p", "zone": "Mars"})}, "Mars"),
        ({"1.json": json.dumps({**STRICT, "name": "p", "rules": KING})}, "there is no role 'king'"),
        ({"1.json": json.dumps({**STRICT, "name": "p", "rules": [{**KING[0], "when": OPEN}]})}, "turns the rule off"),
    ],
)
def test_a_policy_that_cannot_be_read_keeps_its_agent_out(files, reason, tmp_path) -> None:
    (tmp_path / "policies" / "p").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / "policies" / "p" / name).write_text(text)
    with folders.added(tmp_path), pytest.raises(policies.BadFile, match=reason):
        registry.register(msgspec.structs.replace(registry.find("bank"), name="other", policy="p"))
