"""The doors of `tests/vocabulary.py` are there, and somebody goes through each: API, runtime, pages."""

from __future__ import annotations

import inspect
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from django.urls import NoReverseMatch, reverse

from agentstate.clock import now
from agentstate.engine import events as ev
from agentstate.engine.handlers import command_handler
from agentstate.engine.instants import stamp
from agentstate.engine.policy import Rule
from agentstate.engine.profile.events import KINDS as PROFILE_KINDS
from agentstate.ids import new_id
from audit import ledger
from sessions.agents import registry
from sessions.automation.alerts import session_alerts
from sessions.core import session_lines, states
from sessions.descriptions import entries as descriptions_entries
from sessions.descriptions import sentence as descriptions_sentence
from sessions.profiles import descriptions as profile_words
from tests import cast, vocabulary
from tests.shell.api_world import Api, document
from tests.shell.bank_world import kinds, offering, opened, state, work
from tests.shell.pages import read
from tests.shell.test_interventions import KNOWN, broken, doubted, unanswered
from tests.shell.test_versions import back, moved

VECTORS = Path(__file__).parents[1] / "vectors"
WANT = "I want to move $1,200.00 from savings to checking."
OPERATIONS = {
    operation["operationId"]: (method.upper(), path)
    for path, methods in document()["paths"].items()
    for method, operation in methods.items()
}


class People:
    """Those who ask, one operation of the API at a time by its id; an answer other than a 2xx fails the test."""

    def __init__(self) -> None:
        sue = cast.person("sue", cast.Role.SUPERVISOR, cast.retail())
        self.apis = {user.username: Api(user) for user in (cast.cleo(), cast.alice(), cast.bob(), sue)}
        self.asked: set[str] = set()

    def ask(self, who: str, operation: str, body: object = None, **ids: object) -> Any:
        method, path = OPERATIONS[operation]
        data = {} if method == "GET" else {"data": json.dumps(body or {}).encode()}
        answer = self.apis[who].ask(method, path.format(**ids), **data)
        assert answer.status_code in (200, 201), (operation, answer.content)
        self.asked.add(operation)
        return answer.json()


@pytest.fixture
def decided(monkeypatch) -> set[str]:
    """The names of the commands that were decided, and not refused, from now on."""
    done: set[str] = set()

    def noted(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        def ruled(*given: Any) -> Any:
            events = rule(*given)
            done.add(name)
            return events

        return ruled

    for command, rule in command_handler.by_type.items():
        monkeypatch.setitem(command_handler.by_type, command, noted(command.__name__, rule))
    return done


@pytest.mark.parametrize("table", [vocabulary.OPERATIONS, vocabulary.PROFILE_OPERATIONS])
def test_every_command_of_a_person_has_an_operation_of_the_api(table: dict[str, str]) -> None:
    assert set(table.values()) <= set(OPERATIONS)


@pytest.mark.parametrize(("command", "where"), [*vocabulary.RUNTIME.items(), *vocabulary.PROFILE_RUNTIME.items()])
def test_every_other_command_is_given_by_the_runtime(command: str, where: str) -> None:
    assert f"{command}(" in inspect.getsource(pkgutil.resolve_name(where))


@pytest.mark.parametrize("page", sorted({*vocabulary.PAGES.values(), *vocabulary.PROFILE_PAGES.values()}))
def test_every_page_of_the_table_is_there(page: str) -> None:
    try:
        reverse(page)
    except NoReverseMatch:
        assert reverse(page, args=[new_id()])


def bank_transfer(people: People) -> str:
    """A caller's session in which a transfer waits for a person."""
    session = people.ask("cleo", "open_session", {"customer": "C-1001", "agent": "bank", "channel": "phone"})["id"]
    for text in (WANT, "Yes, that is right."):
        people.ask("cleo", "post_message", {"text": text}, session=session)
        work()
    return str(session)


def decide_it(people: People, session: str) -> None:
    waiting = people.ask("alice", "list_requests")["requests"]
    request = next(line["id"] for line in waiting if line["session"] == session and line["state"] == "pending")
    people.ask("bob", "claim_request", {}, request_id=request)
    people.ask("bob", "release_request", request_id=request)
    people.ask("alice", "decide_request", {"decision": "approve"}, request_id=request)
    people.ask("alice", "grant_same", {"request": request, "uses": 1}, session=session)
    (grant,) = people.ask("alice", "list_session_grants", session=session)["grants"]
    people.ask("bob", "revoke_session_grant", {}, session=session, grant=grant["id"])
    work()


def guide(people: People, session: str) -> None:
    """Topics, references, pins and ratings."""
    message = kinds(UUID(session)).index("message.added")
    people.ask("alice", "set_topic", {"topic": "loan", "change": "open"}, session=session)
    right = {"seq": state(UUID(session)).talk.heard_seq, "mention": "that", "entities": []}
    people.ask("alice", "correct_reference", right, session=session)
    people.ask("alice", "pin_message", {"seq": message}, session=session)
    people.ask("alice", "rate_message", {"seq": message, "rating": 2}, session=session)
    people.ask("alice", "unpin_message", session=session, seq=message)


def remind(people: People, session: str) -> None:
    """A timer that somebody cancels."""
    people.ask("alice", "set_timer", {"what": "remind", "after": 600, "text": "Ask again"}, session=session)
    (timer,) = people.ask("alice", "list_timers", session=session)["timers"]
    people.ask("alice", "cancel_timer", session=session, timer=timer["id"])


def plan(people: People, session: str) -> None:
    """A data message, a plan, another version of it, and a goal."""
    people.ask("alice", "add_data", {"type": "data", "kind": "claim", "data": {"number": "K-7"}}, session=session)
    step = {"_tool": "load_customer", "customer": "C-1001"}
    people.ask("alice", "propose_plan", {"calls": [{**step, "_outputPath": "state.customer"}]}, session=session)
    version = people.ask("alice", "read_plan", session=session)["version"]
    calls = people.ask("alice", "read_plan", session=session)["calls"]
    people.ask("alice", "edit_plan", {"calls": [*calls, step], "version": version}, session=session)
    people.ask("alice", "set_goals", {"tree": {"id": "a", "title": "Pay the rent"}, "version": 0}, session=session)
    task = {"id": "b", "title": "Ask for the account"}
    people.ask("alice", "change_goals", {"op": "add", "task": "a", "fields": task, "version": 1}, session=session)
    work()


def disagree(people: People, session: str) -> None:
    """Two change the same; one is for what stands, and a third settles it."""
    seen = people.ask("alice", "read_state", session=session)["seq"]
    for who, goal in (("alice", "close the account"), ("bob", "order a card")):
        wanted = {"seen": seen, "changes": [{"path": "state.goal", "value": goal}]}
        people.ask(who, "change_state", wanted, session=session)
    lines = people.ask("alice", "list_conflicts", session=session)["conflicts"]
    here = {"session": session, "conflict": next(line["id"] for line in lines if line["status"] == "open")}
    people.ask("alice", "propose_value", {"value": "a loan"}, **here)
    people.ask("bob", "cast_vote", {"proposal": ""}, **here)
    people.ask("sue", "settle_conflict", {"proposal": "", "reason": "as it was"}, **here)


def go_back_and_fork(people: People, session: str) -> str:
    """A name, the form of the state, a rollback; the fork that takes over."""
    people.ask("alice", "prove_value", {"path": "state.goal"}, session=session)
    people.ask("alice", "name_checkpoint", {"name": "here"}, session=session)
    people.ask("alice", "migrate_state", {"to": 1, "hold": True}, session=session)
    people.ask("alice", "prune_state", session=session)
    shown = people.ask("alice", "roll_back", {"to": 6}, session=session)
    confirmed = {"to": 6, "confirm": shown["digest"], "reason": "it misheard"}
    people.ask("alice", "roll_back", confirmed, session=session)
    child = people.ask("alice", "fork_session", {"reason": "what if"}, session=session)["id"]
    people.ask("alice", "promote_fork", {"reason": "better"}, session=child)
    return str(child)


@pytest.mark.django_db(transaction=True)
def test_every_command_of_a_person_is_carried_out_over_the_api_and_seen_on_its_page(bank, decided, monkeypatch) -> None:
    people = People()
    with monkeypatch.context() as patched:
        object_to_a_hold(people, patched)
    with monkeypatch.context() as patched:
        stuck = step_in(people, patched)
    undone = have_undone(people)
    monkeypatch.setattr(registry, "policy_named", lambda name: offering())
    session, held = bank_transfer(people), bank_transfer(people)
    people.ask("alice", "send_signal", {"name": "fraud.suspected"}, session=held)
    decide_it(people, session)
    guide(people, session)
    remind(people, session)
    plan(people, session)
    disagree(people, session)
    child = go_back_and_fork(people, session)
    supervise(people, held)
    look_after(people, held)
    stop_and_go_on(people, held)
    people.ask("cleo", "end_session", {"reason": "hung up"}, session=child)
    people.ask("alice", "seal_session", {}, session=child)
    assert people.asked >= set(vocabulary.OPERATIONS.values())
    assert decided >= set(vocabulary.OPERATIONS)
    for each in (session, held, child, stuck, undone):
        opens_its_pages(each)


def object_to_a_hold(people: People, patched: pytest.MonkeyPatch) -> None:
    """A transfer that policy holds for an hour instead of asking, until somebody objects."""
    policy = registry.policy_named("bank")
    held = [msgspec.structs.replace(rule, gate="hold", hold=3600) for rule in policy.rules if rule.gate == "approve"]
    other = msgspec.structs.replace(policy, rules=(*policy.rules, *(_named(rule, "held") for rule in held)))
    rules = tuple(rule for rule in other.rules if rule.gate != "approve")
    patched.setattr(registry, "policy_named", lambda *_: msgspec.structs.replace(other, rules=rules))
    session = bank_transfer(people)
    waiting = people.ask("alice", "list_requests")["requests"]
    request = next(line["id"] for line in waiting if line["session"] == session)
    people.ask("alice", "undo_request", {"reason": "wrong account"}, request_id=request)
    why = {"request": request, "reason": "she changed her mind"}
    people.ask("alice", "withdraw_call", why, session=session)
    work()


def step_in(people: People, patched: pytest.MonkeyPatch) -> str:
    """A session that could not be advanced is retried; of a call without an answer somebody says what happened."""
    parked = str(broken(patched, KeyError("x")))
    people.ask("alice", "retry_session", {"reason": "mended"}, session=parked)
    unanswered(patched)
    session, call = map(str, doubted())
    told = {"call": call, "how": "happened", "reason": "asked the branch", "result": KNOWN}
    people.ask("alice", "intervene", told, session=session)
    return session


def have_undone(people: People) -> str:
    """A transfer that a session put back left behind is ordered back."""
    session = moved()
    back(session, 3)
    left = people.ask("alice", "list_undoable", session=session)
    people.ask("alice", "compensate", {"rollback": left["rollback"], "reason": "wrong account"}, session=session)
    return str(session)


def _named(rule: Rule, name: str) -> Rule:
    return msgspec.structs.replace(rule, name=f"{rule.name}.{name}")


def supervise(people: People, session: str) -> None:
    """The customer asks for a person, somebody is to see to it, takes over, guides, passes on and hands back."""
    for why in ("pressed the button", "pressed it again"):
        people.ask("cleo", "ask_for_person", {"why": why}, session=session)
        people.ask("alice", "no_person_needed", {"why": "called back"}, session=session)
    people.ask("alice", "assign_work", {"to": "bob"}, session=session)
    people.ask("alice", "barge_in", {"text": "A colleague is on the way."}, session=session)
    people.ask("alice", "take_over", {"reason": "she asks twice"}, session=session)
    people.ask("alice", "speak", {"text": "This is Alice."}, session=session)
    people.ask("alice", "pass_on", {"to": "bob", "reason": "end of shift"}, session=session)
    people.ask("bob", "whisper", {"text": "Be brief."}, session=session)
    people.ask("bob", "hand_back", {"speaks": False}, session=session)


def look_after(people: People, session: str) -> None:
    """An alert of a rule: somebody has it, and says later why it is over."""
    rule = session_alerts.Raising("", "wants-person", 1, "critical", ("role:supervisor",))
    assert session_alerts.raise_alert(UUID(session), new_id(), rule, "wants_person")
    (line,) = people.ask("alice", "list_alerts")["alerts"]
    people.ask("alice", "acknowledge_alert", {}, alert=line["id"])
    people.ask("alice", "close_alert", {"reason": "called back"}, alert=line["id"])


def stop_and_go_on(people: People, session: str) -> None:
    people.ask("alice", "pause_session", {"reason": "the customer is at the counter"}, session=session)
    people.ask("alice", "resume_session", {}, session=session)
    people.ask("alice", "grant_run", {"of": "session", "tokens": 1000, "reason": "a long case"}, session=session)
    people.ask("alice", "cancel_session", {"reason": "opened by mistake"}, session=session)


def opens_its_pages(session: str) -> None:
    """Every page that the table names for what happened here opens, and the audit page tells all of it."""
    browser = cast.browser(cast.alice())
    happened = set(kinds(UUID(session)))
    for page in {vocabulary.PAGES[kind] for kind in happened} - {
        "decision",
        "decisions",
        "sessions",
        "live",
        "stuck",
        "alerts",
    }:
        assert browser.get(reverse(page, args=[session])).status_code == 200, page
    for page in ("decisions", "sessions", "live", "stuck", "alerts"):
        assert browser.get(reverse(page)).status_code == 200, page


@pytest.mark.django_db(transaction=True)
def test_the_audit_page_tells_every_kind_in_words() -> None:
    session = opened()
    stored = [ev.decode(line) for line in (VECTORS / "events.jsonl").read_bytes().splitlines()]
    append(session, stored)
    told = audit_page(session)
    missing = [ev.kind_of(event) for event in stored if sentence(event).act.removeprefix("Step") not in told]
    assert {ev.kind_of(event) for event in stored} == set(ev.KINDS)
    assert missing == []
    assert [ev.kind_of(event) for event in stored if sentence(event).act == ev.kind_of(event)] == []


def append(session: UUID, events: list[ev.AnyEvent]) -> None:
    """Write these entries behind the session's own, as no rule would: the ledger keeps whatever happened."""
    loaded = states.load(session)
    drafts = [ledger.Draft(ev.kind_of(event), ev.encode(event)) for event in events]
    batch = ledger.Batch(drafts, loaded.place.kid, ledger.SYSTEM, stamp(now()), new_id())
    assert ledger.append(loaded.head, batch)


def sentence(event: ev.AnyEvent) -> descriptions_sentence.Sentence:
    """What the page says of it, but for the name of its tool, which the page finds out from other entries."""
    data = msgspec.json.decode(ev.encode(event))
    return descriptions_entries.entry(data.pop("kind"), data)


def audit_page(session: UUID) -> str:
    """The words of all pages of the session's ledger."""
    browser, size = cast.browser(cast.alice()), ledger.read_head(session).size
    pages = range(size, 0, -50)
    address = reverse("session_audit", args=[session])
    return " ".join(read(browser.get(address, {"before": before}).content).text() for before in pages)


@pytest.mark.django_db(transaction=True)
def test_every_command_to_a_profile_is_carried_out_over_the_api_and_told_on_its_page(bank) -> None:
    people = People()
    session = opened()
    work()
    customer = str(session_lines.session_line(cast.alice(), session).customer)
    for operation, body in PROFILE_SCRIPT:
        people.ask("cleo", operation, body, customer=customer)
    assert people.asked == set(vocabulary.PROFILE_OPERATIONS.values())
    page = read(cast.browser(cast.alice()).get(reverse("customer", args=[customer])).content).text()
    entries = people.ask("alice", "list_profile_entries", customer=customer)["entries"]
    assert {entry["kind"] for entry in entries} >= set(PROFILE_KINDS) - {"profile.learned"}
    assert [e["kind"] for e in entries if profile_words.entry(e["kind"], e["data"]).act not in page] == []


BRIEF = {"preference": "answers", "value": "brief"}
PROFILE_SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("set_consent", {"purpose": "personalisation", "agreed": True}),
    ("set_preference", BRIEF),
    ("set_preference", {"preference": "answers", "value": None}),
    ("give_feedback", {**BRIEF, "fits": True}),
    ("correct_learned", {**BRIEF, "value": "full"}),
    ("refuse_learning", {"preference": "usual_source"}),
    ("refuse_learning", {"preference": "usual_source", "allowed": True}),
    ("forget_profile", {"part": "everything"}),
    ("set_consent", {"purpose": "personalisation", "agreed": False}),
]


def test_every_kind_of_a_profile_has_words() -> None:
    stored = [msgspec.json.decode(line) for line in (VECTORS / "profile_events.jsonl").read_bytes().splitlines()]
    assert {data["kind"] for data in stored} == set(PROFILE_KINDS)
    assert [data["kind"] for data in stored if profile_words.entry(data["kind"], data).act == data["kind"]] == []
