"""The public log below /log/: what anybody may read of it, and that nothing unsigned or personal is among it."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client

from audit import globallog, growth, ledger, rotation, sequencer, signer, verify
from audit.tlog import checkpoint, note, policy, tiles, tree
from tests import cast

pytestmark = pytest.mark.django_db


def get(path: str, **headers: str):
    return Client(headers=headers or None).get(f"/log/{path}")


def grow(leaves: int) -> None:
    sequencer.run_once(cast.tenant().pk, extra=[f"leaf {number}\n".encode() for number in range(leaves)])


def served_head() -> checkpoint.Checkpoint:
    return checkpoint.open_signed(get("checkpoint").content, [note.parse_vkey(signer.vkey())])


class Served:
    """Tiles as their readers get them."""

    def read_tiles(self, wanted):
        return [get(each.path).content for each in wanted]


def test_the_whole_log_is_read_from_the_addresses_alone_and_leads_to_the_signed_root():
    for leaves in (1, 254, 1, 1, 300):
        grow(leaves)
        head = served_head()
        entries = [
            entry
            for each in tiles.grown_bundles(0, head.size)
            for entry in tiles.parse_bundle(get(each.path).content, each.width)
        ]
        assert tiles.root(head.size, Served()) == tree.root_of([tree.leaf_hash(each) for each in entries]) == head.root


def test_kinds_and_caching_are_those_of_the_specification():
    grow(257)
    answers = {path: get(path) for path in ("checkpoint", "tile/0/000", "tile/1/000.p/1", "tile/entries/000")}
    assert answers["checkpoint"]["Content-Type"] == "text/plain; charset=utf-8"
    assert answers["checkpoint"]["Cache-Control"] == "public, max-age=2"
    for answer in list(answers.values())[1:]:
        assert answer["Content-Type"] == "application/octet-stream"
        assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    for answer in answers.values():
        assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (200, "*")
        assert "Cookie" not in answer.get("Vary", "")
        assert not answer.cookies


def test_entries_are_packed_for_those_who_take_it():
    grow(256)
    packed = get("tile/entries/000", accept_encoding="gzip")
    assert packed["Content-Encoding"] == "gzip"
    assert len(packed.content) < len(get("tile/entries/000").content)


@pytest.mark.parametrize(
    "path",
    [
        *("tile/0/001", "tile/0/001.p/45", "tile/entries/001.p/45", "tile/entries/001", "tile/1/000", "tile/1/000.p/2"),
        *("tile/2/000.p/1", "tile/63/000.p/1", "tile/64/000", "tile/00/000", "tile/0/0", "tile/0/0000", "tile/-1/000"),
        *(
            "tile/0/000.p/0",
            "tile/0/000.p/256",
            "tile/0/000.p/01",
            "tile/0/x000/000",
            "tile/0/x001",
            "tile/0/",
            "tile/",
        ),
        *("tile/entries/x999/x999/x999/x999/x999/x999/999", "tile/0/x009/x223/x372/x036/x854/x775/808", "tile/0/٠٠٠"),
        *("tile/entries/../entries/000", "tile/entries/000/", "tile/entries/", "other"),
    ],
)
def test_what_is_not_there_is_not_found_and_nobody_remembers_that(path):
    grow(300)  # 44 leaves in the second tile
    answer = get(path)
    assert answer.status_code == 404
    assert answer.get("Cache-Control", "no-store") == "no-store"


def test_before_the_first_head_there_is_nothing():
    assert get("checkpoint").status_code == get("tile/0/000.p/1").status_code == 404


def test_leaves_are_served_only_once_they_are_signed(monkeypatch):
    grow(3)

    def down(*_: object) -> bytes:
        raise signer.SignerDown("gone")

    with monkeypatch.context() as without:
        without.setattr(signer, "sign_global", down)
        with pytest.raises(signer.SignerDown):
            grow(2)
    assert globallog.state(cast.tenant().pk).size == 5
    assert served_head().size == 3
    assert get("tile/0/000.p/3").status_code == 200
    for path in ("tile/0/000.p/4", "tile/0/000.p/5", "tile/entries/000.p/4", "tile/entries/000.p/5"):
        assert get(path).status_code == 404
    growth.sign(cast.tenant().pk)
    assert get("tile/entries/000.p/5").status_code == 200


def test_a_head_that_states_more_leaves_than_are_stored_serves_none_of_them():
    grow(3)
    tenant = cast.tenant().pk
    ledger.run(
        "INSERT INTO audit_signedhead (tenant, size, signed_at, note) SELECT tenant, 5, now(), note"
        " FROM audit_signedhead WHERE tenant = %(tenant)s",
        {"tenant": tenant},
    )
    for path in ("tile/0/000.p/5", "tile/entries/000.p/5"):
        assert get(path).status_code == 404
    for read in (globallog.tile, lambda *words: globallog.bundle(words[0], *words[2:])):
        with pytest.raises(globallog.NotThere):
            read(tenant, 0, 0, 5)
    with pytest.raises(globallog.NotThere, match="leaf 3"):
        globallog.body(tenant, 3)


def test_keys_and_their_rotations_are_told():
    grow(1)
    first = signer.vkey()
    origin = verify.read_vkey(first).name
    assert get("key").json() == {"origin": origin, "key": first, "second": "", "keys": [first], "rotations": []}
    rotation.rotate(cast.tenant().pk)
    told = get("key").json()
    (turned,) = told["rotations"]
    assert told["keys"] == [first, signer.vkey()] == [first, told["key"]]
    assert globallog.body(cast.tenant().pk, turned["index"]) == turned["note"].encode()
    signer.announce()
    assert get("key").json()["keys"] == told["keys"]


def test_the_policy_is_one_that_verifiers_read(settings):
    told = policy.parse(get("policy").content)
    assert [str(log.key) for log in told.logs] == [signer.vkey()]
    assert verify.read_policy(get("policy").content).quorum == "none"


def test_without_a_signer_keys_are_asked_for_later_and_the_log_is_read_on(settings):
    grow(1)
    settings.SIGNER_SOCKET = "/nowhere/signer.sock"
    assert [get(path).status_code for path in ("key", "policy", "checkpoint", "tile/0/000.p/1")] == [503, 503, 200, 200]


def test_one_address_that_asks_too_often_waits_a_minute_and_others_do_not(settings):
    settings.LOG_READS_PER_MINUTE = 3
    answers = [get("checkpoint") for _ in range(9)]  # more than twice as many: the minute may change once
    assert answers[-1].status_code == 429
    assert 1 <= int(answers[-1]["Retry-After"]) <= 60
    assert Client(REMOTE_ADDR="10.0.0.9").get("/log/checkpoint").status_code == 404
    settings.LOG_READS_PER_MINUTE = 0
    assert get("checkpoint").status_code == 404
    cache.clear()


@pytest.mark.parametrize("path", ["checkpoint", "tile/0/000.p/1", "tile/entries/000.p/1", "key", "policy"])
def test_it_is_only_read(path):
    grow(1)
    assert Client().post(f"/log/{path}").status_code == 405
    assert Client().head(f"/log/{path}").status_code == 200


def test_a_head_that_is_the_same_is_not_sent_twice():
    grow(1)
    etag = get("checkpoint")["ETag"]
    assert get("checkpoint", if_none_match=etag).status_code == 304
    grow(1)
    assert get("checkpoint", if_none_match=etag).status_code == 200
