"""Trust policies: what they allow, and files that are none."""

from __future__ import annotations

import itertools

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from audit import verify
from audit.tlog import cosignature, note, policy
from audit.tlog.checkpoint import BadCheckpoint, Checkpoint
from audit.tlog.note import BadNote
from audit.tlog.policy import BadPolicy, NotTrusted
from tests.core.tlog_world import ORIGIN, SIGNER, STRANGER

NAMES = ("X1", "X2", "X3", "Y1", "Y2", "Y3")
PRIVATE = {name: Ed25519PrivateKey.from_private_bytes(name.encode() * 16) for name in NAMES}
VKEYS = {name: str(cosignature.key_of(f"{name}.example", PRIVATE[name])) for name in NAMES}
HEAD = Checkpoint(ORIGIN, 5, bytes(range(32)))
WITNESSES = "".join(f"witness {name} {VKEYS[name]}\n" for name in NAMES)
EXAMPLE = f"""# the example of the specification
log {SIGNER.vkey()}

{WITNESSES}group X-witnesses 2 X1 X2 X3
\tgroup  Y-witnesses any Y1 Y2 Y3 \t
group X-and-Y all X-witnesses Y-witnesses
quorum X-and-Y
"""


def cosigned(*names: str, at: int = 100) -> bytes:
    lines = [cosignature.make(HEAD.body(), f"{name}.example", PRIVATE[name], at) for name in names]
    return note.extended(SIGNER.sign_text(HEAD.body()), lines)


def trusts(text: str, data: bytes, **times: int) -> bool:
    try:
        return policy.parse(text.encode()).check(data, **times).head == HEAD
    except (NotTrusted, BadNote, BadCheckpoint):
        return False


def test_the_example_needs_two_of_one_group_and_one_of_the_other():
    for count in range(7):
        for names in itertools.combinations(NAMES, count):
            enough = sum(name[0] == "X" for name in names) >= 2 and any(name[0] == "Y" for name in names)
            assert policy.parse(EXAMPLE.encode()).is_met(set(names)) is enough
            assert verify.read_policy(EXAMPLE.encode()).met(set(names)) is enough
            assert trusts(EXAMPLE, cosigned(*names)) is enough


def test_a_policy_reads_back_as_it_was_written():
    read = policy.parse(EXAMPLE.encode())
    assert policy.parse(read.write()) == read
    assert read.groups["X-and-Y"] == policy.Group(2, ("X-witnesses", "Y-witnesses"))
    with_urls = f"log {SIGNER.vkey()} https://log.example/\nwitness w {VKEYS['X1']} https://w.example/\nquorum w\n"
    assert policy.parse(with_urls.encode()).write().decode() == with_urls


def test_without_a_quorum_the_logs_signature_is_enough_but_needed():
    text = f"log {SIGNER.vkey()}\nquorum none\n"
    assert trusts(text, cosigned())
    assert not trusts(text, STRANGER.sign_text(HEAD.body()))
    assert not trusts("quorum none\n", cosigned())
    assert not trusts(text, SIGNER.sign_text(Checkpoint("other.example", 5, HEAD.root).body()))


def test_cosignatures_count_only_in_time():
    text = f"log {SIGNER.vkey()}\n{WITNESSES}group all-x all X1 X2\nquorum all-x\n"
    old = note.extended(cosigned("X1", at=50), [cosignature.make(HEAD.body(), "X2.example", PRIVATE["X2"], 200)])
    assert trusts(text, old)
    assert trusts(text, old, since=50, until=200)
    assert not trusts(text, old, since=51)
    assert not trusts(text, old, until=199)
    assert policy.parse(text.encode()).check(old).cosigned == {"X1": 50, "X2": 200}


def test_a_wrong_cosignature_of_a_known_witness_spoils_the_head_and_a_strangers_does_not():
    text = f"log {SIGNER.vkey()}\n{WITNESSES}quorum X1\n"
    key = cosignature.key_of("X2.example", PRIVATE["X2"])
    wrong = note.Signature(key.name, key.key_id, bytes(72))
    assert trusts(text, cosigned("X1"))
    assert not trusts(text, note.extended(cosigned("X1"), [wrong]))
    assert trusts(text, note.extended(cosigned("X1"), [note.Signature("z.example", b"1234", bytes(72))]))


def test_a_log_may_sign_with_ml_dsa():
    private = MLDSA44PrivateKey.from_seed_bytes(b"m" * 32)
    text = f"log {cosignature.key_of(ORIGIN, private)}\nquorum none\n"
    assert trusts(text, note.extended(cosigned(), [cosignature.make(HEAD.body(), ORIGIN, private, 0)]))
    assert not trusts(text, cosigned())


W1, W2 = (f"witness {name} {VKEYS[name]}\n" for name in ("X1", "X2"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "quorum none",
        "quorum none\r\n",
        "quorum none\nquorum none\n",
        "quorum\n",
        "quorum a b\n",
        "quorum X1\n",
        "Quorum none\n",
        "quorum none\x00\n",
        "quorum none\x7f\n",
        "quorum\u00a0none\n",
        "trust everybody\nquorum none\n",
        f"log {SIGNER.vkey()}\n",
        f"log {SIGNER.vkey()} url more\nquorum none\n",
        f"log {SIGNER.vkey()}\nlog {SIGNER.vkey()}\nquorum none\n",
        f"log {VKEYS['X1']}\nquorum none\n",
        "log nonsense\nquorum none\n",
        f"witness X1 {SIGNER.vkey()}\nquorum none\n",
        f"witness none {VKEYS['X1']}\nquorum none\n",
        f"witness X1\n{W1}quorum X1\n",
        f"{W1}{W1}quorum X1\n",
        f"{W1}witness other {VKEYS['X1']}\nquorum X1\n",
        f"{W1}witness X1 {VKEYS['X2']}\nquorum X1\n",
        f"quorum X1\n{W1}",
        f"{W1}group g all\nquorum g\n",
        f"{W1}group g 0 X1\nquorum g\n",
        f"{W1}group g 2 X1\nquorum g\n",
        f"{W1}group g 01 X1\nquorum g\n",
        f"{W1}group g most X1\nquorum g\n",
        f"{W1}group g all X1 X1\nquorum g\n",
        f"{W1}group g all g\nquorum g\n",
        f"{W1}group g all none\nquorum g\n",
        f"{W1}group X1 all X1\nquorum X1\n",
        f"{W1}group none all X1\nquorum none\n",
        f"group g all X1\n{W1}quorum g\n",
        f"{W1}{W2}group g all X1\ngroup h any X1 X2\nquorum h\n",
        "# x\n" * 100_000 + "quorum none\n",
        "log \udcff+00000000+AAAA\nquorum none\n",
    ],
)
def test_a_file_that_is_no_policy_is_refused(text):
    with pytest.raises(BadPolicy):
        policy.parse(text.encode("utf-8", "surrogateescape"))


def test_names_are_opaque_bytes():
    kelvin = f"witness \u212a {VKEYS['X1']}\nwitness K {VKEYS['X2']}\ngroup \udcff any \u212a K\nquorum \udcff\n"
    data = kelvin.encode("utf-8", "surrogateescape")
    read = policy.parse(data)
    assert set(read.witnesses) == {"\u212a", "K"}
    assert policy.parse(read.write()) == read


@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_fail_otherwise(data):
    with pytest.raises(BadPolicy):
        policy.parse(data)
    with pytest.raises(BadPolicy):
        policy.parse(b"quorum none\nlog " + data)
