"""Attacks on how rules read values: sums of a day and patterns. The model proposes; the engine alone answers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine import schemas
from agentstate.engine.decide.schema import judge_of
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.state.session import pending
from agentstate.errors import Invalid
from demo.bank_agent import tools as bank  # noqa: F401  (registers the tools of the bank)
from sessions.tools import registry as tools
from sessions.tools.http import calls as running
from sessions.tools.http import description
from tests.core import worlds

REFUND = pol.Rule("refund.any", ("refund",), "true", 1, "allow", "Any refund.")
DAY = pol.Rule(
    "refund.day",
    ("refund",),
    "'refund' in history.today.moved && history.today.moved.refund.USD + 1 > 20000",
    3,
    "approve",
    "More than $200 a day.",
)


def refund(amount: Any, **more: Any) -> ev.CallProposed:
    number = repr((amount, sorted(more.items())))
    return ev.CallProposed(f"call-{number}", "refund", {"amount": amount, **more} if amount else more, None)


def refunded(*calls: ev.CallProposed, amounts: tuple[str, ...] | None = ("amount",)) -> CallStatus:
    """How the last of these calls is judged. Those before it have begun, also where a person had to approve them."""
    world = worlds.opened().with_rules(REFUND, DAY)
    world = worlds.replace(world, tools={"refund": worlds.facts("refund", "once", amounts=amounts)})
    for call in calls:
        world = world.asked(call)
        if call is not calls[-1]:
            if list(world.state.calls.values())[-1].status is CallStatus.WAITING:
                world = world.after(worlds.decision(world, "approve", "sue"))
            world = world.ran_last({})
    return list(world.state.calls.values())[-1].status


def usd(minor: Any, currency: Any = "USD") -> dict[str, Any]:
    return {"minor": minor, "currency": currency}


def test_r13_what_was_moved_is_not_taken_off_by_a_negative_amount():
    assert refunded(refund(usd(19_000)), refund(usd(900))) is CallStatus.READY
    assert refunded(refund(usd(19_900)), refund(usd(-19_900)), refund(usd(50))) is CallStatus.WAITING


@pytest.mark.parametrize("currency", ["usd", " USD", "Usd\n"])
def test_r13_another_spelling_of_a_currency_has_no_sum_of_its_own(currency: str):
    assert refunded(refund(usd(19_999, currency)), refund(usd(1))) is CallStatus.READY
    assert refunded(refund(usd(20_000, currency)), refund(usd(1))) is CallStatus.WAITING


@pytest.mark.parametrize(
    "hidden",
    [
        refund(usd(5, "QQQ")),
        refund([usd(5)]),
        refund(None, amount_minor=5, currency="USD"),
        refund(usd(5), more={"deep": [usd(90_000)]}),
        refund(usd("5")),
    ],
)
def test_r13_an_amount_that_cannot_be_read_asks_now_and_later_that_day(hidden: ev.CallProposed):
    assert refunded(hidden) is CallStatus.WAITING
    assert refunded(refund(usd(1)), hidden, refund(usd(2))) is CallStatus.WAITING


def test_r13_a_tool_that_declares_no_amounts_has_no_sum_that_a_rule_could_read():
    assert refunded(refund(usd(1)), amounts=None) is CallStatus.WAITING


PAY = pol.Rule("pay.any", ("pay",), "true", 1, "allow", "Any payment.")
FORM = {
    "type": "object",
    "properties": {
        "fraud": {"type": "object", "properties": {"level": {"enum": ["low", "high"]}}},
        "flags": {"type": "array", "items": {"type": "string"}},
        "limit": {"type": "integer"},
    },
}


def judged(when: str, state: dict[str, Any], form: dict[str, Any] | None = None, **rule: Any) -> tuple[str, int]:
    """Gate and tier of a payment under a rule that reads this state, whose schema may be declared."""
    asks = pol.Rule("pay.read", ("pay",), when, **{"tier": 2, "gate": "approve", "why": "Read.", **rule})
    rules = (PAY, asks) if asks.gate == "approve" else (asks,)
    values = {"state": state, "arguments": {"to": "bob"}}
    judge = judge_of(schemas.declare("desk", 1, form) if form else None, None, values)
    verdict = pol.evaluate(pol.Policy("p", 1, rules), "pay", "once", values, judge)
    return verdict.gate, verdict.tier


ERROR = {"error": "the service is away"}


@pytest.mark.parametrize("form", [None, FORM])
@pytest.mark.parametrize(
    ("when", "honest", "odd"),
    [
        ("state.fraud.level == 'high'", {"fraud": {"level": "low"}}, {"fraud": {"level": ERROR}}),
        ("state.fraud.level == 'high'", {"fraud": {"level": "low"}}, {"fraud": ERROR}),
        ("'high' in state.flags", {"flags": ["low"]}, {"flags": ERROR}),
        ("state.flags.exists(f, f == 'high')", {"flags": ["low"]}, {"flags": {"high": True}}),
        ("state.limit == 3", {"limit": 4}, {"limit": "3"}),
    ],
)
def test_r11_a_value_of_another_type_asks_with_and_without_a_schema(
    form: dict[str, Any] | None, when: str, honest: dict[str, Any], odd: dict[str, Any]
):
    assert judged(when, honest, form) == ("allow", 1)
    assert judged(when, odd, form) == ("approve", 3)


@pytest.mark.parametrize(
    ("when", "honest", "odd"),
    [
        ("state.fraud.level != 'high'", {"fraud": {"level": "low"}}, {"fraud": {"level": 3}}),
        ("!('high' in state.flags)", {"flags": ["low"]}, {"flags": {"high": 1}}),
        ("state.flags.all(f, f != 'high')", {"flags": ["low"]}, {"flags": ERROR}),
    ],
)
def test_r11_a_rule_that_allows_does_not_allow_on_a_value_of_another_type(
    when: str, honest: dict[str, Any], odd: dict[str, Any]
):
    for form in (None, FORM):
        assert judged(when, honest, form, gate="allow", tier=1) == ("allow", 1)
        assert judged(when, odd, form, gate="allow", tier=1) == ("approve", 3)


def test_r11_a_declared_value_outside_of_its_enumeration_asks_although_it_is_text():
    when = "state.fraud.level == 'high'"
    assert judged(when, {"fraud": {"level": "HIGH"}}, FORM) == ("approve", 3)
    assert judged("size(state.flags) > 2", {"flags": "ab"}, FORM) == ("approve", 3)


def test_r11_a_failed_call_that_wrote_over_the_flags_does_not_let_the_next_one_pass():
    asks = pol.Rule("flagged", ("post_letter",), "'fraud' in state.flags", 3, "approve", "Flagged.")
    free = pol.Rule("post.any", ("post_letter",), "true", 1, "allow", "Any letter.")
    world = worlds.opened().with_rules(free, asks)
    letter = ev.CallProposed("letter", "post_letter", {"to": "bob"}, None)
    for flags, status in ((["fraud"], "waiting"), (["vip"], "ready"), (ERROR, "waiting"), ({"x": 1}, "waiting")):
        held = worlds.replace(world, state=msgspec.structs.replace(world.state, pad={"flags": flags})).asked(letter)
        assert list(held.state.calls.values())[-1].status.value == status, flags


def wanted(minor: int, **more: Any) -> ev.CallProposed:
    return ev.CallProposed("call", "transfer", {"amount": usd(minor), "to_account": "1000000002", **more}, None)


ASKS = pol.Rule("asks", ("*",), "true", 2, "approve", "A person decides.")


def test_r14_one_cent_more_after_each_rejection_asks_three_times_at_most():
    world, asked = worlds.opened().with_rules(ASKS), 0
    for cent in range(49):
        world = world.after(core.Say("customer", "Again.", "customer"))
        world = world.asked(wanted(600_00 + cent, new_payee=bool(cent % 2)))
        if pending(world.state):
            asked += 1
            world = world.after(worlds.decision(world, "reject", "sue", reason="no"))
        else:
            world = world.after(core.Ask("rests", "model", 0, 0, (), "digest"))
    assert asked == 3
    assert {each.code for each in world.events(ev.RunStopped)} == {"refusals"}


def test_r14_many_calls_of_one_answer_do_not_wait_at_once_after_a_rejection():
    world = worlds.opened().with_rules(ASKS).asked(wanted(600_00))
    world = world.after(worlds.decision(world, "reject", "sue", reason="no"))
    world = world.asked(*(wanted(600_01 + cent) for cent in range(16)))
    assert len(pending(world.state)) == 1


def test_r14_requests_that_wait_at_once_are_bounded_before_any_rejection():
    world = worlds.opened().with_rules(ASKS)
    for turn in range(5):
        world = world.asked(*(wanted(600_00 + 16 * turn + cent) for cent in range(16)))
    assert len(pending(world.state)) == 10


def transfer(**more: Any) -> dict[str, Any]:
    return {"from_account": "1000000001", "to_account": "1000000002", "amount": usd(5), **more}


def found(name: str) -> tools.Tool:
    tool = tools.find(name)
    assert tool is not None
    return tool


def test_r20_a_newline_behind_an_account_number_is_refused():
    found("transfer").check(transfer())
    with pytest.raises(Invalid, match="pattern"):
        found("transfer").check(transfer(to_account="1000000002\n"))


@pytest.mark.parametrize(
    "customer", ["C-1042\n", "C-1042\n\n", "C-1042\r", "C-1042\u2028", "C-\u0661\u0660\u0664\u0662"]
)
def test_r20_line_ends_and_other_scripts_digits_are_refused_in_a_customers_number(customer: str):
    found("load_customer").check({"customer": "C-1042"})
    with pytest.raises(Invalid, match="pattern"):
        found("load_customer").check({"customer": customer})


def test_r20_a_tool_over_http_and_a_state_refuse_what_the_banks_tool_refuses():
    number = {"type": "string", "pattern": r"^\d{10}$"}
    form = {"type": "object", "properties": {"to": number}, "required": ["to"], "additionalProperties": False}
    told = {
        "name": "pay",
        "version": 1,
        "description": "Pay.",
        "effect": "once",
        "arguments": form,
        "result": {"type": "object"},
        "request": {"method": "POST", "url": "https://pay.example/v1"},
    }
    over_http = running.tool_of(description.load(schemas.compiled.encode(told)))
    for value in ("1000000002\n", "\u0661" * 10):
        with pytest.raises(Invalid, match="pattern"):
            over_http.check({"to": value})
        with pytest.raises(Invalid, match="pattern"):
            schemas.validate(number, value)
    over_http.check({"to": "1000000002"})
    schemas.validate(number, "1000000002")


def test_r20_a_rule_that_matches_a_pattern_is_not_met_by_a_value_with_a_newline():
    known = pol.Rule("pay.known", ("pay",), "arguments.to.matches('^[0-9]{10}$')", 1, "allow", "A number.")
    policy = pol.Policy("p", 1, (known,))
    judged = [
        pol.evaluate(policy, "pay", "once", {"arguments": {"to": value}}).gate
        for value in ("1000000002", "1000000002\n", "\u0661" * 10)
    ]
    assert judged == ["allow", "approve", "approve"]
