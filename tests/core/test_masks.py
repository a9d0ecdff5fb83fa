"""What a masked export shows: what is listed, in the form that is listed, and nothing else."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from agentstate.engine import events
from audit import verify
from audit.export import bundle
from audit.tlog import fields
from sessions.core import masks
from sessions.exports import report
from tests.core.tlog_world import MemoryLedger, check, in_a_log, said, transfer_story, unpack

VECTORS = [
    json.loads(line) for line in (Path(__file__).parents[1] / "vectors" / "events.jsonl").read_text().splitlines()
]
OKM = bytes(range(64))
SECRET = "Jane Doe, 4111-2207"


def shown(event: dict) -> list[str]:
    """The pointers of an event's fields that a masked export shows."""
    leaves = fields.leaves(OKM, json.dumps(event).encode(), lambda at, value: masks.shows(event["kind"], at, value))
    return [leaf[0] for leaf in leaves if isinstance(leaf, list)]


def test_every_kind_of_event_is_in_the_list_and_nothing_else_is():
    assert set(masks.SHOWN) == set(events.KINDS)


def test_every_listed_field_is_one_that_its_kind_has():
    names = {event: set() for event in masks.SHOWN}
    for member in events.EVENTS:
        names[member.__struct_config__.tag] = set(member.__struct_fields__)
    for kind, listed in masks.SHOWN.items():
        assert {pointer.split("/")[1].rstrip("*") for pointer in listed} <= names[kind], kind


def with_secret(value: object) -> object:
    """The value with each text in it replaced by something personal."""
    if isinstance(value, dict):
        return {name: with_secret(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_secret(item) for item in value]
    return SECRET if isinstance(value, str) else value


@pytest.mark.parametrize("event", VECTORS, ids=lambda event: event["kind"])
def test_personal_text_in_any_field_of_any_kind_stays_hidden(event):
    planted = {name: item if name == "kind" else with_secret(item) for name, item in event.items()}
    text = json.dumps(planted).encode()
    leaves = fields.leaves(OKM, text, lambda at, value: masks.shows(event["kind"], at, value))
    assert SECRET not in json.dumps(leaves)


@pytest.mark.parametrize("kind", events.KINDS)
@pytest.mark.parametrize("value", ["x", 7, True, {"deeper": "x"}, ["x"], None])
def test_a_field_that_is_not_listed_is_hidden_whatever_it_holds(kind, value):
    assert shown({"kind": kind, "brand_new": value, "v": 1}) == ["/kind", "/v"]


def test_an_event_of_a_kind_that_is_not_known_shows_its_kind_alone():
    assert shown({"kind": "brand.new", "tool": "transfer", "by": "user:1", "v": 2}) == ["/kind", "/v"]


def test_money_is_shown_wherever_it_stands_and_accounts_are_not():
    arguments = {"to_account": "4111", "amount": {"minor": 5, "currency": "USD"}, "fee": {"in": {"minor": 1}}}
    event = {"kind": "tool.intended", "arguments": arguments, "tool": "transfer"}
    pointers = ["/arguments/amount/currency", "/arguments/amount/minor", "/arguments/fee/in/minor", "/kind", "/tool"]
    assert shown(event) == pointers


@pytest.mark.parametrize("name", ["Jane Doe", "4111", "jane@example.com", "Größe"])
def test_money_under_a_name_that_is_none_of_code_is_hidden(name):
    assert shown({"kind": "tool.returned", "result": {name: {"minor": 5, "currency": "USD"}}}) == ["/kind"]


@pytest.mark.parametrize("name", ["digest", "arguments_digest", "seen", "covers", "key"])
def test_no_digest_is_shown_by_which_an_account_could_be_guessed(name):
    assert all(f"/{name}" not in shown({"kind": kind, name: "ab" * 32}) for kind in masks.SHOWN)


def masked(ledger: MemoryLedger, render=report.render) -> bytes:
    out = io.BytesIO()
    from tests.core.tlog_world import SIGNER

    bundle.write(ledger.log, ledger, in_a_log(ledger), SIGNER, out, render=render, shows=masks.shows)
    return out.getvalue()


def every_kind() -> MemoryLedger:
    """A session in which everything has happened, with something personal in each text."""
    ledger = MemoryLedger()
    for event in VECTORS:
        kind = event["kind"]
        ledger.append(kind, {name: with_secret(item) for name, item in event.items() if name != "kind"})
    return ledger


def test_a_masked_bundle_tells_every_kind_in_words_and_nothing_personal():
    told = []

    def render(head, entries):
        told.extend(report.tell(head, entries).lines)
        return report.render(head, entries)

    files = unpack(masked(every_kind(), render))
    assert not any(SECRET.encode() in content or b"Jane" in content for content in files.values())
    assert len(told) == len(VECTORS)
    assert all(description for _, description in told)


def test_a_masked_story_verifies_and_says_who_decided_what(tmp_path):
    data = masked(transfer_story())
    verdict = check(data, tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.counts["partly"] == 7
    page = unpack(data)["report.html"].decode()
    assert "user:u1" in page
    assert "Approve" in page
    assert report.MASKED_NOTE in page


def test_what_the_verifier_reads_of_a_masked_entry_is_what_was_shown():
    files = unpack(masked(transfer_story()))
    line = json.loads(files["session/disclosures/000.p/7"].splitlines()[5])
    state, leaves = verify.read_disclosure(line, 5)
    assert state == "partly"
    assert [leaf[0] for leaf in leaves if isinstance(leaf, list)] == [
        "/arguments/amount/currency",
        "/arguments/amount/minor",
        "/attempt",
        "/call",
        "/kind",
        "/request",
        "/v",
    ]
