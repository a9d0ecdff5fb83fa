"""What a profile changes in an agent's behaviour: by the declared mapping, within bounds, stricter and never laxer."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine import policy, profile
from agentstate.engine.profile import Tightening, tightened
from agentstate.engine.profile import commands as ask
from agentstate.engine.profile.declared import BadDeclaration
from tests.claims import ROOT
from tests.core.profile_world import BANK, Customer
from tests.searching import drawn

POLICY = policy.load_superseded((ROOT / "demo/bank_agent/library/policies/bank/1.json").read_bytes())
LIMIT = {"minor": 20_000, "currency": "USD"}


def transfer(minor: object, new_payee: bool = False, currency: str = "USD") -> dict[str, object]:
    """What policy reads of a call that was authorized."""
    to_account = "9999999999" if new_payee else "1000000002"
    arguments = {"amount": {"minor": minor, "currency": currency}, "new_payee": new_payee, "to_account": to_account}
    state = {"authorization": {"allowed": True}, "customer": {"accounts": [{"id": "1000000002"}]}}
    return {"arguments": arguments, "state": state, "history": {"refusals": 0}}


def judged(customer: Customer, values: dict[str, object]) -> policy.Verdict:
    verdict = policy.evaluate(POLICY, "transfer", "idempotent", values)
    return tightened(verdict, customer.adapted().tightenings, "transfer", values)


def test_brief_answers_change_instructions_and_a_parameter_by_name():
    adapted = Customer().agrees().says("That is too long.").adapted()
    assert adapted.mappings == ("answers.brief",)
    assert adapted.instructions == ("This customer likes brief answers: one or two short sentences.",)
    assert adapted.parameters == {"max_output_tokens": 400}
    assert adapted.view == {"preferences": {"answers": {"value": "brief", "from": "learned"}}}


def test_a_value_stands_in_the_instruction_that_names_it():
    (line,) = Customer().agrees().pays(3).adapted().instructions
    assert "A-1001-S" in line


def test_the_view_is_for_the_purposes_asked_for_only():
    customer = Customer().agrees().agrees("analytics").pays(3)
    customer.does(ask.Prefer("own_limit", LIMIT, "customer"))
    service = profile.user_view(customer.state, BANK, ["service"], customer.now)
    assert set(service["preferences"]) == {"own_limit"}
    assert set(service["history"]) == {"transfers"}
    assert len(service["history"]["transfers"]) == 3
    assert profile.user_view(customer.state, BANK, ["analytics"], customer.now) == {}
    assert profile.user_view(Customer().state, BANK, BANK.uses, customer.now) == {}


def test_a_customers_own_limit_stops_a_transfer_that_policy_would_let_through():
    customer = Customer()
    assert judged(customer, transfer(30_000)).gate == "allow"
    customer.does(ask.Prefer("own_limit", LIMIT, "customer"))
    verdict = judged(customer, transfer(30_000))
    assert (verdict.gate, verdict.tier, verdict.rule) == ("approve", 2, "profile.limit.own")
    assert verdict.adapted == ("limit.own",)
    assert judged(customer, transfer(20_000)) == judged(Customer(), transfer(20_000))


def test_a_limit_that_cannot_be_compared_asks_a_person():
    customer = Customer()
    customer.does(ask.Prefer("own_limit", LIMIT, "customer"))
    for values in (transfer("lots"), transfer(True), transfer(5, currency="EUR"), {"arguments": {}}):
        assert "limit.own" in judged(customer, values).adapted


def test_a_limit_above_policy_weakens_nothing():
    customer = Customer()
    customer.does(ask.Prefer("own_limit", {"minor": 9_000_000, "currency": "USD"}, "customer"))
    verdict = judged(customer, transfer(300_000))
    assert (verdict.tier, verdict.rule, verdict.adapted) == (3, "transfer.high", ())


def test_a_careful_customer_has_two_colleagues_look_at_a_new_payee():
    customer = Customer()
    customer.does(ask.Prefer("careful_with_payees", True, "customer"))
    verdict = judged(customer, transfer(1_000, new_payee=True))
    assert (verdict.tier, verdict.quorum, verdict.adapted) == (3, 2, ("payees.careful",))
    assert judged(customer, transfer(1_000)).adapted == ()
    unmarked = {
        name: value for name, value in transfer(1_000, new_payee=True)["arguments"].items() if name != "new_payee"
    }
    for less in ({"arguments": unmarked}, {"state": {"authorization": {"allowed": True}}}):
        assert judged(customer, {**transfer(1_000), **less}).adapted == ("payees.careful",)
    customer.does(ask.Prefer("careful_with_payees", False, "customer"))
    assert customer.adapted().tightenings == ()


def test_the_same_behaviour_has_the_same_digest():
    customer = Customer().agrees().says("Shorter!")
    before = customer.adapted()
    customer.says("Shorter!")
    assert customer.adapted().profile > before.profile
    assert customer.adapted().digest == before.digest
    customer.does(ask.Prefer("answers", "full", "customer"))
    assert customer.adapted().digest != before.digest


tightenings = st.builds(
    Tightening,
    name=st.just("own"),
    tools=st.sampled_from([("transfer",), ("other",)]),
    tier=st.integers(1, 3),
    quorum=st.integers(1, 3),
    why=st.just("because"),
    when=st.sampled_from(["true", "arguments.new_payee", "arguments.nothing == 1"]),
    path=st.sampled_from(["", "arguments.amount", "arguments.amount.minor", "arguments.lost"]),
    above=st.integers(-5, 600_000),
    currency=st.sampled_from(["", "USD", "EUR"]),
)


@settings(max_examples=drawn(300))
@given(
    st.lists(tightenings, max_size=4),
    st.integers(0, 500_000),
    st.booleans(),
    st.sampled_from(["transfer", "other", "load_customer"]),
    st.sampled_from(["pure", "idempotent", "once"]),
)
def test_no_preference_makes_policy_laxer(given_tightenings, minor, new_payee, tool, effect):
    values = transfer(minor, new_payee)
    before = policy.evaluate(POLICY, tool, effect, values)
    after = tightened(before, given_tightenings, tool, values)
    assert (after.gate == "approve") >= (before.gate == "approve")
    assert after.tier >= before.tier
    assert after.quorum >= before.quorum
    assert set(before.evidence) <= set(after.evidence)
    assert after.expires_in <= before.expires_in
    assert after.adapted or after == before


def changed(**parts: object) -> bytes:
    return msgspec.json.encode({**msgspec.to_builtins(BANK), **parts})


def mapping(**parts: object) -> bytes:
    return changed(mappings=[{"name": "one", "preference": "answers", **parts}])


OPEN = "has(arguments.new_payee) && arguments.new_payee"
WORDS = {"name": "nickname", "words": "", "value": {"is": "words"}, "purpose": "service"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "truncated"),
        (b"[" * 100_000, "recursion|depth|Expected"),
        (changed(uses=["marketing"]), "marketing"),
        (changed(preferences=[WORDS, WORDS]), "two preferences"),
        (mapping(preference="seat"), "seat"),
        (mapping(equals="endless"), "endless"),
        (mapping(parameters={"temperature": 1}), "temperature"),
        (mapping(parameters={"max_output_tokens": 99_999}), "bounds"),
        (mapping(threshold={"tools": ["transfer"], "why": "w"}), "yes or no"),
        (mapping(threshold={"tools": ["transfer"], "why": "w", "path": "arguments.amount"}), "number"),
        (mapping(threshold={"tools": ["transfer"], "why": "w", "gate": "allow"}), "gate"),
        (mapping(threshold={"tools": ["transfer"], "why": "w", "when": "import os"}), "does not compile"),
        (mapping(threshold={"tools": ["transfer"], "why": "w", "when": OPEN}), "turns the rule off"),
        (
            changed(preferences=[WORDS], learning=[], mappings=[
                {"name": "one", "preference": "nickname", "instructions": "Call them {value}."}
            ]),
            "own words",
        ),
        (changed(learning=[{"name": "one", "on": "x", "preference": "answers", "why": "", "value": 7}]), "no value"),
        (changed(learning=[{"name": "one", "on": "x", "preference": "answers", "why": ""}]), "either"),
        (changed(learning=[{"name": "one", "on": "x", "preference": "answers", "why": "", "path": "pad.a"}]), "begin"),
        (changed(noting=[{"name": "one", "on": "x", "history": "transfers", "take": {"a": "pad.a"}}]), "begin"),
        (changed(noting=[{"name": "one", "on": "x", "history": "loans", "take": {"a": "event.a"}}]), "loans"),
    ],
)  # fmt: skip
def test_a_declaration_that_cannot_be_is_refused_by_name(data, said):
    with pytest.raises(BadDeclaration, match=said):
        profile.load(data)
