"""Tiles: the files of a log, grown in any steps, and proofs from them alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.tlog import tiles, tree
from audit.tlog.tiles import BadTile, Bundle, Tile
from tests.core.tlog_naive import NaiveTree, StoredTiles
from tests.searching import drawn

EDGES = (1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537)
WORLD = NaiveTree([f"entry {number}".encode() for number in range(65_793)])


@pytest.fixture(scope="module")
def grown() -> StoredTiles:
    """A log that grew over all the edges, one after the other."""
    store, size = StoredTiles(), 0
    for edge in EDGES:
        store.write(tiles.growth(size, WORLD.leaves[size:edge], store))
        size = edge
    return store


@pytest.mark.parametrize("size", EDGES)
def test_the_tiles_written_are_those_of_the_definition(size, grown):
    wanted = tiles.tiles_of(size)
    assert {tile.path: grown.files[tile.path] for tile in wanted} == {
        tile.path: WORLD.tile(tile.level, tile.index, size) for tile in wanted
    }


def test_seventy_thousand_leaves_have_the_tiles_that_the_specification_counts():
    found = tiles.tiles_of(70_000)
    assert sum(tile.level == 0 and tile.width == 256 for tile in found) == 273
    others = [tile for tile in found if tile.level or tile.width != 256]
    assert others == [Tile(0, 273, 112), Tile(1, 0, 256), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert tiles.tiles_of(256) == [Tile(0, 0, 256), Tile(1, 0, 1)]
    assert tiles.tiles_of(0) == []


@given(st.lists(st.integers(0, 600), min_size=1, max_size=6))
@settings(max_examples=drawn(60))
def test_however_a_log_grows_it_ends_in_the_same_tiles(steps):
    store, size = StoredTiles(), 0
    for step in steps:
        written = tiles.growth(size, WORLD.leaves[size : size + step], store)
        assert [tile for tile, _ in written] == tiles.grown_tiles(size, size + step)
        store.write(written)
        size += step
    assert {tile.path: store.files[tile.path] for tile in tiles.tiles_of(size)} == {
        tile.path: WORLD.tile(tile.level, tile.index, size) for tile in tiles.tiles_of(size)
    }


@pytest.mark.parametrize("size", EDGES)
def test_root_and_frontier_come_from_the_right_edge_alone(size, grown):
    grown.reads.clear()
    assert tiles.root(size, grown) == WORLD.mth(0, size)
    assert len(grown.reads) <= 3
    assert tree.root(tiles.frontier(size, grown), size) == WORLD.mth(0, size)


@pytest.mark.parametrize("size", EDGES)
def test_every_kind_of_leaf_is_proven_with_a_few_reads(size, grown):
    for index in {0, 1, 254, 255, 256, 257, size // 2, 65_279, 65_280, 65_535, size - 2, size - 1}:
        if not 0 <= index < size:
            continue
        grown.reads.clear()
        proof = tiles.inclusion_proof(index, size, grown)
        assert proof == WORLD.path(index, 0, size)
        assert tree.verify_inclusion(index, size, WORLD.leaves[index], proof, WORLD.mth(0, size))
        assert len(grown.reads) <= 5


@pytest.mark.parametrize("size", EDGES)
def test_every_edge_is_proven_to_be_a_prefix_of_every_later_one(size, grown):
    for old in (*EDGES, 3, 100, 254, 300, 65_280, 65_534):
        if old <= size:
            proof = tiles.consistency_proof(old, size, grown)
            assert proof == WORLD.proof(old, size)
            assert tree.verify_consistency(old, size, WORLD.mth(0, old), WORLD.mth(0, size), proof)


def test_all_proofs_of_a_small_log_are_those_of_the_definition():
    store = StoredTiles()
    for size in range(1, 41):
        store.write(tiles.growth(size - 1, WORLD.leaves[size - 1 : size], store))
        for index in range(size):
            assert tiles.inclusion_proof(index, size, store) == WORLD.path(index, 0, size)
            assert tiles.consistency_proof(index + 1, size, store) == WORLD.proof(index + 1, size)


def test_an_older_size_is_proven_from_wider_tiles():
    class OnlyTheWidest(StoredTiles):
        def read_tiles(self, wanted):
            return [WORLD.tile(tile.level, tile.index, 600) for tile in wanted]

    assert tiles.inclusion_proof(299, 301, OnlyTheWidest()) == WORLD.path(299, 0, 301)
    assert tiles.root(301, OnlyTheWidest()) == WORLD.mth(0, 301)
    written = dict(tiles.growth(301, WORLD.leaves[301:310], OnlyTheWidest()))
    assert written == {Tile(0, 1, 54): WORLD.tile(0, 1, 310)}


@pytest.mark.parametrize("data", [[b""], [b"x" * 31], [b"x" * 33], [b"x" * 32 * 257], [], [b"x" * 32] * 2])
def test_a_tile_of_another_form_is_refused(data):
    class Liar:
        def read_tiles(self, wanted):
            return data

    with pytest.raises(BadTile, match="got"):
        tiles.root(1, Liar())


@pytest.mark.parametrize(("old", "leaves"), [(-1, []), (0, [b"x" * 31]), (0, [b"x" * 33]), (2**63, [])])
def test_growing_from_nothing_sensible_is_refused(old, leaves):
    with pytest.raises(tree.BadTree):
        tiles.growth(old, leaves, StoredTiles())


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0), (0, 2**63)])
def test_there_is_no_path_outside_the_tree(index, size):
    with pytest.raises(tree.BadTree):
        tiles.inclusion_proof(index, size, StoredTiles())


@pytest.mark.parametrize(("old", "size"), [(0, 3), (4, 3), (-1, 3), (1, 2**63)])
def test_there_is_no_consistency_proof_from_nothing_or_backwards(old, size):
    with pytest.raises(tree.BadTree):
        tiles.consistency_proof(old, size, StoredTiles())


@pytest.mark.parametrize(
    ("place", "path"),
    [
        (Tile(0, 0, 256), "tile/0/000"),
        (Tile(0, 0, 1), "tile/0/000.p/1"),
        (Tile(63, 999, 255), "tile/63/999.p/255"),
        (Tile(1, 1000, 256), "tile/1/x001/000"),
        (Tile(2, 1_234_067, 256), "tile/2/x001/x234/067"),
        (Bundle(1_234_067, 7), "tile/entries/x001/x234/067.p/7"),
        (Bundle(0, 256), "tile/entries/000"),
    ],
)
def test_paths_are_written_and_read_as_specified(place, path):
    assert place.path == path
    assert tiles.parse_path(path) == place


@pytest.mark.parametrize(
    "path",
    [
        "",
        "tile/0/0",
        "tile/0/0000",
        "tile/00/000",
        "tile/64/000",
        "tile/-1/000",
        "tile/0/x000/000",
        "tile/0/001/000",
        "tile/0/x001",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/000.p/",
        "tile/0/000/",
        "/tile/0/000",
        "tile/0/000\n",
        "tile/0/\u0660\u0660\u0660",
        "tile/data/000",
        "tile/0/x001/../000",
        "tile/0/" + "x999/" * 400 + "999",
    ],
)
def test_a_path_in_any_other_spelling_is_refused(path):
    with pytest.raises(BadTile):
        tiles.parse_path(path)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=256))
@settings(max_examples=drawn(50))
def test_a_bundle_reads_back_as_it_was_written(entries):
    assert tiles.parse_bundle(tiles.write_bundle(entries), len(entries)) == entries


def test_bundles_grow_like_the_lowest_tiles():
    assert tiles.grown_bundles(0, 257) == [Bundle(0, 256), Bundle(1, 1)]
    assert tiles.grown_bundles(256, 256) == []
    assert tiles.grown_bundles(255, 258) == [Bundle(0, 256), Bundle(1, 2)]


def test_a_bundle_cut_off_anywhere_or_with_more_behind_it_is_refused():
    data = tiles.write_bundle([b"", b"one", b"a longer one"])
    for end in range(len(data)):
        with pytest.raises(BadTile):
            tiles.parse_bundle(data[:end], 3)
    for more, width in ((b"\x00", 3), (b"\x00\x00", 3), (b"", 2), (b"", 4)):
        with pytest.raises(BadTile):
            tiles.parse_bundle(data + more, width)


@pytest.mark.parametrize("entries", [[], [b"x"] * 257, [b"x" * 65_536]])
def test_a_bundle_that_the_format_cannot_hold_is_not_written(entries):
    with pytest.raises(BadTile):
        tiles.write_bundle(entries)
    assert len(tiles.write_bundle([b"x" * 65_535])) == 65_537
