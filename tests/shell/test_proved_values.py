"""Values of a state, proven to others: by people over the API, and by agents at the demo bank."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from agentstate.engine.decide import offers
from agentstate.engine.merge.three_way import PathChange
from audit import keys, ledger, signer, verify
from audit.erasure import State
from sessions.agents.registry import Agent, register
from sessions.core import states
from sessions.plans import commands as plans_commands
from sessions.privacy import commands as erasures
from sessions.privacy import erasure as erasing
from sessions.state import commands as state_commands
from sessions.state import queries as state_queries
from sessions.tools import registry as tools
from sessions.tools.registry import ToolContext
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import CUSTOMER, events, kinds, opened, state, work
from tests.shell.side_by_side_world import model

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
TOOLS = ("load_customer", "prove", "verify_proof")
register(Agent("front desk", "Vouch for what you know.", TOOLS, "bank", {}, script=model, offers=offers.PLANNING))
register(Agent("back office", "Believe only what is proven.", TOOLS, "bank", {}, script=model, offers=offers.PLANNING))


def erase() -> None:
    """Erase the customer of these tests, to the end."""
    asked = erasures.ask_erasure(cast.petra(), basis="objection", reason="by letter", customer=CUSTOMER)
    erasures.rule_erasure(cast.paul(), asked.pk, State.APPROVED)
    erasing.carry_out(asked.pk)
    keys.forget_all()
    states.forget_all()


def changed(session: UUID, path: str, value: Any) -> None:
    seen = state_queries.state_line(cast.alice(), session).seq
    state_commands.change_state(cast.alice(), session, seen=seen, changes=[PathChange(path, value)])


def held(value: Any = 120000) -> UUID:
    session = opened(agent="front desk")
    changed(session, "state.limit", value)
    return session


def prove(session: UUID, path: str = "state.limit", who: Any = None, **more: Any) -> Any:
    return Api(who or cast.alice()).post(f"/sessions/{session}/proofs/values", {"path": path, **more})


def check(data: bytes, **demand: Any) -> verify.Verdict:
    return verify.verify_proof(data, signer.vkey(), demand=verify.Demand(**demand))


@pytest.mark.parametrize("value", [120000, "a card", {"a": {"b": [1, None]}}, [], True, None])
def test_a_value_becomes_an_entry_and_its_proof_shows_it(value):
    session = held(value)
    before = ledger.read_head(session).size
    answer = prove(session)
    assert answer.status_code == 201
    verdict = check(answer.content, session=str(session))
    assert verdict.ok, verdict.failures
    said = verdict.proof["value"]
    assert (said["path"], said["value"], said["state"]) == ("state.limit", value, before)
    assert ledger.parse_envelope(next(ledger.read_rows(session, said["written"])).envelope).kind == "state.changed"
    assert kinds(session).count("value.proved") == 1


def test_a_proof_of_an_older_state_says_what_held_then():
    session = held(1)
    then = ledger.read_head(session).size
    changed(session, "state.limit", 2)
    assert check(prove(session, of=then).content).proof["value"]["value"] == 1
    assert check(prove(session).content).proof["value"]["value"] == 2
    problem(prove(session, of=9999), 404, "no_such_point")


def test_the_same_key_gives_the_same_proof_again():
    session = held()
    first, again = prove(session, idempotency_key="k"), prove(session, idempotency_key="k")
    assert again["Idempotency-Replayed"] == "true"
    assert again["AgentState-Receipt"] == first["AgentState-Receipt"]
    assert json.loads(again.content)["entry"] == json.loads(first.content)["entry"]
    assert kinds(session).count("value.proved") == 1


def test_what_is_not_there_is_refused_by_name():
    session = held()
    problem(prove(session, "state.nothing"), 404, "no_such_value")
    problem(prove(session, "state.limit.deeper"), 404, "no_such_value")
    problem(prove(session, "limit"), 400, "bad_path")
    problem(prove(session, "state." + "x" * 399), 400)
    assert kinds(session).count("value.proved") == 0


def test_a_private_value_is_proven_to_nobody():
    session = opened()
    changed(session, "state.verification", {"method": "question", "passed": True, "answer": "Rex"})
    for path in ("state.verification", "state.verification.answer"):
        problem(prove(session, path), 403, "private_value")
    assert kinds(session).count("value.proved") == 0


def test_of_an_erased_customer_nothing_is_proven_any_more():
    session = held()
    data = prove(session).content
    erase()
    problem(prove(session), 410, "erased")
    assert check(data).ok


def test_who_may_only_read_cannot_write_a_proof():
    session = held()
    problem(prove(session, who=cast.vera()), 403, "permission_denied")
    problem(prove(session, who=cast.charlie()), 404, "unknown_session")
    assert check(prove(session, who=cast.cleo()).content).ok


def test_proving_changes_nothing_of_the_state():
    session = held()
    before = state(session).pad
    prove(session)
    assert state(session).pad == before
    assert rebuild.check(session) == []


def planned(agent: str, *calls: dict[str, Any]) -> UUID:
    """A session to which these calls were handed, each in a plan of its own."""
    model.answers = []
    session = opened(agent=agent)
    for call in calls:
        plans_commands.propose_plan(cast.alice(), session, calls=[call])
        work()
    return session


FRONT = (
    {"_tool": "load_customer", "customer": "C-1001", "_outputPath": "state.customer"},
    {"_tool": "prove", "path": "state.customer", "_outputPath": "state.vouched"},
)


@pytest.fixture
def attached(bank) -> tuple[UUID, dict[str, Any]]:
    """What the agent at the front desk attaches: the proof of what it has read of the customer."""
    session = planned("front desk", *FRONT)
    return session, json.loads(json.dumps(state(session).pad["vouched"]["proof"], default=str))


def received(proof: Any, front: UUID, **more: Any) -> UUID:
    return planned(
        "back office",
        {"_tool": "verify_proof", "proof": proof, "session": str(front), "_outputPath": "state.known", **more},
    )


def test_one_agent_attaches_a_proof_and_another_believes_it(attached):
    front, proof = attached
    known = state(received(proof, front, path="state.customer")).pad["known"]
    assert known["value"] == state(front).pad["customer"]
    assert (known["session"], known["path"]) == (str(front), "state.customer")


def test_another_agent_refuses_a_forged_proof(attached):
    front, proof = attached
    name = state(front).pad["customer"]["name"]
    forged = json.loads(json.dumps(proof).replace(name, "Mallory"))
    assert forged != proof
    back = received(forged, front)
    assert "known" not in state(back).pad
    assert "does not hold" in json.dumps(events(back, "tool.failed")[-1])


def test_another_agent_refuses_a_proof_of_another_session_or_place(attached):
    front, proof = attached
    elsewhere = held()
    for back in (received(proof, elsewhere), received(proof, front, path="state.balance")):
        assert "known" not in state(back).pad


def test_an_agent_proves_again_under_the_same_key_with_the_same_entry(attached):
    front, _ = attached
    context = ToolContext(str(front), "c9", "c9.0", "C-1001", 1)
    first = tools.find("prove").run({"path": "state.customer"}, context)
    again = tools.find("prove").run({"path": "state.customer"}, context)
    assert first["proof"]["entry"] == again["proof"]["entry"]


def test_a_numbers_text_survives_the_proof():
    session = held(Decimal("1.10"))
    verdict = check(prove(session).content)
    assert verdict.proof["value"]["value"] == "1.10"
    assert states.load(session).state.pad["limit"] == Decimal("1.10")
