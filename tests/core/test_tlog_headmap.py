"""The head map against its definition, written down as recursion over the set of pairs."""

from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit import verify
from audit.tlog import headmap
from audit.tlog.headmap import EMPTY, BadMap, MapHead, MapProof, MemoryMap
from tests.core.tlog_naive import flipped, mutations
from tests.searching import drawn

# Keys that share long prefixes, as honest ones never do: bytes of few values, and the rest all alike.
LIKE = st.builds(lambda start: start + bytes(32 - len(start)), st.binary(min_size=1, max_size=32))
NEAR = st.builds(
    lambda parts: b"".join(parts) + b"\xff" * (32 - len(parts)),
    st.lists(st.sampled_from([b"\x00", b"\x01", b"\x80"]), min_size=1, max_size=32),
)
KEYS = st.one_of(st.binary(min_size=32, max_size=32), LIKE, NEAR)
SHALLOW = st.builds(lambda start: start + b"\x55" * 29, st.binary(min_size=3, max_size=3))  # a path of 24 bits at most
PAIRS = st.dictionaries(KEYS, st.binary(min_size=16, max_size=16), max_size=40)


def naive(pairs: dict[bytes, bytes], depth: int = 0) -> bytes:
    """The definition: empty, the one leaf, or the two halves by the next bit."""
    if not pairs:
        return bytes(32)
    if len(pairs) == 1:
        ((key, value),) = pairs.items()
        return hashlib.sha256(b"\x00" + key + value).digest()
    sides: tuple[dict[bytes, bytes], dict[bytes, bytes]] = ({}, {})
    for key, value in pairs.items():
        sides[int.from_bytes(key, "big") >> (255 - depth) & 1][key] = value
    return hashlib.sha256(b"\x01" + naive(sides[0], depth + 1) + naive(sides[1], depth + 1)).digest()


def honest(count: int) -> dict[bytes, bytes]:
    return {headmap.key_of(f"log.example/s/{n}"): headmap.value_of(n, n + 1) for n in range(count)}


@given(PAIRS)
def test_the_root_is_that_of_the_definition(pairs):
    assert MemoryMap().set(pairs) == naive(pairs)


@given(st.lists(PAIRS, max_size=5))
def test_however_a_map_is_filled_its_root_and_count_are_those_of_the_set(rounds):
    store, whole = MemoryMap(), {}
    for pairs in rounds:
        whole |= pairs
        assert store.set(pairs) == naive(whole)
        assert store.count == len(whole)
    assert headmap.root(store) == naive(whole)
    once = MemoryMap()
    once.set(whole)
    assert (once.buckets, once.tiles if whole else {}) == (store.buckets, store.tiles)


@given(PAIRS, KEYS)
def test_every_key_is_proven_to_have_its_value_or_to_be_absent(pairs, stranger):
    store = MemoryMap()
    root = store.set(pairs)
    for key in (*pairs, stranger, *(flipped(key, 255) for key in pairs), *(flipped(key, 9) for key in pairs)):
        proof = headmap.prove(key, store)
        assert proof.value == pairs.get(key)
        assert headmap.verify(key, proof, root)
        assert headmap.parse_proof(proof.as_json()) == proof


@given(st.dictionaries(SHALLOW, st.binary(min_size=16, max_size=16), min_size=1, max_size=40), SHALLOW, st.randoms())
@settings(max_examples=drawn(50))
def test_no_mutation_of_a_proof_holds(pairs, stranger, rng):
    store = MemoryMap()
    root = store.set(pairs)
    for key in (rng.choice(list(pairs)), stranger):
        proof = headmap.prove(key, store)
        for siblings in mutations(list(proof.siblings), bytes([7]) * 32):
            assert not headmap.verify(key, MapProof(tuple(siblings), proof.value, proof.other), root)
        for lie in _lies(key, proof, pairs):
            assert not headmap.verify(key, lie, root), lie
        assert proof.value is None or not headmap.verify(flipped(key, 0), proof, root)
        assert not headmap.verify(key, proof, flipped(root, rng.randrange(256)))
        assert not any(headmap.verify(part, proof, root) for part in (b"", key[:-1], key + b"\x00"))


def _lies(key: bytes, proof: MapProof, pairs: dict[bytes, bytes]) -> list[MapProof]:
    """The same path with another end: another value, absent though present, present though absent."""
    value = bytes(16) if proof.value != bytes(16) else bytes([1]) * 16
    lies = [MapProof(proof.siblings, value), MapProof(proof.siblings, b"")]
    if proof.value is not None:
        lies += [MapProof(proof.siblings, None), MapProof(proof.siblings, None, (key, proof.value))]
        lies += [MapProof(proof.siblings, proof.value, (key, proof.value))]
        lies += [MapProof(proof.siblings, None, pair) for pair in pairs.items() if pair[0] != key]
    elif proof.other is not None:
        lies += [MapProof(proof.siblings, None), MapProof(proof.siblings, proof.other[1])]
    return lies


def test_an_absence_cannot_lean_on_a_key_that_lies_elsewhere():
    pairs = honest(200)
    store = MemoryMap()
    root = store.set(pairs)
    for key in list(pairs)[:20]:
        path = headmap.prove(key, store).siblings
        for other, value in pairs.items():
            assert not headmap.verify(key, MapProof(path, None, (other, value)), root)


def test_the_verifiers_own_reading_comes_to_the_same_root():
    store, pairs = MemoryMap(), honest(300)
    root = store.set(pairs)
    for number, key in enumerate(pairs):
        proof = headmap.prove(key, store)
        assert verify.root_of_map("log.example", str(number), number, number + 1, list(proof.siblings)) == root


def test_a_lone_key_hung_deeper_than_it_belongs_is_no_map():
    key, value = next(iter(honest(1).items()))
    leaf = headmap.leaf_hash(key, value)
    deeper = headmap.node_hash(EMPTY, leaf) if key[0] >> 7 else headmap.node_hash(leaf, EMPTY)
    assert headmap.verify(key, MapProof((), value), leaf)
    assert not headmap.verify(key, MapProof((EMPTY,), value), deeper)


def test_the_empty_map_says_of_every_key_that_it_is_absent():
    key = headmap.key_of("log.example/s/1")
    assert headmap.root(MemoryMap()) == MemoryMap().set({}) == EMPTY
    assert headmap.prove(key, MemoryMap()) == MapProof((), None)
    assert headmap.verify(key, MapProof((), None), EMPTY)
    assert not headmap.verify(key, MapProof((), bytes(16)), EMPTY)


def test_an_update_writes_only_what_it_touches():
    store = MemoryMap()
    pairs = honest(3000)
    store.set(pairs)
    key = next(iter(pairs))
    change = headmap.update({key: headmap.value_of(9, 9)}, store)
    assert list(change.buckets) == [key[0] << 8 | key[1]]
    assert sorted(change.tiles) == [0, 1 + key[0]]
    assert change.added == 0
    assert change.root == naive(pairs | {key: headmap.value_of(9, 9)})


@pytest.mark.parametrize(("key", "value"), [(b"", bytes(16)), (bytes(31), bytes(16)), (bytes(32), bytes(15))])
def test_a_pair_of_another_size_is_refused(key, value):
    with pytest.raises(BadMap):
        MemoryMap().set({key: value})


def test_a_value_is_an_index_and_a_size():
    assert headmap.read_value(headmap.value_of(7, 2**40)) == (7, 2**40)
    assert headmap.value_of(1, 2) == bytes(7) + b"\x01" + bytes(7) + b"\x02"
    with pytest.raises(BadMap):
        headmap.read_value(bytes(15))


def test_the_leaf_of_the_global_log_reads_back_and_in_no_other_spelling():
    head = MapHead("log.example", 12, 3, bytes(range(32)))
    text = "agentstate headmap/1\nlog.example\n12\n3\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"
    assert head.body().decode() == text
    assert headmap.parse_head(head.body()) == head
    for old, new in (("/1\n", "/2\n"), ("12", "012"), ("12", "+12"), ("\n3", "\n"), ("=\n", "="), ("=\n", "=\n\n")):
        with pytest.raises(BadMap):
            headmap.parse_head(text.replace(old, new, 1).encode())
    for bad in (b"", text.replace("h8=", "h9=").encode(), text.replace("\n", "\r\n").encode(), b"\xff" + head.body()):
        with pytest.raises(BadMap):
            headmap.parse_head(bad)


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"other": None, "siblings": [], "value": None, "more": 1},
        {"other": None, "siblings": "", "value": None},
        {"other": None, "siblings": ["00"], "value": None},
        {"other": None, "siblings": [], "value": "0" * 31},
        {"other": None, "siblings": [], "value": "A" * 32},
        {"other": ["00" * 32], "siblings": [], "value": None},
        {"other": ["00" * 32, 5], "siblings": [], "value": None},
    ],
)
def test_a_proof_in_any_other_form_is_refused(document):
    with pytest.raises(BadMap):
        headmap.parse_proof(document)


class Counting(MemoryMap):
    """Counts what is read of it."""

    read = 0

    def read_buckets(self, numbers):
        self.read += len(numbers)
        return super().read_buckets(numbers)

    def read_tiles(self, numbers):
        self.read += len(numbers)
        return super().read_tiles(numbers)


@pytest.mark.parametrize("logs", [30, 3_000])
def test_an_update_reads_and_writes_what_it_touches_whatever_the_size_of_the_map(logs):
    store, pairs = Counting(), honest(logs)
    store.set(pairs)
    store.read = 0
    few = {key: headmap.value_of(5, 5) for key in random.Random(1).sample(list(pairs), 7)}
    change = headmap.update(few, store)
    touched = {key[:2] for key in few}, {key[0] for key in few}
    assert len(change.buckets) == len(touched[0])
    assert len(change.tiles) == len(touched[1]) + 1  # and the top
    assert store.read == len(change.buckets) + len(change.tiles)
