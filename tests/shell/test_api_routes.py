"""Every operation of the API: what it gives, and whom and what it refuses before it begins."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models import Model

from agentstate import clock
from agentstate.ids import new_id
from agentstate.people import commands as people
from agentstate.people import grants
from agentstate.people.models import ApiToken
from audit.models import LegalHold
from sessions.automation.alerts import repository as alert_rules
from sessions.automation.notifications import endpoints
from sessions.automation.notifications import repository as notice_rules
from sessions.automation.triggers import repository as triggers
from sessions.models.alerts import TeamRule
from sessions.models.notifications import NoticeEndpoint, NoticeRule
from sessions.models.sessions import AgentSession
from sessions.models.triggers import Trigger
from tests import cast
from tests.shell.api_operations import BODIES, NAMED, OPEN, OPERATIONS, WITH_BODY, body_for
from tests.shell.api_world import UNKNOWN, V1, Api, document, new_session, nothing_written, problem, waiting_request
from tests.shell.bank_world import opened, say, work
from tests.shell.side_by_side_world import told  # noqa: F401 - registers the agent of that name

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # the worker sees only what is committed

NOT_OPERATIONS = [
    (method, path)
    for path in sorted({path for _, path in OPERATIONS})
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
    if (method, path) not in OPERATIONS
]
ON_A_SESSION = [(method, path) for method, path in OPERATIONS if "{session}" in path]


def ask(api: Api, method: str, path: str, **ids: str):
    address = path.format(**{**NAMED, **ids})
    if method in WITH_BODY:
        return api.ask(
            method, address, data=json.dumps(body_for(path, method)).encode(), content_type="application/json"
        )
    return api.ask(method, address)


def test_these_are_all_operations() -> None:
    found = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    assert found == {(method, V1 + path) for method, path in OPERATIONS}


def test_a_session_is_opened_and_its_address_given() -> None:
    answer = Api(cast.cleo()).post("/sessions", {**OPEN, "topic": "a transfer", "alias": "thread-7"})
    assert answer.status_code == 201
    body = answer.json()
    assert (body["name"], body["alias"]) == ("C-1001", "thread-7")
    assert (body["seq"], body["topic"], body["channel"]) == (1, "a transfer", "phone")
    again = Api(cast.cleo()).get(answer["Location"])
    assert again.json() == body


def test_a_message_is_posted_and_read_among_the_entries() -> None:
    session, cleo = new_session(), Api(cast.cleo())
    receipt = cleo.post(f"/sessions/{session}/messages", {"text": "Grüße, and  two spaces 👋"}).json()
    assert (receipt["session"], receipt["first"], receipt["seq"]) == (session, 1, 3)  # with the chart's first move
    entries = cleo.get(f"/sessions/{session}/entries", after=0).json()["entries"]
    by = cast.cleo().actor
    assert [(entry["kind"], entry["actor"]) for entry in entries] == [("message.added", by), ("chart.moved", by)]
    assert (entries[0]["data"]["role"], entries[0]["data"]["text"]) == ("customer", "Grüße, and  two spaces 👋")
    assert entries[0]["command"] == receipt["command"]


def test_a_session_is_ended_and_then_listed_as_done() -> None:
    session, cleo = new_session(), Api(cast.cleo())
    assert cleo.post(f"/sessions/{session}/end", {"reason": "hung up"}).status_code == 200
    listed = cleo.get("/sessions", status="done").json()["sessions"]
    assert [(line["id"], line["status"], bool(line["ended_at"])) for line in listed] == [(session, "done", True)]
    assert cleo.get("/sessions", status="idle").json() == {"sessions": [], "next": None}
    problem(cleo.post(f"/sessions/{session}/messages", {"text": "still there?"}), 409, "session_over")


@committed
def test_a_request_is_listed_read_and_decided(bank) -> None:
    request, alice = waiting_request(), Api(cast.alice())
    (line,) = alice.get("/requests", state="pending").json()["requests"]
    whole = alice.get(f"/requests/{request}").json()  # one request alone is compared, and has account numbers whole
    assert {**line, "differences": [], "arguments": whole["arguments"]} == whole
    assert line["arguments"]["to_account"] == f"..{whole['arguments']['to_account'][-4:]}"
    assert (line["id"], line["tool"], line["tier"], line["quorum"]) == (request, "transfer", 2, 1)
    assert (line["may_decide"], line["arguments"]["amount"]) == (True, {"minor": 120000, "currency": "USD"})
    receipt = alice.post(f"/requests/{request}/decisions", {"decision": "approve", "reason": "checked"}).json()
    assert receipt["session"] == line["session"]
    decided = alice.get(f"/requests/{request}").json()
    assert (decided["state"], decided["decided_by"], decided["may_decide"]) == ("approved", cast.alice().actor, False)
    assert alice.get("/requests", state="pending").json()["requests"] == []
    before = len(bank.transfers("C-1001"))
    work()
    assert len(bank.transfers("C-1001")) == before + 1


@committed
def test_mine_are_those_that_i_may_decide(bank) -> None:
    waiting_request()
    assert len(Api(cast.alice()).get("/requests", mine="true").json()["requests"]) == 1
    vera = Api(cast.vera())
    assert vera.get("/requests", mine="true").json()["requests"] == []
    assert [line["may_decide"] for line in vera.get("/requests", mine="false").json()["requests"]] == [False]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_without_a_token_every_operation_is_401_and_says_how_to_come_in(method: str, path: str) -> None:
    with nothing_written():
        answer = ask(Api(None), method, path)
    problem(answer, 401, "not_authenticated")
    assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_a_wrong_token_is_401_everywhere(method: str, path: str) -> None:
    stranger = Api(None)
    stranger.headers = {"Authorization": "Bearer ags_wrong"}
    answer = ask(stranger, method, path)
    problem(answer, 401, "token_refused")
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_revoked_token_is_refused_by_the_next_call() -> None:
    cleo = Api(cast.cleo())
    assert cleo.get("/sessions").status_code == 200
    people.revoke_token(ApiToken.objects.get(user=cast.cleo()), cast.cleo())
    problem(cleo.get("/sessions"), 401, "token_refused")


def test_many_wrong_tokens_of_one_address_are_429_with_the_time_to_wait(monkeypatch) -> None:
    monkeypatch.setattr("agentstate.people.throttles.TokenFailures.rate", "3/min", raising=False)
    peer = cast.address()
    stranger, alice = Api(None, peer), Api(cast.alice(), peer)
    stranger.headers = {"Authorization": "Bearer ags_wrong"}
    assert [stranger.get("/sessions").status_code for _ in range(3)] == [401] * 3
    answer = stranger.get("/sessions")
    problem(answer, 429, "throttled")
    assert 1 <= int(answer["Retry-After"]) <= 61
    assert alice.get("/sessions").status_code == 200


@pytest.mark.parametrize(("method", "path"), ON_A_SESSION)
def test_a_session_of_another_team_is_as_unknown_as_one_that_never_was(method: str, path: str) -> None:
    session, charlie = new_session(), Api(cast.charlie())
    with nothing_written():
        theirs = problem(ask(charlie, method, path, session=session), 404, "unknown_session", "session")
    assert theirs == ask(charlie, method, path).json()


@pytest.mark.parametrize("path", ["/requests/{request_id}", "/requests/{request_id}/decisions"])
@committed
def test_a_request_of_another_team_is_as_unknown_as_one_that_never_was(bank, path: str) -> None:
    request, charlie = waiting_request(), Api(cast.charlie())
    method = "POST" if "decisions" in path else "GET"
    with nothing_written():
        theirs = problem(ask(charlie, method, path, request_id=request), 404, "unknown_request", "request_id")
    assert theirs == ask(charlie, method, path).json()


@committed
def test_lists_hold_nothing_of_another_team(bank) -> None:
    waiting_request()
    charlie = Api(cast.charlie())
    assert charlie.get("/sessions").json()["sessions"] == []
    assert charlie.get("/requests").json()["requests"] == []


@pytest.mark.parametrize(
    ("who", "method", "path", "permission"),
    [
        ("alice", "POST", "/sessions", "open_session"),
        ("vera", "POST", "/sessions/{session}/messages", "speak_as_customer"),
        ("alice", "POST", "/sessions/{session}/messages", "speak_as_customer"),
        ("vera", "POST", "/sessions/{session}/end", "speak_as_customer"),
        ("vera", "POST", "/sessions/{session}/pause", "take_over"),
        ("cleo", "POST", "/sessions/{session}/resume", "take_over"),
        ("cleo", "POST", "/sessions/{session}/cancel", "take_over"),
        ("vera", "POST", "/sessions/{session}/takeover", "take_over"),
        ("cleo", "POST", "/sessions/{session}/speech", "take_over"),
        ("vera", "POST", "/sessions/{session}/barging", "barge_in"),
        ("vera", "POST", "/sessions/{session}/guidance", "whisper"),
        ("cleo", "POST", "/sessions/{session}/guidance", "whisper"),
        ("vera", "POST", "/sessions/{session}/handback", "take_over"),
        ("vera", "POST", "/sessions/{session}/passing", "take_over"),
        ("vera", "POST", "/sessions/{session}/person", "take_over"),
        ("vera", "POST", "/sessions/{session}/assignments", "take_over"),
        ("vera", "POST", "/stops", "stop"),
        ("vera", "POST", "/desk/handover", "take_over"),
        ("vera", "POST", "/sessions/{session}/grant", "take_over"),
        ("adam", "GET", "/sessions/{session}/entries", "read"),
    ],
)
def test_without_the_permission_it_is_403_that_names_it(who: str, method: str, path: str, permission: str) -> None:
    session, person = new_session(), Api(getattr(cast, who)())
    with nothing_written():
        body = problem(ask(person, method, path, session=session), 403, "permission_denied")
    assert body["permission"] == permission
    assert body["remedy"]


@pytest.mark.parametrize("who", ["vera", "anna", "cleo"])
@committed
def test_who_may_read_but_not_decide_is_403(bank, who: str) -> None:
    soon = clock.now() + timedelta(hours=1)
    grants.give(cast.anna(), cast.retail(), until=soon, kinds=["read"], reason="audit", by=None)
    request, person = waiting_request(), Api(getattr(cast, who)())
    with nothing_written():
        answer = person.post(f"/requests/{request}/decisions", {"decision": "approve"})
    assert problem(answer, 403, "decision_not_allowed")["permission"] == "decide"


@committed
def test_who_may_see_but_not_read_gets_no_words() -> None:
    session = new_session(topic="my divorce")
    say(UUID(session), "I am Joan Smith")
    answer = Api(cast.adam()).get(f"/sessions/{session}")
    assert answer.json()["last_words"] == answer.json()["topic"] == answer.json()["name"] == ""
    assert Api(cast.adam()).get("/requests").json()["requests"] == []


@pytest.mark.parametrize(("method", "path"), NOT_OPERATIONS)
def test_a_method_that_an_address_does_not_have_is_405_and_those_it_has_are_named(method: str, path: str) -> None:
    answer = Api(cast.alice()).ask(method, path.format(**NAMED), data=b"{}")
    problem(answer, 405, "method_not_allowed")
    has = {own for own, address in OPERATIONS if address == path}
    assert has <= set(answer["Allow"].split(", ")) <= has | {"HEAD", "OPTIONS"}


@pytest.mark.parametrize(("method", "path"), [each for each in OPERATIONS if each[0] == "POST"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_that_is_not_called_json_is_415(method: str, path: str, kind: str) -> None:
    session, cleo = new_session() if "session}" in path else UNKNOWN, Api(cast.cleo())
    with nothing_written():
        address = path.format(**{**NAMED, "session": session})
        problem(cleo.post(address, body_for(path), content_type=kind), 415, "unsupported_media_type")


def test_who_accepts_no_json_is_told_so_in_json() -> None:
    problem(Api(cast.alice()).ask("GET", "/sessions", headers={"Accept": "text/html"}), 406, "not_acceptable")


NO_ADDRESSES = (
    "/", "", "/nothing", "/sessions/", "/sessions/x/y", "/requests/x/decisions/", "/api", "/api/", "/api/v2/x",
    "/sessions/%00", "/requests/%00/decisions",
)  # fmt: skip


@pytest.mark.parametrize("path", NO_ADDRESSES)
def test_an_unknown_address_is_a_problem_document_for_anybody(path: str) -> None:
    for api in (Api(None), Api(cast.alice())):
        problem(api.get(path), 404, "unknown_address")
        problem(api.post(path, {}), 404, "unknown_address")


@pytest.mark.parametrize("text", ["x", "1", "nil", UNKNOWN[:-1], UNKNOWN + "0", "%ED%A0%80", "..", "a" * 3000])
def test_what_is_no_id_is_404_that_names_the_parameter(text: str) -> None:
    alice = Api(cast.alice())
    problem(alice.get(f"/sessions/{text}"), 404, "unknown_session", "session")
    problem(alice.get(f"/requests/{text}"), 404, "unknown_request", "request_id")
    with nothing_written():
        problem(alice.post(f"/sessions/{text}/messages", {"text": "x"}), 404, "unknown_session", "session")
        problem(alice.post(f"/requests/{text}/decisions", {"decision": "approve"}), 404, "unknown_request")


@pytest.mark.parametrize(
    ("who", "method", "path", "code"),
    [
        ("adam", "GET", "/alert-rules/{rule}", "unknown_alert_rule"),
        ("adam", "POST", "/alert-rules/{rule}/switch", "unknown_alert_rule"),
        ("adam", "GET", "/notice-rules/{rule}", "unknown_notice_rule"),
        ("adam", "POST", "/notice-rules/{rule}/switch", "unknown_notice_rule"),
        ("adam", "GET", "/notice-endpoints/{endpoint}", "no_such_endpoint"),
        ("adam", "POST", "/notice-endpoints/{endpoint}/switch", "no_such_endpoint"),
        ("adam", "POST", "/notice-deliveries/{delivery}/replay", "unknown_delivery"),
        ("adam", "GET", "/triggers/{trigger}", "unknown_trigger"),
        ("adam", "POST", "/triggers/{trigger}/switch", "unknown_trigger"),
        ("adam", "POST", "/tool-offers/{offer}/answer", "unknown_offer"),
        ("petra", "GET", "/proposals/{proposal}", "unknown_proposal"),
        ("petra", "POST", "/proposals/{proposal}/answers", "unknown_proposal"),
        ("alice", "GET", "/agents/told/schema", "no_schema"),
    ],
)
def test_a_thing_that_was_never_made_is_404_by_its_own_name(who: str, method: str, path: str, code: str) -> None:
    person = Api(getattr(cast, who)())
    with nothing_written():
        problem(ask(person, method, path), 404, code)


def test_a_table_of_service_levels_that_is_none_is_404() -> None:
    problem(Api(cast.adam()).get("/service-levels/nothing.csv"), 404, "unknown_part")


def test_a_customer_whose_agents_keep_no_profile_has_none() -> None:
    session, alice = opened("C-1001", agent="told"), Api(cast.alice())
    customer = AgentSession.objects.get(pk=session).kid
    with nothing_written():
        problem(alice.get(f"/customers/{customer}/profile"), 404, "no_profile")


def test_a_hold_is_lifted_once() -> None:
    new_session()
    petra = Api(cast.petra())
    hold = petra.post("/holds", {"customer": "C-1001", "reason": "a case at court"}).json()["id"]
    assert petra.ask("DELETE", f"/holds/{hold}").status_code == 200
    lifted = LegalHold.objects.get(pk=hold).lifted_at
    problem(petra.ask("DELETE", f"/holds/{hold}"), 409, "hold_lifted")
    assert LegalHold.objects.get(pk=hold).lifted_at == lifted


def filled(table: type[Model], row: Model, number: int) -> None:
    """Adds copies of `row` to its table until the team has `number` of them."""
    same = {"what": row.what} if table is TeamRule else {}
    missing = number - table.objects.filter(team=row.team, **same).count()
    for each in range(missing):
        row.pk, row.name = new_id(), f"copy-{each}"
        table.objects.bulk_create([row])


@pytest.mark.parametrize(
    ("path", "table", "most", "code"),
    [
        ("alert-rules", TeamRule, alert_rules.MOST["rule"], "too_many_alert_rules"),
        ("triggers", Trigger, triggers.STORE.most, "too_many_triggers"),
        ("notice-rules", NoticeRule, notice_rules.STORE.most, "too_many_notice_rules"),
        ("notice-endpoints", NoticeEndpoint, endpoints.STORE.most, "too_many_endpoints"),
    ],
)
def test_a_team_makes_one_more_up_to_its_limit_and_not_beyond(
    path: str, table: type[Model], most: int, code: str
) -> None:
    adam, body = Api(cast.adam()), BODIES[path]
    made = adam.post(f"/{path}", body).json()["id"]
    filled(table, table.objects.get(pk=made), most - 1)
    assert adam.post(f"/{path}", {**body, "name": "the-last"}).status_code in (200, 201)
    with nothing_written():
        problem(adam.post(f"/{path}", {**body, "name": "one-more"}), 409, code)
    assert not table.objects.filter(name="one-more").exists()


def test_an_id_in_capitals_is_the_same_id() -> None:
    session = new_session()
    assert Api(cast.alice()).get(f"/sessions/{session.upper()}").json()["id"] == session


def test_a_host_that_is_not_ours_gets_a_problem_document_too() -> None:
    problem(Api(cast.alice()).ask("GET", "/sessions", headers={"Host": "evil.example"}), 400, "bad_request")


def test_what_nobody_foresaw_is_a_500_that_tells_nothing(monkeypatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr("sessions.core.session_lines.sessions", broken)
    alice = Api(cast.alice())
    alice.client.raise_request_exception = False
    answer = alice.get("/sessions")
    problem(answer, 500)
    assert b"hunter2" not in answer.content


def test_a_database_that_does_not_answer_is_503_with_the_time_to_wait(monkeypatch) -> None:
    import psycopg

    def away(*_: object, **__: object) -> None:
        raise psycopg.OperationalError("connection to 10.0.0.7 refused")

    monkeypatch.setattr("sessions.core.session_lines.sessions", away)
    answer = Api(cast.alice()).get("/sessions")
    problem(answer, 503, "unavailable")
    assert answer["Retry-After"] == "2"
    assert b"10.0.0.7" not in answer.content


def test_a_browser_that_has_signed_in_reads_but_writes_only_with_the_csrf_token() -> None:
    session = new_session()
    browser = cast.browser(cast.alice(), enforce_csrf_checks=True)
    assert browser.get(f"{V1}/sessions/{session}").status_code == 200
    with nothing_written():
        answer = browser.post(f"{V1}/sessions/{session}/end", {"reason": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
