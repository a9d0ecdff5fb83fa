"""What entries must say together: results answer intents, and gated intents rest on decisions."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.engine import events
from agentstate.engine.events import base
from audit import verify
from tests.core.tlog_world import (
    TRANSFER,
    MemoryLedger,
    check,
    decided,
    export,
    intended,
    named,
    requested,
    returned,
    said,
    transfer_story,
)

ENDED = {"request": "r1", "outcome": "approved", "because": "", "v": 1}
OTHER = TRANSFER | {"amount": {"minor": 430001, "currency": "USD"}}


def tell(ledger: MemoryLedger, kind: str, event: dict, ref: int | None = None, **more: object) -> int:
    """Append as the application does: by whom the event says, answering the request that it names."""
    if ref is None:
        ref = -1 if kind == "approval.requested" else _asked(ledger, event.get("request"))
    return ledger.append(kind, event, ref, **{"actor": event.get("by", "system")} | more)


def _asked(ledger: MemoryLedger, request: object) -> int:
    made = [row.seq for row in ledger.stored if json.loads(row.envelope)["kind"] == "approval.requested"]
    return made[0] if request and made else -1


def story(*entries: tuple) -> MemoryLedger:
    """A log of (kind, event) or (kind, event, ref)."""
    ledger = MemoryLedger()
    for entry in entries:
        tell(ledger, *entry)
    return ledger


def gated(request: dict | None = None, decisions: list | None = None, **intent: object) -> MemoryLedger:
    """Request, decisions, end, intent: the intent is the last entry."""
    return story(
        ("approval.requested", request or requested()),
        *(("decision.made", decision) for decision in (decisions if decisions is not None else [decided()])),
        ("request.ended", ENDED),
        ("tool.intended", intended(**intent)),
    )


def test_an_approved_call_may_be_intended(tmp_path):
    verdict = check(export(gated()), tmp_path)
    assert verdict.ok, said(verdict)


def test_a_call_that_needs_no_approval_names_no_request(tmp_path):
    assert check(export(story(("tool.intended", intended(request="", digest="")))), tmp_path).ok


def test_an_edited_call_may_be_intended_as_it_was_edited_only(tmp_path):
    edit = decided(decision="edit", arguments=OTHER, digest="d2")
    assert check(export(gated(decisions=[edit], arguments=OTHER, digest="d2")), tmp_path).ok
    verdict = check(export(gated(decisions=[edit], digest="d2")), tmp_path)
    assert named(verdict) == {3}, said(verdict)


NOT_APPROVED = {
    "nobody decided": gated(decisions=[]),
    "it was rejected": gated(decisions=[decided(decision="reject", digest="")]),
    "other arguments were approved": gated(arguments=OTHER),
    "a number became a text": gated(arguments=TRANSFER | {"amount": {"minor": "430000", "currency": "USD"}}),
    "another permit was given": gated(digest="d9"),
    "another call was approved": gated(call="k2"),
    "one of two approved": gated(requested(quorum=2)),
    "one approved twice": gated(requested(quorum=2), [decided(), decided()]),
    "two approved different things": gated(
        requested(quorum=2), [decided(), decided(by="user:u2", decision="edit", arguments=OTHER, digest="d2")]
    ),
}


@pytest.mark.parametrize("why", NOT_APPROVED)
def test_an_intent_without_exactly_its_approval_is_named(why, tmp_path):
    ledger = NOT_APPROVED[why]
    verdict = check(export(ledger), tmp_path)
    last = len(ledger.stored) - 1
    assert last in named(verdict), said(verdict)
    assert "it rests on" in said(verdict)


def test_two_different_people_make_a_quorum_of_two(tmp_path):
    verdict = check(export(gated(requested(quorum=2), [decided(), decided(by="user:u2")])), tmp_path)
    assert verdict.ok, said(verdict)


@pytest.mark.parametrize("outcome", ["rejected", "expired", "withdrawn", "superseded", "responded", "failed"])
def test_an_intent_on_a_request_that_ended_otherwise_is_named(outcome, tmp_path):
    ledger = story(
        ("approval.requested", requested()),
        ("decision.made", decided()),
        ("request.ended", ENDED | {"outcome": outcome}),
        ("tool.intended", intended()),
    )
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {3}
    assert f"ended as {outcome}" in said(verdict)


def test_a_decision_after_the_intent_comes_too_late(tmp_path):
    ledger = story(
        ("approval.requested", requested()),
        ("tool.intended", intended()),
        ("decision.made", decided()),
        ("request.ended", ENDED),
    )
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {1}
    assert "nobody has decided before" in said(verdict)


def test_a_decision_that_is_recorded_by_another_than_who_decided_is_named(tmp_path):
    ledger = story(("approval.requested", requested()))
    tell(ledger, "decision.made", decided(), actor="user:u2")
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {1}
    assert "recorded by user:u2" in said(verdict)


@pytest.mark.parametrize("kind", ["decision.made", "request.ended", "tool.intended"])
def test_an_entry_that_names_a_request_which_was_never_made_is_named(kind, tmp_path):
    event = {"decision.made": decided(), "request.ended": ENDED, "tool.intended": intended()}[kind]
    ledger = story(("message.added", {"role": "note", "text": "x", "v": 1}))
    tell(ledger, kind, event, -1)
    assert named(check(export(ledger), tmp_path)) == {1}


@pytest.mark.parametrize("kind", ["decision.made", "request.ended", "tool.intended"])
def test_an_entry_that_answers_one_request_and_names_another_is_named(kind, tmp_path):
    event = {"decision.made": decided(), "request.ended": ENDED, "tool.intended": intended()}[kind]
    ledger = story(("approval.requested", requested(request="r0")), ("approval.requested", requested()))
    tell(ledger, "decision.made", decided(request="r0"), 0)
    tell(ledger, kind, event, 0)
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {3}, said(verdict)
    assert "names the request of entry 1" in said(verdict)


def test_an_intent_that_hides_the_request_it_rests_on_is_named(tmp_path):
    ledger = story(("approval.requested", requested()), ("decision.made", decided()), ("request.ended", ENDED))
    tell(ledger, "tool.intended", intended(request=""), 0)
    assert named(check(export(ledger), tmp_path)) == {3}


def test_an_intent_without_a_decision_is_found_even_when_everything_is_sealed(tmp_path):
    ledger = story(("approval.requested", requested()))
    tell(ledger, "tool.intended", intended())
    sealed = frozenset({"approval.requested", "tool.intended"})
    assert named(check(export(ledger, withhold=sealed), tmp_path)) == {1}


def test_a_damaged_entry_is_named_alone_not_the_entries_that_rest_on_it(tmp_path):
    for seq in range(7):
        ledger = transfer_story()
        ledger.stored[seq].envelope = ledger.stored[seq].envelope.replace(b'"v":2}', b'"v":9}')
        verdict = check(export(ledger), tmp_path)
        assert named(verdict) == {None, seq}, said(verdict)


def test_a_decision_after_the_end_of_its_request_is_named(tmp_path):
    ledger = story(("approval.requested", requested()), ("request.ended", ENDED), ("decision.made", decided()))
    assert named(check(export(ledger), tmp_path)) == {2}


def test_a_request_made_twice_is_named(tmp_path):
    ledger = story(("approval.requested", requested()), ("approval.requested", requested()))
    assert named(check(export(ledger), tmp_path)) == {1}


def test_a_digest_that_is_not_that_of_the_arguments_is_named(tmp_path):
    assert named(check(export(gated(arguments_digest="0" * 64)), tmp_path)) == {3}


UNANSWERABLE = {
    "nothing": -1,
    "itself": 7,
    "a message": 1,
    "a later entry": 9,
    "the decision": 3,
}


@pytest.mark.parametrize("what", UNANSWERABLE)
@pytest.mark.parametrize("kind", ["tool.returned", "tool.failed"])
def test_a_result_that_answers_no_intent_is_named(kind, what, tmp_path):
    ledger = transfer_story()
    ledger.append(kind, returned(call="k2"), UNANSWERABLE[what])
    assert named(check(export(ledger), tmp_path)) == {7}


@pytest.mark.parametrize("changes", [{"call": "k2"}, {"attempt": 2}])
def test_a_result_of_another_call_or_attempt_than_it_answers_is_named(changes, tmp_path):
    ledger = gated()
    ledger.append("tool.returned", returned(**changes), 3)
    assert named(check(export(ledger), tmp_path)) == {4}


def test_a_call_that_returned_twice_is_named_even_by_two_attempts(tmp_path):
    ledger = transfer_story()
    tell(ledger, "tool.intended", intended(attempt=2))
    ledger.append("tool.returned", returned(attempt=2), 7)
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {8}
    assert "already has its result: entry 6" in said(verdict)


def test_a_call_that_failed_and_then_returned_is_in_order(tmp_path):
    ledger = gated()
    ledger.append("tool.failed", {"call": "k1", "attempt": 1, "reason": "down", "transient": True, "v": 1}, 3)
    tell(ledger, "tool.intended", intended(attempt=2))
    ledger.append("tool.returned", returned(attempt=2), 5)
    verdict = check(export(ledger), tmp_path)
    assert verdict.ok, said(verdict)


@pytest.mark.parametrize("kind", ["approval.requested", "decision.made", "tool.intended", "tool.returned"])
def test_what_is_withheld_is_not_held_against_the_rest(kind, tmp_path):
    verdict = check(export(transfer_story(), withhold=frozenset({kind})), tmp_path)
    assert verdict.ok, said(verdict)


def test_two_results_of_one_intent_are_found_even_when_both_are_withheld(tmp_path):
    ledger = transfer_story()
    ledger.append("tool.returned", returned(), 5)
    verdict = check(export(ledger, withhold=frozenset({"tool.returned"})), tmp_path)
    assert named(verdict) == {7}


FIELDS = [
    ("approval.requested", requested(), "quorum"),
    ("decision.made", decided(), "decision"),
    ("request.ended", ENDED, "outcome"),
    ("tool.intended", intended(), "arguments_digest"),
]


@pytest.mark.parametrize(("kind", "event", "name"), FIELDS)
def test_an_event_that_lacks_a_field_is_named_and_nothing_breaks(kind, event, name, tmp_path):
    ledger = story(("approval.requested", requested(request="r1" if kind != "approval.requested" else "r0")))
    if kind == "tool.intended":
        tell(ledger, "decision.made", decided())
    number = tell(ledger, kind, {key: value for key, value in event.items() if key != name})
    verdict = check(export(ledger), tmp_path)
    assert named(verdict) == {number}, said(verdict)


@pytest.mark.parametrize("value", [None, [], {}, 1, "x", True])
@pytest.mark.parametrize("name", ["request", "call", "arguments", "quorum"])
def test_an_event_with_fields_of_any_type_never_breaks_the_verifier(name, value, tmp_path):
    ledger = story(("approval.requested", requested(**{name: value})), ("decision.made", decided(request=value)))
    assert "cannot be checked" not in said(check(export(ledger), tmp_path))


NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | NUMBERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@given(st.lists(JSON, max_size=3))
def test_the_verifier_computes_digests_as_events_do(parts):
    try:
        written = base._sorting_encoder.encode(parts)
    except (UnicodeEncodeError, ValueError, OverflowError):
        return
    assert verify.digest_of(*verify.strict_json(written)) == events.digest(*parts)


def test_numbers_keep_their_text_in_digests():
    assert verify.digest_of(verify.strict_json(b"1.0")) != verify.digest_of(verify.strict_json(b"1.00"))
    assert verify.digest_of(verify.strict_json(b'{"b":1.50,"a":2}')) == events.digest({"a": 2, "b": Decimal("1.50")})
    assert verify.digest_of(verify.strict_json(b"1")) != verify.digest_of(verify.strict_json(b"true"))
    assert json.loads("1.0") == json.loads("1.00")
