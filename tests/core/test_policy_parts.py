"""The parts of a policy one by one: the exact refusal of each unsound rule, the bounds to their last value, what a
verdict offers for later calls, what a standing approval covers, and what a day has moved.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentstate.engine import policy as pol
from agentstate.engine.instants import stamp
from agentstate.engine.policy.edits import Editable
from agentstate.engine.policy.granted import Asked, Grant, covers, holds_at, let_through, may_be_granted
from agentstate.engine.policy.requirements import Requirements
from agentstate.engine.policy.rules import MAX_BYTES, MAX_RULES, MAX_SECONDS, MAX_TEXT, MAX_USES
from agentstate.engine.policy.tally import (
    MAX_CURRENCIES,
    MAX_TOOLS,
    Tally,
    added,
    amounts_before,
    amounts_of,
    counted,
    later,
    readable,
    without,
)
from agentstate.engine.policy.terms import Escalation, Sticky, argument_at, is_known_at, may_review, reviewers_at
from agentstate.engine.policy.verdict import Verdict, joined

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
RULE: dict[str, Any] = {"name": "r", "tools": ["t"], "when": "true", "tier": 1, "gate": "approve", "why": "w"}
STICKY = {"scope": "session", "seconds": 60, "uses": 1}
NAMES = "letters, digits, '_', '.' and '-', at most 100"


def document(*rules: dict[str, Any], name: str = "p", version: int = 1) -> bytes:
    return msgspec.json.encode({"name": name, "version": version, "rules": rules})


def refusal(**changes: Any) -> str:
    with pytest.raises(pol.BadPolicy) as refused:
        pol.load(document({**RULE, **changes}))
    return str(refused.value.detail)


UNSOUND: list[tuple[dict[str, Any], str]] = [
    ({"name": "a b"}, f"rule 'a b': a name is made of {NAMES}"),
    ({"tools": [""]}, "rule 'r': a tool has a name"),
    ({"tools": ["t", "x" * (MAX_TEXT + 1)]}, "rule 'r': a tool has a name"),
    ({"gate": "hold"}, "rule 'r': gate hold needs hold, in seconds"),
    (
        {"gate": "refuse"},
        "rule 'r': gate refuse is for 'say' alone; to keep an agent from a tool, do not give it the tool",
    ),
    (
        {"gate": "refuse", "tools": ["say"], "reasons": ["x"]},
        "rule 'r': gate refuse asks no person: what people do needs another gate",
    ),
    (
        {"quorum": 2, "sticky": STICKY},
        "rule 'r': what takes several people each time is not granted by one: sticky or quorum",
    ),
    *(
        (
            {**more, "sticky": STICKY},
            "rule 'r': what is typed or delayed each time is not granted for later calls: sticky, or retype and hold",
        )
        for more in ({"retype": ["arguments.n"]}, {"hold": 5})
    ),
    *(
        (
            {"gate": "allow", **more},
            "rule 'r': gate allow asks nobody: hold, reviewers, four_eyes, chain, sticky and edits need another gate",
        )
        for more in (
            {"hold": 5},
            {"four_eyes": True},
            {"reviewers": ["role:x"]},
            {"chain": [{"after": 5, "reviewers": ["role:x"]}]},
            {"sticky": STICKY},
            {"edits": [{"path": "arguments.n"}]},
        )
    ),
    ({"edits": [{"path": "amount"}]}, "rule 'r': edits 'amount': want a path like arguments.amount.minor"),
    ({"edits": [{"path": "arguments.n"}, {"path": "arguments.n"}]}, "rule 'r': edits name each path once"),
    ({"retype": ["amount"]}, "rule 'r': retype 'amount': want a path like arguments.amount.minor"),
    ({"reviewers": ["maya"]}, "rule 'r': reviewer 'maya': want role:<role>, team:<team> or user:<login>"),
    ({"reasons": ["a b"]}, f"rule 'r': a reason code is made of {NAMES}"),
    (
        {"chain": [{"after": 5, "reviewers": ["role:x"]}, {"after": 5, "reviewers": ["role:x"]}]},
        "rule 'r': the steps of a chain follow each other, before expires_in",
    ),
    *(
        (
            {"sticky": {**STICKY, **more}},
            f"rule 'r': a grant ends: seconds from 1 to {MAX_SECONDS}, uses from 1 to {MAX_USES}",
        )
        for more in ({"seconds": 0}, {"seconds": MAX_SECONDS + 1}, {"uses": 0}, {"uses": MAX_USES + 1})
    ),
]
SOUND: list[dict[str, Any]] = [
    {"retype": ["arguments.amount.minor"]},
    {"edits": [{"path": "arguments.n"}, {"path": "arguments.to", "only": "down"}]},
    {"tools": ["x" * MAX_TEXT]},
    {"gate": "hold", "hold": 1},
    {"chain": [{"after": 1, "reviewers": ["role:x"]}]},
    {"gate": "hold", "hold": 1, "sticky": STICKY},
    {"sticky": {**STICKY, "seconds": 1}},
    {"sticky": {**STICKY, "seconds": MAX_SECONDS, "uses": MAX_USES}},
    {"sticky": {**STICKY, "limit": "arguments.n <= granted.n"}},
]


@pytest.mark.parametrize(("changes", "text"), UNSOUND, ids=range(len(UNSOUND)))
def test_an_unsound_rule_is_refused_in_these_words(changes: dict[str, Any], text: str) -> None:
    assert refusal(**changes) == text


def test_a_rule_that_a_missing_value_turns_off_is_refused_by_its_name_and_question() -> None:
    question = "has(state.user)"
    texts = [
        refusal(gate="allow", when=f"{question} && arguments.n > 5"),
        refusal(sticky={**STICKY, "limit": f"{question} && arguments.n > 5"}),
    ]
    for text in texts:
        assert text.startswith(f"rule 'r': {question} turns the rule off where the value is missing: ")


@pytest.mark.parametrize("changes", SOUND, ids=range(len(SOUND)))
def test_what_is_just_within_its_bounds_is_taken(changes: dict[str, Any]) -> None:
    assert pol.load(document({**RULE, **changes})).rules[0].name == "r"


@pytest.mark.parametrize(("name", "version"), [("p", 0), ("a b", 1)])
def test_a_policy_has_a_name_and_a_version(name: str, version: int) -> None:
    with pytest.raises(pol.BadPolicy) as refused:
        pol.load(document(RULE, name=name, version=version))
    assert refused.value.detail == f"{name!r} version {version}: want a name and a version from 1"


def test_a_policy_may_be_as_large_as_said_and_no_larger() -> None:
    most = tuple({**RULE, "name": f"r{number}"} for number in range(MAX_RULES + 1))
    assert len(pol.load(document(*most[:-1])).rules) == MAX_RULES
    with pytest.raises(pol.BadPolicy, match=f"^.*{MAX_RULES + 1} rules, {MAX_RULES} allowed"):
        pol.load(document(*most))
    short = document(RULE)
    assert pol.load(short + b" " * (MAX_BYTES - len(short))).name == "p"
    with pytest.raises(pol.BadPolicy, match=f"{MAX_BYTES + 1} bytes, {MAX_BYTES} allowed"):
        pol.load(short + b" " * (MAX_BYTES - len(short) + 1))


MILD = Verdict("approve", 1, "mild", "p@1", "why", sticky=Sticky("agent", 90, 9))


@pytest.mark.parametrize(
    ("changes", "offers"),
    [
        ({}, True),
        ({"quorum": 2}, False),
        ({"retype": ("arguments.n",)}, False),
        ({"hold": 1}, False),
        ({"gate": "hold", "hold": 1}, True),
        ({"gate": "hold", "hold": 1, "quorum": 2}, False),
        ({"gate": "hold", "hold": 1, "retype": ("arguments.n",)}, False),
        ({"sticky": None}, False),
    ],
)
def test_what_each_call_must_meet_itself_is_not_offered_for_later_ones(changes: dict[str, Any], offers: bool) -> None:
    for both in ([replace(MILD, **changes), MILD], [MILD, replace(MILD, **changes)]):
        assert (joined(both).sticky is not None) is offers


ANY = (Editable("arguments.n"), Editable("arguments.to"))
WEAK = replace(MILD, edits=ANY, proposer_may_approve=True)
SEVERE = replace(WEAK, tier=3, rule="severe")  # names the verdict, whatever the other one asks
STRICTER: dict[str, Any] = {
    "quorum": 2,
    "expires_in": 60,
    "hold": 5,
    "four_eyes": True,
    "evidence": ("state.customer",),
    "reviewers": (("role:supervisor",),),
    "reasons": ("fraud",),
    "retype": ("arguments.n",),
    "chain": (Escalation(30, (("role:senior",),)),),
    "sticky": None,
    "edits": (Editable("arguments.n", "down"),),
    "proposer_may_approve": False,
}


@pytest.mark.parametrize("part", STRICTER)
def test_each_part_that_a_weaker_rule_asks_for_is_kept(part):
    """Joined with a rule of a higher tier that does not ask for it, in either order."""
    asks = replace(WEAK, **{part: STRICTER[part]})
    for both in ([asks, SEVERE], [SEVERE, asks]):
        whole = joined(both)
        assert (whole.rule, whole.tier, getattr(whole, part)) == ("severe", 3, STRICTER[part])


def test_every_part_of_a_verdict_is_tried():
    told = {"gate", "tier", "rule", "policy", "why", "adapted"}  # of the strictest, or of no rule
    assert set(STRICTER) == set(Verdict.__struct_fields__) - told


def test_the_narrowest_offer_of_all_with_each_limit_is_made() -> None:
    offers = [Sticky("customer", 60, 5, "a"), Sticky("agent", 90, 3, "b"), Sticky("session", 70, 9)]
    whole = joined([replace(MILD, sticky=each) for each in offers])
    assert whole.sticky == Sticky("session", 60, 3, "(a) && (b)")
    assert joined([replace(MILD, sticky=each) for each in offers[::2]]).sticky == Sticky("session", 60, 5, "a")


def test_a_chain_names_each_rules_own_people_at_each_of_its_steps_before_the_end() -> None:
    one = replace(MILD, reviewers=(("a",),), chain=(Escalation(10, (("b",),)), Escalation(40, (("c",),))))
    other = replace(MILD, reviewers=(("x",),), chain=(Escalation(20, (("y",),)),), expires_in=40)
    assert joined([one, other]).chain == (
        Escalation(10, (("b",), ("x",))),
        Escalation(20, (("b",), ("y",))),
    )


def test_only_those_that_ask_set_the_time_and_the_offer() -> None:
    free = Verdict("allow", 0, "free", "p@1", "why", expires_in=5)
    whole = joined([free, MILD])
    assert (whole.gate, whole.expires_in, whole.sticky) == ("approve", MILD.expires_in, MILD.sticky)
    assert joined([free]).expires_in == 5


def test_reviewers_change_at_the_instant_of_their_step() -> None:
    terms = replace(MILD, reviewers=(("a",),), chain=(Escalation(10, (("b",),)), Escalation(20, (("c",),)))).terms
    assert [reviewers_at(terms, wait) for wait in (0, 9.9, 10, 19, 20, 99)] == [
        (("a",),), (("a",),), (("b",),), (("b",),), (("c",),), (("c",),)
    ]  # fmt: skip
    assert may_review((("a", "b"), ("c",)), {"b", "c"})
    assert not may_review((("a", "b"), ("c",)), {"a", "b"})
    assert may_review((), ())


def test_a_path_leads_to_its_value_or_nowhere() -> None:
    arguments = {"calls": [{"n": 1}, {"n": 2}], "text": "x"}
    assert argument_at(arguments, "arguments.calls.1.n") == 2
    assert argument_at(arguments, "arguments") == arguments
    for path, kind in (
        ("arguments.none", LookupError),
        ("arguments.calls.n", ValueError),
        ("arguments.calls.2", IndexError),
    ):
        with pytest.raises(kind):
            argument_at(arguments, path)
    with pytest.raises(LookupError, match=r"^arguments\.text\.n$"):
        argument_at(arguments, "arguments.text.n")


GRANT = Grant(
    id="g", request="q", call="c", tool="t", rule="mild", policy="p@1", gate="approve", tier=1, reviewers=(),
    four_eyes=False, retype=(), arguments={"n": 5}, scope="session", until=stamp(NOON + timedelta(seconds=60)), uses=3,
    limit="arguments.n <= granted.n", by="user:ann", at=stamp(NOON), met=Requirements(gate="approve", tier=1),
)  # fmt: skip
ASKED = Asked("t", "", "", "", {"arguments": {"n": 5}}, NOON + timedelta(seconds=1))
OFFER = replace(MILD, evidence=("state.x",))


@pytest.mark.parametrize(
    ("grant", "verdict", "asked", "held"),
    [
        ({}, {}, {}, True),
        ({}, {"sticky": None}, {}, False),
        ({"tool": "u"}, {}, {}, False),
        ({"activity": "a"}, {}, {}, False),
        ({}, {}, {"activity": "a"}, False),
        ({}, {}, {"kid": "k"}, False),
        ({"scope": "agent"}, {"sticky": Sticky("customer", 90, 9)}, {}, False),
        ({"scope": "customer"}, {"sticky": Sticky("customer", 90, 9)}, {}, True),
        ({"used": 2}, {}, {}, True),
        ({"used": 3}, {}, {}, False),
        ({"used": 3}, {}, {"passed": "grant:g"}, True),
        ({"used": 2}, {"sticky": Sticky("agent", 90, 2)}, {}, False),
        ({}, {"sticky": Sticky("agent", 1, 9)}, {}, False),
        ({}, {"sticky": Sticky("agent", 2, 9)}, {}, True),
        ({}, {}, {"at": NOON + timedelta(seconds=60)}, False),
        ({}, {}, {"at": NOON + timedelta(seconds=59)}, True),
        ({"revoked_by": "user:bob"}, {}, {}, False),
        ({}, {"tier": 2}, {}, False),
        ({}, {}, {"values": {"arguments": {"n": 6}}}, False),
        ({}, {}, {"values": {"arguments": {}}}, False),
        ({"limit": ""}, {"sticky": Sticky("agent", 90, 9, "arguments.n < 5")}, {}, False),
        ({"limit": ""}, {"sticky": Sticky("agent", 90, 9, "arguments.n < 6")}, {}, True),
        ({"limit": "no expression ("}, {}, {}, False),
    ],
)
def test_what_a_standing_approval_covers(grant: Any, verdict: Any, asked: Any, held: bool) -> None:
    given, said, wanted = replace(GRANT, **grant), replace(OFFER, **verdict), replace(ASKED, **asked)
    assert covers(given, said, wanted) is held
    passed = let_through(said, [given], wanted)
    assert passed == (
        Verdict(
            "allow",
            1,
            "grant:g",
            "p@1",
            "user:ann granted it for what follows request q; rule mild: why",
            evidence=("state.x",),
        )
        if held
        else said
    )


def test_what_asks_nobody_needs_no_standing_approval() -> None:
    free = replace(OFFER, gate="allow")
    assert (may_be_granted(free), may_be_granted(OFFER)) == (False, True)
    assert let_through(OFFER, [], ASKED) == OFFER


def test_a_standing_approval_ends_at_its_instant() -> None:
    end = NOON + timedelta(seconds=60)
    assert [holds_at(GRANT, end - timedelta(seconds=1)), holds_at(GRANT, end)] == [True, False]


DAY = "2026-11-21T12:00:00Z"


def money(minor: Any, currency: Any = "USD") -> dict[str, Any]:
    return {"minor": minor, "currency": currency}


@pytest.mark.parametrize(
    ("value", "moved"),
    [
        (money(5), {"t": {"USD": 5}}),
        (money(True), {}),
        (money(5.0), {}),
        (money("5"), {}),
        (money(5, None), {}),
        (money(True, None), {}),
        (money("5", None), {}),
        ({"minor": 5}, {}),
        ({"currency": "USD"}, {}),
        ("5", {}),
    ],
)
def test_an_entry_without_amounts_counts_whole_minor_units_of_a_named_currency(
    value: Any, moved: dict[str, Any]
) -> None:
    sums = amounts_before({"amount": value})
    assert counted(Tally(), "t", sums, DAY) == Tally("2026-11-21", {"t": 1}, moved)


def test_two_amounts_of_an_entry_without_declared_ones_add_up() -> None:
    assert amounts_before({"one": money(5, "USD"), "other": money(7, "USD")}) == {"USD": 12}


UNREADABLE = {"?": 1}


@pytest.mark.parametrize(
    ("declared", "arguments", "sums"),
    [
        (("amount",), {"amount": money(5)}, {"USD": 5}),
        (("amount",), {"amount": money(-5), "note": "x", "list": [1, {"a": None}]}, {"USD": 5}),
        (("amount",), {"amount": money(5, " usd\n")}, {"USD": 5}),
        (("amount", "fee"), {"amount": money(5), "fee": money(1)}, {"USD": 6}),
        (("amount", "fee"), {"amount": money(5), "fee": money(1, "EUR")}, {"USD": 5, "EUR": 1}),
        (("amount", "fee"), {"amount": money(5)}, {"USD": 5}),
        (("lines.*.amount",), {"lines": [{"amount": money(5)}, {"amount": money(-2)}]}, {"USD": 7}),
        (("order.amount",), {"order": {"amount": money(5)}}, {"USD": 5}),
        ((), {"amount": money(5)}, {}),
        (None, {"amount": money(5)}, UNREADABLE),
        (None, {}, UNREADABLE),
        (("amount",), {}, UNREADABLE),
        (("amount",), {"amount": money(5, "QQQ")}, UNREADABLE),
        (("amount",), {"amount": money(5, "")}, UNREADABLE),
        (("amount",), {"amount": money(5, None)}, UNREADABLE),
        (("amount",), {"amount": money("5")}, UNREADABLE),
        (("amount",), {"amount": money(True)}, UNREADABLE),
        (("amount",), {"amount": money(Decimal("5.5"))}, UNREADABLE),
        (("amount",), {"amount": money(2**53)}, UNREADABLE),
        (("amount",), {"amount": {"minor": 5}}, UNREADABLE),
        (("amount",), {"amount": {**money(5), "more": 1}}, UNREADABLE),
        (("amount",), {"amount": 5}, UNREADABLE),
        (("amount",), {"amount": [money(5)]}, UNREADABLE),
        (("amount",), {"amount": money(5), "more": [money(7)]}, UNREADABLE),
        (("amount",), {"amount": money(5), "more": {"other": money(7)}}, UNREADABLE),
        (("amount",), {"amount": money(5), "more": {"fee_minor": 7}}, UNREADABLE),
        (("amount",), {"amount": money(5), "Currency": "usd"}, UNREADABLE),
        (("amount",), {"amount_minor": 5, "currency": "USD"}, UNREADABLE),
        (("lines.*.amount",), {"lines": [{"amount": money(5)}, {"amount": 7}]}, UNREADABLE),
    ],
)
def test_money_counts_by_declared_amounts_in_absolute_value(
    declared: Any, arguments: dict[str, Any], sums: dict[str, int]
) -> None:
    assert amounts_of(arguments, declared) == sums


def test_rules_read_null_where_an_amount_of_the_day_was_not_read() -> None:
    tally = Tally("2026-11-21", {}, {"a": {"USD": 5}, "b": {"USD": 5, "?": 1}, "c": {"*": 2}, "d": {"?": 0, "*": 0}})
    assert readable(tally, "") == {"a": {"USD": 5}, "b": None, "c": None, "d": {"?": 0, "*": 0}}
    assert readable(tally, "a")["a"] is None


EARLIER, LATER = Tally("2026-11-20", {"t": 1}), Tally("2026-11-21", {"u": 1})
MORNING = Tally("2026-11-21", {"t": 2, "u": 1}, {"t": {"USD": 5}})
EVENING = Tally("2026-11-21", {"t": 3, "u": 1, "v": 1}, {"t": {"USD": 7, "EUR": 1}, "v": {"USD": 2}})


def test_the_later_day_counts_and_of_one_day_what_went_on() -> None:
    assert later(EARLIER, LATER) == later(LATER, EARLIER) == LATER
    assert later(MORNING, EVENING) == EVENING
    assert later(EVENING, MORNING) == MORNING


def test_two_tallies_of_a_day_are_added_and_of_two_days_the_later_one_counts() -> None:
    whole = {"t": {"USD": 12, "EUR": 1}, "v": {"USD": 2}}
    assert added(MORNING, EVENING) == Tally("2026-11-21", {"t": 5, "u": 2, "v": 1}, whole)
    assert added(EARLIER, LATER) == added(LATER, EARLIER) == LATER
    assert Tally("2026-11-21", {"t": 2, "u": 1}, {"t": {"USD": 5}}) == MORNING


def test_what_was_set_going_since_is_the_difference_on_the_same_day_and_all_on_another() -> None:
    since = Tally("2026-11-21", {"t": 1, "u": 0, "v": 1}, {"t": {"USD": 2, "EUR": 1}, "v": {"USD": 2}})
    assert without(EVENING, MORNING) == since
    assert without(LATER, EARLIER) == LATER


def test_what_has_no_room_in_a_sum_of_tallies_counts_with_the_others() -> None:
    full = Tally("2026-11-21", {f"t{n}": 1 for n in range(MAX_TOOLS)}, {f"t{n}": {"USD": 1} for n in range(MAX_TOOLS)})
    whole = added(full, Tally("2026-11-21", {"v": 2, "t0": 1}, {"v": {"USD": 2}}))
    assert (whole.calls["*"], whole.calls["t0"], whole.moved["*"], len(whole.calls)) == (
        2,
        2,
        {"USD": 2},
        MAX_TOOLS + 1,
    )
    money_full = Tally("2026-11-21", {"t": 1}, {"t": {f"C{n}": 1 for n in range(MAX_CURRENCIES)}})
    sums = added(money_full, Tally("2026-11-21", {"t": 1}, {"t": {"D1": 2, "D2": 3}})).moved["t"]
    assert (sums["*"], len(sums)) == (5, MAX_CURRENCIES + 1)


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("arguments.n", True),
        ("arguments.ref", False),
        ("arguments.ref.minor", False),
        ("arguments.inner.n", True),
        ("arguments.inner.ref", False),
        ("arguments.inner", False),
        ("arguments.list.0", True),
        ("arguments.list.1", False),
        ("arguments.list.2", True),
        ("arguments.list.ref", True),
        ("arguments.none", True),
        ("arguments.n.deeper", True),
        ("arguments", False),
    ],
)
def test_a_value_is_known_when_no_reference_will_fill_it(path: str, known: bool) -> None:
    ref = "†state.customer.name"
    assert is_known_at({"n": 1, "ref": ref, "inner": {"n": 1, "ref": ref}, "list": ["x", ref]}, path) is known


def test_a_day_counts_every_call_and_sum_up_to_its_bounds() -> None:
    tally = counted(Tally(), "t", {"USD": 12, "EUR": 1}, DAY)
    tally = counted(tally, "t", {}, DAY)
    assert tally == Tally("2026-11-21", {"t": 2}, {"t": {"USD": 12, "EUR": 1}})
    assert counted(tally, "t", {"USD": 3}, DAY).moved == {"t": {"USD": 15, "EUR": 1}}
    for number in range(1, MAX_TOOLS + 2):
        tally = counted(tally, f"t{number}", {}, DAY)
    assert (len(tally.calls), tally.calls["*"], tally.calls["t"]) == (MAX_TOOLS + 1, 2, 2)
    many = {f"C{number}": 1 for number in range(MAX_CURRENCIES + 2)}
    sums = counted(Tally(), "t", many, DAY).moved["t"]
    assert (len(sums), sums["*"]) == (MAX_CURRENCIES + 1, 2)
    assert counted(tally, "t", {}, "2026-11-22T00:00:00Z") == Tally("2026-11-22", {"t": 1}, {})
