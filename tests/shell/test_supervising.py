"""A person takes a session over and speaks in it, guides its agent, hands it back: by command, on pages, over the API,
with a worker at work at that very moment.
"""

from __future__ import annotations

import json
import threading
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from agentstate.engine.decide import TakenByAnother
from agentstate.engine.handing_back import OPENING
from agentstate.people.permissions import PermissionDenied
from demo.bank_agent.script import ScriptedModel
from demo.bank_agent.script.lines import LINES
from sessions.agents import definition, registry
from sessions.approvals import assignment
from sessions.approvals import commands as approvals_commands
from sessions.conversation import commands as conversation_commands
from sessions.core import session_lines
from sessions.models.sessions import AgentSession, ApprovalRequest
from sessions.privacy import subject_report
from sessions.runtime import leases
from sessions.runtime.advance import advance
from sessions.supervision import assignments as working
from sessions.supervision import commands as supervision_commands
from sessions.supervision import handback as proposals
from sessions.supervision import queries as lines
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import events, kinds, opened, say, state, work
from tests.shell.pages import read
from tests.shell.test_first_transfer import asks_for_a_transfer, pending

pytestmark = pytest.mark.django_db(transaction=True)
GUIDANCE = "Mrs Smith is a VIP, be brief"


def said_by(session: UUID, role: str) -> list[str]:
    return [data["text"] for data in events(session, "message.added") if data["role"] == role]


class Answering:
    """A worker that is asking the model for a session's agent, and waits until it is let go on."""

    def __init__(self, monkeypatch) -> None:
        script = registry.find("bank").script
        assert script is not None
        self.asked, self.go_on = threading.Event(), threading.Event()
        answer = type(script).answer

        def slowly(model, request, **more):
            self.asked.set()
            assert self.go_on.wait(20)
            return answer(model, request, **more)

        monkeypatch.setattr(type(script), "answer", slowly)
        self.thread = threading.Thread(target=self._advance)
        self.thread.start()
        assert self.asked.wait(10)

    def _advance(self) -> None:
        try:
            lease = leases.claim()
            assert lease is not None
            advance(lease)
        finally:
            connection.close()

    def ends(self) -> None:
        self.go_on.set()
        self.thread.join(20)
        assert not self.thread.is_alive()


def asking(monkeypatch) -> tuple[UUID, Answering]:
    session = opened()
    work()
    conversation_commands.say(cast.cleo(), session, "What is my balance?")
    return session, Answering(monkeypatch)


def test_a_worker_that_is_answering_when_a_person_takes_over_says_nothing(bank, monkeypatch):
    session, worker = asking(monkeypatch)
    before = said_by(session, "agent")
    supervision_commands.take_over(cast.alice(), session, "she sounds upset")
    worker.ends()
    assert said_by(session, "agent") == before
    assert [data["because"] for data in events(session, "model.dropped")] == ["taken_over"]
    supervision_commands.speak(cast.alice(), session, "This is Alice.")
    work()
    assert said_by(session, "staff") == ["This is Alice."]
    call_command("rebuild", "--check")


def test_what_the_worker_had_committed_before_was_said_and_comes_before_in_the_log(bank, monkeypatch):
    session, worker = asking(monkeypatch)
    before = len(said_by(session, "agent"))
    worker.ends()
    supervision_commands.take_over(cast.alice(), session)
    order = kinds(session)
    assert len(said_by(session, "agent")) > before
    assert "session.taken_over" not in order[: len(order) - 1 - order[::-1].index("message.added")]
    assert "model.dropped" not in order


def test_the_agent_goes_on_after_the_hand_back_with_a_summary_and_does_not_greet_again(bank, monkeypatch):
    session = opened()
    work()
    supervision_commands.take_over(cast.alice(), session)
    say(session, "Are you still there?")
    supervision_commands.speak(cast.alice(), session, "Yes. I have noted your new address.")
    proposal = proposals.proposed_summary(cast.alice(), session)
    assert proposal.splitlines() == [
        "Customer: Are you still there?",
        "Colleague: Yes. I have noted your new address.",
    ]
    greetings, asked = len(said_by(session, "agent")), []
    answer = ScriptedModel.answer

    def heard(self, request, **more):
        asked.append(request)
        return answer(self, request, **more)

    monkeypatch.setattr(ScriptedModel, "answer", heard)
    supervision_commands.hand_back(cast.alice(), session)
    work()
    assert OPENING in str(asked[0]), "any model is told not to greet again"
    assert proposal.splitlines()[1] in str(asked[0])
    assert events(session, "session.handed_back")[0]["summary"] == proposal
    assert not set(LINES["greet"]) & set(said_by(session, "agent")[greetings:])
    say(session, "What is my balance?")
    assert len(said_by(session, "agent")) > greetings
    assert (state(session).taken_by, AgentSession.objects.get(pk=session).taken_by) == ("", "")
    call_command("rebuild", "--check")


def test_a_taken_session_costs_a_row_that_no_worker_claims_and_names_who_has_it(bank):
    session = asks_for_a_transfer()
    supervision_commands.take_over(cast.alice(), session)
    say(session, "Hello?")
    row = AgentSession.objects.get(pk=session)
    assert (row.taken_by, row.waiting_for, row.ready_at, row.open_requests) == (
        cast.alice().actor,
        "colleague",
        None,
        1,
    )
    approvals_commands.decide(
        cast.bob(), pending(session).id, approvals_commands.Decision("approve")
    )  # alice has the session
    before = bank.transfers("C-1001")
    work()
    assert len(bank.transfers("C-1001")) == len(before) + 1  # what a person lets through runs


def test_only_who_may_takes_over_and_taking_from_a_colleague_is_recorded(bank):
    session = opened()
    for user in (cast.vera(), cast.cleo(), cast.adam()):
        with pytest.raises(PermissionDenied):
            supervision_commands.take_over(user, session)
        with pytest.raises(PermissionDenied):
            supervision_commands.whisper(user, session, "x")
    supervision_commands.take_over(cast.alice(), session, key="k")
    assert supervision_commands.take_over(cast.alice(), session, key="k").repeated
    with pytest.raises(TakenByAnother):
        supervision_commands.take_over(cast.bob(), session)
    supervision_commands.take_over(cast.bob(), session, "my customer", holder=cast.alice().actor)
    assert events(session, "session.taken_over")[-1]["from_whom"] == cast.alice().actor
    with pytest.raises(TakenByAnother):
        supervision_commands.speak(cast.alice(), session, "Hello")


def test_a_whisper_reaches_the_model_and_never_the_customer(bank):
    session = opened()
    work()
    supervision_commands.whisper(cast.alice(), session, GUIDANCE)
    say(session, "What is my balance?")
    request = definition.build(registry.find("bank"), "m", state(session))
    assert [message.role for message in request.messages if GUIDANCE in message.text] == ["note"]
    staff, caller = cast.browser(cast.alice()), cast.browser(cast.cleo())
    assert GUIDANCE in staff.get(reverse("session", args=[session])).content.decode()
    for page in ("chat_with", "chat_changes", "session", "session_changes", "session_audit"):
        assert GUIDANCE not in caller.get(reverse(page, args=[session])).content.decode(), page
    customers = Api(cast.cleo())
    assert GUIDANCE not in customers.get(f"/sessions/{session}/entries", limit=200).content.decode()
    assert GUIDANCE not in customers.get(f"/sessions/{session}").content.decode()
    assert customers.get(f"/sessions/{session}/memory").status_code == 403
    report = subject_report.made(cast.petra(), customer="C-1001")
    assert GUIDANCE not in str(report)
    assert GUIDANCE in Api(cast.alice()).get(f"/sessions/{session}/entries", limit=200).content.decode()


def test_a_customer_who_asks_for_a_person_is_in_a_queue_until_one_takes_over(bank):
    session = opened()
    work()
    say(session, "Can I talk to a real person?")
    assert [line.id for line in lines.wanted_sessions(cast.alice())] == [session]
    wall = cast.browser(cast.alice()).get(reverse("live")).content.decode()
    assert f'id="w-{session}"' in wall
    page = read(cast.browser(cast.alice()).get(reverse("session", args=[session])).content)
    assert "Human requested" in page.id("is-wanted").text()
    assert lines.wanted_sessions(cast.charlie()) == []
    supervision_commands.take_over(cast.alice(), session)
    assert lines.wanted_sessions(cast.alice()) == []
    supervision_commands.hand_back(cast.alice(), session)
    Api(cast.cleo()).post(f"/sessions/{session}/person", {"why": "pressed the button"})
    assert [line.id for line in lines.wanted_sessions(cast.bob())] == [session]
    supervision_commands.no_person_needed(cast.bob(), session, "called back")
    assert lines.wanted_sessions(cast.bob()) == []
    assert [data["source"] for data in events(session, "session.human_requested")] == ["phrase", "api"]


def test_the_page_takes_over_speaks_and_hands_back_with_forms_alone(bank):
    session, browser = opened(), cast.browser(cast.alice())
    work()

    def press(act: str, **sent: str) -> str:
        return browser.post(reverse("session_supervise", args=[session, act]), sent, follow=True).content.decode()

    taken = read(press("take-over", reason="she asks twice").encode())
    assert (taken.has("do-say"), taken.has("do-take"), taken.has("is-taken")) == (True, False, True)
    assert "I am Alice." in press("speak", text="I am Alice.")
    other = read(cast.browser(cast.bob()).get(reverse("session", args=[session])).content)
    assert "Taken over by Alice" in other.id("is-taken").text()
    assert "Take over from Alice" in other.id("do-take").text()
    back = read(press("hand-back", summary="She is well.", speaks="yes").encode())
    assert (back.has("do-take"), back.has("is-taken")) == (True, False)
    assert browser.post(reverse("session_supervise", args=[session, "speak"]), {"text": "x"}).status_code == 409
    assert browser.post(reverse("session_supervise", args=[session, "explode"])).status_code == 400
    viewer = cast.browser(cast.vera())
    assert 'id="do-take"' not in viewer.get(reverse("session", args=[session])).content.decode()
    assert viewer.post(reverse("session_supervise", args=[session, "take-over"])).status_code == 403


def test_the_next_thing_is_told_with_why_and_two_who_ask_get_two(bank):
    first, second = asks_for_a_transfer(), opened("C-1002")
    work()
    say(second, "I want to speak to a human being")
    alice, bob = working.next_work(cast.alice()), working.next_work(cast.bob())
    assert alice is not None
    assert bob is not None
    assert {alice.session, bob.session} == {first, second}
    assert working.next_work(cast.alice()).session == alice.session  # type: ignore[union-attr]
    assert "it is assigned to you" in working.next_work(cast.alice()).why  # type: ignore[union-attr]
    assert any("asks for a person" in why for each in (alice, bob) for why in each.why)
    assert working.next_work(cast.person("sue", cast.Role.SUPERVISOR, cast.retail())) is None
    with pytest.raises(PermissionDenied):
        assignment.assign(cast.vera(), first, "alice")


def test_what_wants_a_skill_goes_to_who_has_it_and_to_all_where_nobody_has(bank):
    asks_for_a_transfer()
    cast.bob()
    rule = [{"by": "tool", "value": "transfer", "skill": "Large  payments"}]
    working.set_wanted_skills(cast.adam(), "retail", rule)
    found = working.next_work(cast.alice())
    assert found is not None
    assert "it wants large payments, which nobody in the team has" in found.why
    assignment.assign(cast.alice(), found.session, "", request=found.request, holder=cast.alice().actor)
    working.set_skills(cast.adam(), "bob", ["large payments"])
    assert working.next_work(cast.alice()) is None
    bobs = working.next_work(cast.bob())
    assert bobs is not None
    assert "it wants large payments, which you have" in bobs.why
    with pytest.raises(PermissionDenied):
        working.set_skills(cast.alice(), "bob", [])


def test_everything_in_hand_goes_over_at_the_end_of_a_shift_with_one_entry_each(bank):
    session, other = asks_for_a_transfer(), opened("C-1002")
    cast.bob()
    work()
    request = pending(session).id
    supervision_commands.take_over(cast.alice(), other)
    assignment.assign(cast.alice(), session, "alice")
    assignment.assign(cast.alice(), session, "alice", request=request)
    before = len(kinds(session)) + len(kinds(other))
    handed = working.hand_over(cast.alice(), "bob", "end of shift")
    assert [(each.what, each.refused) for each in handed] == [("taken", ""), ("assigned", ""), ("assigned", "")]
    assert len(kinds(session)) + len(kinds(other)) == before + 3
    assert (state(other).taken_by, state(session).desk.assigned_to) == (cast.bob().actor, cast.bob().actor)
    assert ApprovalRequest.objects.get(pk=request).assigned_to == cast.bob().actor
    working.hand_over(cast.alice(), "", "nobody is left", of="bob")
    assert [line.id for line in lines.wanted_sessions(cast.alice())] == [other]
    say(other, "Hello?")
    assert AgentSession.objects.get(pk=other).waiting_for == "colleague"
    assert lines.in_hand(cast.bob().actor, [cast.retail().pk]).total == 0
    call_command("rebuild", "--check")


def test_the_pages_of_stops_and_of_handover_work_with_forms_alone(bank):
    browser = cast.browser(cast.alice())
    cast.bob()
    assert browser.post(reverse("stops"), {"what": "everything", "reason": "drill"}).status_code == 400  # not meant
    sent = {"what": "everything", "reason": "drill", "sure": "yes"}
    stopped = browser.post(reverse("stops"), sent, follow=True).content.decode()
    assert "Stopped: everything" in stopped
    page = read(cast.browser(cast.vera()).get(reverse("live")).content)
    assert "drill" in page.id("stopped").text()
    session = opened()
    assert "Stopped: everything" in browser.get(reverse("session", args=[session])).content.decode()
    row = json.loads(Api(cast.vera()).get("/stops").content)["stops"][0]
    lifted = browser.post(reverse("stop_lift", args=[row["id"]]), {"why": "over"}, follow=True).content.decode()
    assert "No active stops" in lifted
    supervision_commands.take_over(cast.alice(), session)
    held = browser.get(reverse("handover")).content.decode()
    assert "1 assigned item" in held
    told = browser.post(reverse("handover"), {"of": "alice", "to": "bob", "reason": "End of shift"}, follow=True)
    assert "1 handed over" in told.content.decode()
    assert cast.browser(cast.vera()).get(reverse("handover")).status_code == 403
    assert session_lines.session_line(cast.alice(), session).taken_by == cast.bob().actor


def test_a_person_barges_in_from_the_page_while_the_agent_is_answering_and_the_agent_goes_on(bank, monkeypatch):
    session, worker = asking(monkeypatch)
    before = len(events(session, "message.added"))
    sent = {"text": "This is Alice: your card is on its way."}
    page = cast.browser(cast.alice()).post(reverse("session_supervise", args=[session, "barge-in"]), sent, follow=True)
    assert "your card is on its way" in page.content.decode()
    worker.ends()
    work()
    said = [each["role"] for each in events(session, "message.added")[before:]]
    assert (said[0], said.count("staff"), "agent" in said) == ("staff", 1, True)  # what it was saying was dropped
    assert (state(session).taken_by, [each["because"] for each in events(session, "model.dropped")]) == (
        "",
        ["spoken_over"],
    )
    request = definition.build(registry.find("bank"), "m", state(session))
    assert [message.text for message in request.messages if message.role == "staff"] == [sent["text"]]
    with pytest.raises(PermissionDenied):
        supervision_commands.barge_in(cast.vera(), session, "x")
    call_command("rebuild", "--check")


def test_a_caller_who_is_upset_has_the_agent_ask_for_a_person_once_by_its_tool(bank):
    session = opened()
    work()
    say(session, "This is ridiculous, I am calling for the third time.")
    assert [line.id for line in lines.wanted_sessions(cast.alice())] == [session]
    (wish,) = events(session, "session.human_requested")
    assert (wish["source"], wish["why"][:21]) == ("tool", "the customer is upset")
    say(session, "I am fed up, do something.")
    called = [each for each in events(session, "tool.intended") if each["tool"] == "ask_for_person"]
    assert len(called) == 1
    assert "colleague has been asked for" in " ".join(said_by(session, "agent"))
