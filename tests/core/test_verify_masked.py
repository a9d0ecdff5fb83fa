"""Entries of which only some fields are shown: what is shown is held to the entry, what is hidden to nothing."""

from __future__ import annotations

import json

import pytest

from audit import verify
from audit.tlog import fields
from tests.core.tlog_world import (
    MemoryLedger,
    chatter,
    check,
    decided,
    export,
    intended,
    named,
    plain,
    requested,
    resign,
    returned,
    said,
    transfer_story,
    unpack,
)

LINES = "session/disclosures/000.p/{}"


def without(*pointers: str):
    """A mask that hides the fields at and below these pointers."""
    return lambda _kind, pointer, _value: not any(f"{pointer}/".startswith(f"{hidden}/") for hidden in pointers)


def only(*pointers: str):
    return lambda _kind, pointer, _value: pointer in pointers


def lines(files: dict[str, bytes], count: int) -> list[dict]:
    return [json.loads(line) for line in files[LINES.format(count)].splitlines()]


def with_lines(files: dict[str, bytes], changed: list[dict]) -> bytes:
    from tests.core.tlog_world import pack

    text = b"".join(plain(line) + b"\n" for line in changed)
    return pack(resign(files | {LINES.format(len(changed)): text}))


def test_hidden_text_is_nowhere_in_the_bundle_and_the_entry_counts_as_partly_disclosed(tmp_path):
    data = export(transfer_story(), shows=without("/text"))
    verdict = check(data, tmp_path)
    assert verdict.ok, said(verdict)
    assert (verdict.counts["partly"], verdict.counts["disclosed"]) == (1, 6)
    assert not any(b"Move it" in content for content in unpack(data).values())


def test_an_entry_of_which_nothing_is_hidden_is_disclosed_by_its_key(tmp_path):
    verdict = check(export(transfer_story(), shows=lambda *_: True), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.counts["disclosed"] == 7


@pytest.mark.parametrize("hidden", ["/call", "/request", "/arguments", "/arguments/amount/minor", "/digest", "/by"])
def test_a_sound_story_stays_sound_whatever_is_hidden(hidden, tmp_path):
    verdict = check(export(transfer_story(), shows=without(hidden)), tmp_path)
    assert verdict.ok, said(verdict)


def test_a_story_of_which_nothing_but_the_kinds_is_shown_stays_sound(tmp_path):
    verdict = check(export(transfer_story(), shows=only("/kind")), tmp_path)
    assert verdict.ok, said(verdict)
    assert verdict.counts["partly"] == 7


def forged(**changes) -> MemoryLedger:
    """The transfer, with an intent that differs from what was approved."""
    ledger = MemoryLedger()
    ledger.append("approval.requested", requested(quorum=2))
    ledger.append("decision.made", decided(), ref=0, actor="user:u1")
    ledger.append("decision.made", decided(by="user:u2"), ref=0, actor="user:u2")
    ledger.append("request.ended", {"request": "r1", "outcome": "approved", "because": "", "v": 1}, ref=0)
    ledger.append("tool.intended", intended(**changes), ref=0)
    ledger.append("tool.returned", returned(), ref=4)
    return ledger


@pytest.mark.parametrize("changes", [{"call": "k2"}, {"digest": "d2"}])
def test_what_is_shown_is_still_held_against_the_story(changes, tmp_path):
    assert check(export(forged(), shows=without("/arguments")), tmp_path).ok
    verdict = check(export(forged(**changes), shows=without("/arguments")), tmp_path)
    assert 4 in named(verdict), said(verdict)


def test_a_quorum_is_counted_although_arguments_and_digests_are_hidden(tmp_path):
    ledger = forged()
    lonely = MemoryLedger()
    lonely.append("approval.requested", requested(quorum=2))
    lonely.append("decision.made", decided(), ref=0, actor="user:u1")
    lonely.append("request.ended", {"request": "r1", "outcome": "approved", "because": "", "v": 1}, ref=0)
    lonely.append("tool.intended", intended(), ref=0)
    mask = without("/arguments", "/digest", "/arguments_digest")
    assert check(export(ledger, shows=mask), tmp_path).ok
    verdict = check(export(lonely, shows=mask), tmp_path)
    assert named(verdict) == {3}
    assert "got 1 approvals" in said(verdict)


def mangled(leaves: list) -> dict[str, list]:
    """The leaves of an entry of kind, role, text (hidden) and v, each time with one thing wrong."""
    kind, role, text, version = leaves
    return {
        "a value altered": [kind, [role[0], role[1], '"staff"'], text, version],
        "a salt altered": [kind, [role[0], "0" * 32, role[2]], text, version],
        "a pointer altered": [kind, ["/rule", *role[1:]], text, version],
        "a hash altered": [kind, role, "0" * 64, version],
        "a field left out": [kind, text, version],
        "the hidden one left out": [kind, role, version],
        "one twice": [kind, role, role, text, version],
        "two swapped": [role, kind, text, version],
        "space around a value": [kind, [role[0], role[1], role[2] + " "], text, version],
        "a value that is no JSON": [kind, [role[0], role[1], '"cust'], text, version],
        "two values in one": [kind, [role[0], role[1], '"customer" 1'], text, version],
        "the kind hidden": ["0" * 64, role, text, version],
        "a salt in capitals": [kind, [role[0], role[1].upper(), role[2]], text, version],
        "a hash in capitals": [kind, role, text.upper(), version],
        "no leaves": [],
        "a number": [kind, role, 7, version],
        "a pointer without a slash": [kind, ["role", *role[1:]], text, version],
        "a pointer with a bad escape": [kind, ["/ro~2le", *role[1:]], text, version],
        "a field of two parts": [kind, role[:2], text, version],
        "a field of four parts": [kind, [*role, ""], text, version],
        "a part that is no text": [kind, [role[0], role[1], 1], text, version],
        "a leaf that is an object": [kind, {"pointer": "/role"}, text, version],
    }


@pytest.mark.parametrize("wrong", mangled([["", "", ""]] * 2 + [""] + [["", "", ""]]))
def test_a_line_of_leaves_with_one_thing_wrong_names_its_entry(wrong, tmp_path):
    files = unpack(export(chatter(3), shows=without("/text")))
    told = lines(files, 3)
    told[1]["leaves"] = mangled(told[1]["leaves"])[wrong]
    verdict = check(with_lines(files, told), tmp_path)
    assert named(verdict) == {1}, said(verdict)
    assert {failure.check for failure in verdict.failures} == {"payload"}


def opened(payload: dict | str, leaves: list | None = None, shown=lambda _pointer, _value: True) -> verify.Shown:
    okm = bytes(range(64))
    text = payload.encode() if isinstance(payload, str) else json.dumps(payload).encode()
    envelope = {"kind": "x.y", "pc": fields.commit(okm, text).hex()}
    return verify.open_leaves(envelope, fields.leaves(okm, text, shown) if leaves is None else leaves)


def test_what_is_shown_comes_out_as_it_went_in():
    payload = {"kind": "x.y", "a": {"b/~": {"c": [1, "x"]}, "é": None}, "z": {}, "many": {str(n): n for n in range(40)}}
    assert opened(payload) == payload


def test_numbers_keep_their_text_and_what_is_hidden_is_asked_for_in_vain():
    event = opened('{"kind":"x.y","a":{"n":1.50,"m":2}}', shown=lambda pointer, _: pointer != "/a/m")
    assert event["a"]["n"] == "1.50"
    with pytest.raises(verify.Hidden):
        event["a"]["m"]
    with pytest.raises(verify.Hidden):
        verify.digest_of(event["a"])


def committed(*shown: list[str]) -> tuple[dict, list]:
    """An envelope that commits to exactly these leaves, as a dishonest writer could."""
    tree = verify.Tree()
    for pointer, salt, value in shown:
        tree.add(bytes.fromhex(salt) + f"{json.dumps(pointer)}:{value}".encode())
    return {"kind": "x.y", "pc": tree.root().hex()}, [list(leaf) for leaf in shown]


SALT = "0" * 32
KIND = ["/kind", SALT, '"x.y"']


@pytest.mark.parametrize(
    "shown",
    [
        [["/a", SALT, '{"b":1}'], KIND],  # an object that has to be shown by its members
        [["/a", SALT, "{}"], ["/a/b", SALT, "1"], KIND],  # a field inside of a field
        [KIND, ["/a", SALT, "1"]],
        [["/a/b/c/d/e/f", SALT, "1"], KIND],
        [["/a", SALT, '{"b":1,"b":2}'], KIND],
        [["/kind", SALT, '"x.z"']],
        [["/a", SALT, "1"]],
    ],
)
def test_leaves_that_no_payload_has_are_refused_even_where_the_entry_commits_to_them(shown):
    envelope, leaves = committed(*shown)
    with pytest.raises(verify.Fault):
        verify.open_leaves(envelope, leaves)


def test_an_entry_of_version_1_stays_sealed_in_a_masked_bundle_and_cannot_be_shown_in_part(tmp_path):
    ledger = MemoryLedger()
    ledger.append("message.added", {"role": "customer", "text": "hello", "v": 1}, v=1)
    verdict = check(export(ledger, shows=without("/text")), tmp_path)
    assert verdict.ok, said(verdict)
    assert (verdict.counts["withheld"], verdict.counts["indivisible"]) == (0, 1)
    with pytest.raises(verify.Fault, match="version 1"):
        verify.open_leaves({"kind": "x.y"}, [])
