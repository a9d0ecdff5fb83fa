"""Attacks on what is hidden: guidance and private values at doors that forgot them, proofs that hand out keys, account
numbers in lists, and erasures that one lock holds up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from agentstate.stack.endpoints import endpoints
from tests.attacks.client import Answer, Person, Talk, eventually
from tests.attacks.stack import Stack
from tests.processes import ROOT

NOTES = {"type": "object", "properties": {"pin": {"type": "string", "x-private": True}}}
DOORS = ("entries", "state", "state/kinds", "data", "memory", "conflicts", "plan", "proofs/complete")


def read_by(person: Person, talk: Talk) -> str:
    """All that this person is told of the session by the API."""
    size = talk.state()["seq"]
    paths = [*DOORS, f"proofs/range?first=0&last={size - 1}", *(f"proofs/entries/{seq}" for seq in range(size))]
    return "\n".join(person.get(f"/sessions/{talk.id}/{path}").text for path in paths)


def test_e1_a_whisper_reaches_the_customers_side_at_no_door(stack: Stack) -> None:
    talk, alice = stack.talk().greeted(), stack.supervisor()
    talk.post(alice, "guidance", text="Zqwhisper").must()
    assert "Zqwhisper" in read_by(alice, talk)
    assert "Zqwhisper" not in read_by(stack.caller, talk)


def test_e1_the_summary_of_a_hand_back_reaches_the_customers_side_at_no_door(stack: Stack) -> None:
    talk, alice = stack.talk().greeted(), stack.supervisor()
    talk.post(alice, "takeover", reason="to help").must()
    talk.post(alice, "handback", summary="Zqsummary").must()
    assert "Zqsummary" in read_by(alice, talk)
    assert "Zqsummary" not in read_by(stack.caller, talk)


def test_e1_a_whisper_reaches_the_customers_side_neither_in_a_fork_nor_after_a_rollback(stack: Stack) -> None:
    talk, alice = stack.talk().greeted(), stack.supervisor()
    before = talk.seq
    talk.post(alice, "guidance", text="Zqwhisper").must()
    fork = talk.fork(alice)
    talk.roll_back(alice, before - 1)
    for each in (fork, talk):
        assert "Zqwhisper" in read_by(alice, each)
        assert "Zqwhisper" not in read_by(stack.caller, each)


def test_e2_a_private_value_of_the_state_is_shown_to_nobody_without_unmask(stack: Stack) -> None:
    talk, alice = stack.talk(agent="bank").greeted(), stack.supervisor()
    talk.write(alice, verification={"method": "question", "passed": True, "answer": "Zqanswer"}).must()
    assert "Zqanswer" in read_by(alice, talk)
    viewer = stack.people("retail:viewer")
    for person in (viewer, stack.caller):
        assert "Zqanswer" not in read_by(person, talk)
    assert "Zqanswer" not in stack.browser(viewer).page(f"sessions/{talk.id}/audit/")


def test_e2_a_private_value_of_a_data_message_is_hidden_where_only_an_earlier_message_says_so(stack: Stack) -> None:
    talk, alice = stack.talk().greeted(), stack.supervisor()
    talk.post(alice, "data", type="data", kind="notes", schema=NOTES, data={"pin": "Zqfirst"}).must()
    talk.post(alice, "data", type="data", kind="notes", data={"pin": "Zqlater"}).must()
    assert "Zqlater" in read_by(alice, talk)
    told = read_by(stack.people("retail:viewer"), talk)
    assert "Zqfirst" not in told
    assert "Zqlater" not in told


def test_e2_a_private_value_is_shown_neither_in_a_fork_nor_after_a_rollback(stack: Stack) -> None:
    talk, alice = stack.talk(agent="bank").greeted(), stack.supervisor()
    talk.write(alice, verification={"method": "question", "passed": True, "answer": "Zqanswer"}).must()
    fork = talk.fork(alice)
    there = talk.seq - 1
    talk.write(alice, verification={"method": "question", "passed": True, "answer": "Zqsecond"}).must()
    talk.roll_back(alice, there)
    for each in (fork, talk):
        assert "Zqanswer" in read_by(alice, each)
        told = read_by(stack.people("retail:viewer"), each) + read_by(stack.caller, each)
        assert "Zqanswer" not in told
        assert "Zqsecond" not in told


def test_e9_the_account_of_a_new_payee_is_short_in_lists_and_whole_on_its_card(stack: Stack) -> None:
    talk, alice = stack.talk().greeted(), stack.supervisor()
    talk.wants(talk.to_stranger(300))
    request, number = talk.one_pending(), talk.customer["stranger"]
    listed = next(each for each in alice.get("/requests").must()["requests"] if each["id"] == request.id)
    assert number not in str(listed)
    assert number in str(request.view)
    console = stack.browser(alice)
    assert number not in console.page(f"sessions/{talk.id}/audit/")
    assert number in console.page(f"decisions/{request.id}/")


def test_e9_a_number_in_the_customers_words_is_short_on_the_live_board_and_in_lists(stack: Stack) -> None:
    talk = stack.talk()
    talk.say("Please note my account GB29NWBK60161331926819, or 7799001122").must()
    viewer = stack.people("retail:viewer")
    console = stack.browser(viewer)
    told = console.page("live/") + console.page("sessions/") + console.page(f"sessions/{talk.id}/audit/")
    told += viewer.get("/sessions").text
    assert "NWBK60161331926819" not in told
    assert "7799001122" not in told
    assert "7799001122" in viewer.get(f"/sessions/{talk.id}/entries").text


def test_e9_a_waiting_transfer_shows_no_whole_number_in_queue_alerts_or_plans(stack: Stack) -> None:
    talk, viewer = stack.talk().greeted(), stack.people("retail:viewer")
    talk.wants(talk.to_stranger(300))
    talk.one_pending()
    console, number = stack.browser(viewer), talk.customer["stranger"]
    for page in ("decisions/", "live/", "alerts/"):
        assert number not in console.page(page), page
    for path in ("/requests?limit=500", "/alerts?limit=500", "/sessions?limit=500"):
        assert number not in viewer.get(path).text, path


def spoke(stack: Stack) -> Talk:
    """A session in which the customer said a marked word."""
    talk = stack.talk()
    talk.say("Zqwords").must()
    return talk


def masked_proofs(stack: Stack, talk: Talk, path: str) -> list[Answer]:
    """This proof as a viewer, the caller and a supervisor get it. The marked word is in none of them."""
    people = (stack.people("retail:viewer"), stack.caller, stack.supervisor())
    answers = [person.get(f"/sessions/{talk.id}/proofs/{path}") for person in people]
    for answer in answers:
        answer.must()
        assert "Zqwords" not in answer.text, path
    return answers


def test_e11_a_proof_hands_out_no_key_of_what_is_masked(stack: Stack) -> None:
    talk = spoke(stack)
    for answer in masked_proofs(stack, talk, "complete"):
        said = [each for each in answer.body["entries"] if '"kind":"message.added"' in each["envelope"]]
        assert said
        assert not [each for each in said if "okm" in each["shown"]]


def test_e11_a_proof_is_opened_by_nobody_without_export_and_unmask(stack: Stack) -> None:
    talk = spoke(stack)
    here = f"/sessions/{talk.id}/proofs"
    asked = (
        f"{here}/complete?content=full",
        f"{here}/range?first=0&last=1&content=full",
        f"{here}/entries/1?fields=/text",
    )
    for person in (stack.people("retail:viewer"), stack.caller, stack.people("retail:program")):
        assert [person.get(path).code for path in asked] == ["permission_denied"] * 3
    assert "Zqwords" in stack.supervisor().get(asked[0]).text


def test_e11_the_proof_of_a_part_hands_out_no_key_either(stack: Stack) -> None:
    talk = spoke(stack)
    last = talk.seq - 1
    (said,) = [each["seq"] for each in talk.entries("message.added") if "Zqwords" in str(each["data"])]
    for path in (f"range?first=0&last={last}", f"range?first={said}&last={said}", f"entries/{said}"):
        for answer in masked_proofs(stack, talk, path):
            assert '"okm"' not in answer.text.replace(" ", "") or path.startswith("range?first=0"), path


@contextmanager
def as_role(stack: Stack, role: str) -> Iterator[psycopg.Connection]:
    """A transaction of a database role, beside the installation."""
    found = endpoints({"AGENTSTATE_STATE_DIR": str(stack.state)}, ROOT)
    with psycopg.connect(found.dsn(role or found.superuser, found.database)) as connection:
        yield connection


def erases(stack: Stack, *talks: Talk) -> None:
    """The erasures of these customers, asked for and approved."""
    petra, paul = stack.people("retail:privacy"), stack.people("retail:privacy")
    for talk in talks:
        asked = petra.post("/erasures", customer=talk.customer["id"], basis="objection", reason="by letter").must()
        paul.post(f"/erasures/{asked['id']}", state="approved").must()


def is_erased(stack: Stack, talk: Talk) -> bool:
    return stack.watcher.get(f"/sessions/{talk.id}/entries").code == "erased" or '"data":null' in (
        stack.watcher.get(f"/sessions/{talk.id}/entries").text
    )


@contextmanager
def held_up(stack: Stack, lock: str) -> Iterator[Talk]:
    """While inside, a superuser holds this lock of one customer, and another is erased. In the end both are."""
    held, free = stack.talk().greeted(), stack.talk().greeted()
    with as_role(stack, "") as holder:
        holder.execute(lock, [held.id])
        erases(stack, held, free)
        eventually(lambda: is_erased(stack, free), "the other customer is erased")
        yield held
    eventually(lambda: is_erased(stack, held), "the first customer is erased")


@pytest.mark.alone
def test_e12_an_erasure_whose_rows_are_locked_holds_up_no_other(stack: Stack) -> None:
    with held_up(stack, "SELECT 1 FROM audit_head WHERE log = %s FOR UPDATE") as held:
        assert not is_erased(stack, held)


@pytest.mark.alone
def test_e12_an_erasure_whose_session_row_is_locked_holds_up_no_other(stack: Stack) -> None:
    with held_up(stack, "SELECT 1 FROM agent_sessions_agentsession WHERE id = %s FOR UPDATE"):
        pass


@pytest.mark.alone
def test_e12_a_transaction_of_the_role_owner_that_may_append_is_waited_for(stack: Stack) -> None:
    talk, other = stack.talk().greeted(), stack.talk().greeted()
    with as_role(stack, "owner") as writer:
        writer.execute("LOCK TABLE audit_entry IN ROW EXCLUSIVE MODE")
        erases(stack, talk)
        other.say("still there?").must()
        with pytest.raises(AssertionError):
            eventually(lambda: is_erased(stack, talk), "it waits", seconds=12)
    eventually(lambda: is_erased(stack, talk), "the customer is erased")
