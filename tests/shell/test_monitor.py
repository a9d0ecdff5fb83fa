"""The monitor against logs of every kind of honesty, served over real HTTP; it runs as one file, far from all else."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit import ledger, monitor, rotation, sequencer, signer
from audit.tlog import headleaf, note, tiles
from audit.tlog import proof as tlog_proof
from audit.tlog import tree as own_tree
from audit.tlog.checkpoint import Checkpoint
from audit.witness import Server, Witness
from tests import cast
from tests.core.tlog_world import LOG, OTHER_LOG, SIGNER, STRANGER, THIRD_LOG, GlobalLog, TestSigner, naive_root
from tests.core.tlog_world import Witness as Cosigner
from tests.processes import ROOT
from tests.searching import drawn
from tests.shell.test_ledger import batch

SUCCESSOR = TestSigner(Ed25519PrivateKey.from_private_bytes(b"2" * 32))
THIRD = TestSigner(Ed25519PrivateKey.from_private_bytes(b"3" * 32))


class Website:
    """Serves what a log says: its head, and tiles computed from its leaves by the definition."""

    def __init__(self, log: GlobalLog) -> None:
        self.log, self.cosigners, self.files, self.lengths, self.asked = log, (), {}, {}, []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                data = site.file(self.path.removeprefix("/log/"))
                self.send_response(200 if data is not None else 404)
                length = site.lengths.get(self.path.removeprefix("/log/"), len(data or b""))
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/log"

    def file(self, path: str) -> bytes | None:
        if path in self.files:
            return self.files[path]
        if path == "checkpoint":
            return self.log.checkpoint(*self.cosigners)
        try:
            wanted, leaves = tiles.parse_path(path), self.log.leaves
        except ValueError:
            return None
        span = 256**wanted.level if isinstance(wanted, tiles.Tile) else 1
        first = wanted.index * 256
        if (first + wanted.width) * span > len(leaves):
            return None
        if isinstance(wanted, tiles.Bundle):
            return tiles.write_bundle(leaves[first : first + wanted.width])
        return b"".join(naive_root(leaves[at * span : (at + 1) * span]) for at in range(first, first + wanted.width))


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(monitor, "AHEAD", 0.01)
    monkeypatch.setattr(monitor, "PATIENCE", 0.01)


@pytest.fixture
def site() -> Iterator[Website]:
    log = GlobalLog()
    log.add_head(LOG, [b"one"])
    log.add_map()
    website = Website(log)
    yield website
    website.server.shutdown()


def watch(site: Website, folder: Path, *words: str, key: str = "") -> int:
    trusted = [] if "--policy" in words else ["--key", key or SIGNER.vkey()]
    return monitor.main([site.url, *trusted, "--state", str(folder / "state"), "--once", *words])


def evidence(folder: Path) -> dict:
    (path,) = (folder / "state").glob("evidence-*.json")
    return json.loads(path.read_text())


def grow(log: GlobalLog, heads: int, maps: int = 1) -> None:
    for number in range(heads):
        which = (LOG, OTHER_LOG, THIRD_LOG)[number % 3]
        log.add_head(which, [b"entry"] * (log.latest.get(str(which), (0, 0))[1] + 1))
        if maps and number % maps == maps - 1:
            log.add_map()


def test_a_log_is_followed_from_its_first_leaf_and_only_what_is_new_is_fetched(site, tmp_path, capsys):
    for heads in (0, 3, 130, 10, 1):
        grow(site.log, heads)
        site.asked.clear()
        assert watch(site, tmp_path) == 0
        assert f"{len(site.log.leaves)} leaves" in capsys.readouterr().out
    assert len(site.asked) == 2  # the head, and the one bundle that grew
    assert (tmp_path / "state" / "head").read_bytes() == site.log.checkpoint()


@given(st.integers(1, 600), st.data())
def test_proofs_from_tiles_are_those_of_the_tree(size, data):
    leaves = [own_tree.leaf_hash(bytes([number % 251, number // 251])) for number in range(size)]
    stored = {
        each.path: b"".join(
            own_tree.root_of(leaves[at * 256**each.level : (at + 1) * 256**each.level])
            for at in range(each.index * 256, each.index * 256 + each.width)
        )
        for each in tiles.tiles_of(size)
    }
    hashes = monitor.Hashes(size, lambda path, _most: stored[path])
    index = data.draw(st.integers(0, size - 1))
    assert hashes.inclusion(index) == own_tree.inclusion_proof(index, leaves)
    old = data.draw(st.integers(1, size))
    if old < size:
        path = hashes.consistency(old)
        assert path == own_tree.consistency_proof(old, leaves)
        roots = own_tree.root_of(leaves[:old]), own_tree.root_of(leaves)
        assert monitor.roots_of_consistency(old, size, path, roots[0]) == roots


def another(leaves: int) -> GlobalLog:
    """A log by the same key with another history."""
    log = GlobalLog()
    log.add_head(LOG, [b"another"])
    while len(log.leaves) < leaves:
        log.add_map()
    return log


@pytest.mark.parametrize("before", [2, 3, 4, 7, 8, 300])
def test_a_fork_is_reported_with_both_heads_and_a_proof(before, site, tmp_path, capsys):
    grow(site.log, before - 2, maps=0)
    assert watch(site, tmp_path) == 0
    honest = site.log.checkpoint()
    site.log = another(before + 5)
    assert watch(site, tmp_path) == 1
    found = evidence(tmp_path)
    assert (found["kind"], found["heads"]) == ("fork", [honest.decode(), site.log.checkpoint().decode()])
    path = [base64.b64decode(each) for each in found["consistency"]]
    claimed = base64.b64decode(found["old_root_by_that_proof"])
    assert own_tree.verify_consistency(before, before + 5, claimed, naive_root(site.log.leaves), path)
    assert claimed == naive_root(site.log.leaves[:before])
    assert "ALARM fork: two histories" in capsys.readouterr().out
    assert watch(site, tmp_path) == 1  # it is not forgotten


def test_who_forks_and_hides_the_hashes_is_reported_all_the_same(site, tmp_path):
    watch(site, tmp_path)
    site.log = another(6)
    site.files = {"tile/0/000.p/6": None}
    assert watch(site, tmp_path) == 1
    assert evidence(tmp_path)["kind"] == "unserved"


def test_two_heads_of_one_size_are_a_fork(site, tmp_path):
    watch(site, tmp_path)
    site.log = another(2)
    assert watch(site, tmp_path) == 1
    assert evidence(tmp_path)["kind"] == "fork"


def test_a_log_that_went_back_is_reported(site, tmp_path):
    grow(site.log, 5)
    watch(site, tmp_path)
    del site.log.leaves[4:]
    assert watch(site, tmp_path) == 1
    assert evidence(tmp_path)["kind"] == "back"


def lie(site: Website, folder: Path) -> dict:
    """What is found, with proofs of the leaves that show it which hold under the head that the log signed."""
    assert watch(site, folder) == 1
    found = evidence(folder)
    head = Checkpoint(SIGNER.origin, len(site.log.leaves), naive_root(site.log.leaves))
    for index, text in found["proofs"].items():
        tlog_proof.verify(text.encode(), site.log.leaves[int(index)], lambda _: head)
    assert not (folder / "state" / "head").exists()
    return found


@pytest.mark.parametrize("entries", [[b"x"], [b"other", b"two"]])
def test_a_session_that_was_cut_off_or_rewritten_is_shown_by_both_its_leaves(entries, site, tmp_path):
    first = site.log.add_head(OTHER_LOG, [b"one", b"two"])
    second = site.log.add_head(OTHER_LOG, entries)
    found = lie(site, tmp_path)
    assert set(found["proofs"]) == {str(first), str(second)}
    assert "was cut off or rewritten" in found["words"]


def test_every_head_map_is_recomputed(site, tmp_path):
    site.log.add_head(OTHER_LOG, [b"one"])
    newer = site.log.add_head(OTHER_LOG, [b"one", b"two"])
    site.log.latest[str(OTHER_LOG)] = (newer - 1, 1)  # the map says that the older head is the latest
    false = site.log.add_map()
    site.log.latest[str(OTHER_LOG)] = (newer, 2)
    site.log.add_map()  # the next one is right again
    found = lie(site, tmp_path)
    assert set(found["proofs"]) == {str(false)}
    assert "the leaves before it give" in found["words"]


def said(*lines: object) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


ROOT_64 = base64.b64encode(bytes(32)).decode()
INSTANTS = "2026-11-21T10:00:00.000000Z", "2026-11-21T11:00:00.000000Z"


@pytest.mark.parametrize(
    "leaf",
    [
        b"",
        b"\xff",
        b"free text",
        said("customer.example", 3, ROOT_64),
        said(f"{SIGNER.origin}/s/not-a-session", 3, ROOT_64),
        said(f"other/s/{LOG}", 3, ROOT_64),
        said(f"{SIGNER.origin}/s/{OTHER_LOG}", "03", ROOT_64),
        said(f"{SIGNER.origin}/s/{OTHER_LOG}", 3, ROOT_64, "Ms Miller called"),
        said(f"{SIGNER.origin}/s/{OTHER_LOG}", 3, "AAAA"),
        said(monitor.MAP_TITLE, SIGNER.origin, 2, 7, ROOT_64),
        said(monitor.MAP_TITLE, SIGNER.origin, 9, 1, ROOT_64),
        said(monitor.MAP_TITLE, "other", 2, 1, ROOT_64),
        said(monitor.MAP_TITLE, SIGNER.origin, 2, 1),
        said(monitor.GAP_TITLE, SIGNER.origin, "signer", *reversed(INSTANTS)),
        said(monitor.GAP_TITLE, SIGNER.origin, "somebody", *INSTANTS),
        said(monitor.GAP_TITLE, SIGNER.origin, "signer", "yesterday", "today"),
        said(monitor.KEY_TITLE, SIGNER.origin, SUCCESSOR.vkey()),
        STRANGER.sign_text(f"{monitor.KEY_TITLE}\n{SIGNER.origin}\n{SUCCESSOR.vkey()}\n"),
        SIGNER.sign_text(f"{monitor.KEY_TITLE}\n{SIGNER.origin}\nno key\n"),
        SIGNER.sign_text(f"{monitor.KEY_TITLE}\nother\n{SUCCESSOR.vkey()}\n"),
        SIGNER.sign_text(f"{monitor.KEY_TITLE}\n{SIGNER.origin}\n{SUCCESSOR.vkey()}\n").replace(b"\n\n", b"\n\n\n"),
    ],
)
def test_every_leaf_has_one_of_four_forms(leaf, site, tmp_path):
    site.log.add(leaf)
    assert set(lie(site, tmp_path)["proofs"]) == {"2"}


def test_downtimes_are_counted(site, tmp_path, capsys):
    site.log.add(said(monitor.GAP_TITLE, SIGNER.origin, "sequencer", *INSTANTS))
    assert watch(site, tmp_path) == 0
    assert "1 downtimes" in capsys.readouterr().out


def test_new_keys_are_followed_and_a_retired_one_signs_no_more(site, tmp_path):
    watch(site, tmp_path)
    for key in (SUCCESSOR, THIRD):
        site.log.add_rotation(key)
        grow(site.log, 2)
        assert watch(site, tmp_path) == 0
    site.log.signer = SIGNER
    grow(site.log, 1)
    assert watch(site, tmp_path) == 1
    assert evidence(tmp_path)["kind"] == "unsigned"


@pytest.mark.parametrize("trusted", [SIGNER, SUCCESSOR, THIRD])
def test_who_begins_with_any_key_of_the_chain_gets_through_the_whole_log(trusted, site, tmp_path):
    for key in (SUCCESSOR, THIRD):
        site.log.add_rotation(key)
        grow(site.log, 2)
    assert watch(site, tmp_path, key=trusted.vkey()) == 0


def test_a_log_under_another_key_is_not_the_log_i_follow(site, tmp_path, capsys):
    assert watch(site, tmp_path, key=STRANGER.vkey()) == 4
    found = evidence(tmp_path)
    name, key_id, _ = SIGNER.vkey().split("+", 2)
    assert (found["kind"], found["trusted"], found["signed_under"]) == (
        "stranger",
        [STRANGER.vkey()],
        [f"{name}+{key_id}"],
    )
    assert "ALARM stranger: not the log I follow" in capsys.readouterr().out


def test_a_log_that_changed_its_key_without_an_introduction_is_not_the_log_i_follow(site, tmp_path):
    assert watch(site, tmp_path) == 0
    site.log.signer = STRANGER
    for leaves in (0, 1, 1):
        grow(site.log, leaves)
        assert watch(site, tmp_path) == 4
    site.log.signer = SIGNER
    assert watch(site, tmp_path) == 0  # it did not become what the stranger showed


def test_a_log_under_another_origin_is_not_the_log_i_follow(site, tmp_path):
    site.log = GlobalLog(TestSigner(SIGNER.key, "other.example"))
    site.log.add_head(LOG, [b"one"])
    assert watch(site, tmp_path) == 4
    assert evidence(tmp_path)["trusted"] == [SIGNER.vkey()]


def test_a_signature_under_our_keys_name_that_is_not_its_own_is_refused(site, tmp_path):
    text, _, _ = site.log.checkpoint().decode().partition("\n\n")
    forged = note.sign(f"{text}\n", SIGNER.origin, STRANGER.key).decode()
    _, key_id, _ = SIGNER.vkey().split("+", 2)
    mark, raw = forged.rsplit(" ", 1)
    signature = base64.b64encode(bytes.fromhex(key_id) + base64.b64decode(raw)[4:]).decode()
    site.files["checkpoint"] = f"{mark} {signature}\n".encode()
    assert watch(site, tmp_path) == 1
    assert evidence(tmp_path)["kind"] == "unsigned"


@pytest.mark.parametrize("named", ["none", "another leaf", "another hash"])
def test_a_head_that_does_not_name_the_one_before_it_is_reported(named, site, tmp_path):
    """As when a head was taken back: the log that grew past it hides the leaf between, or names an older one."""
    grow(site.log, 5, maps=0)
    index = site.log.latest[str(LOG)][0]
    before = {
        "none": None,
        "another leaf": headleaf.Before(0, own_tree.leaf_hash(site.log.leaves[0])),
        "another hash": headleaf.Before(index, bytes(32)),
    }[named]
    head = Checkpoint(SIGNER.origin_of(LOG), 50, bytes(32))
    at = site.log.add(headleaf.body(head, before))
    assert set(lie(site, tmp_path)["proofs"]) == {str(index), str(at)}


@given(steps=st.lists(st.sampled_from([LOG, OTHER_LOG, THIRD_LOG, "map", "look"]), max_size=14))
@settings(max_examples=drawn(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_honest_log_that_grows_in_any_rhythm_is_never_accused(steps, site):
    site.log = GlobalLog()
    site.log.add_head(LOG, [b"one"])
    with tempfile.TemporaryDirectory() as folder:
        for step in [*steps, "look", "map", "look"]:
            if step == "look":
                assert watch(site, Path(folder)) == 0
            elif step == "map":
                site.log.add_map()
            else:
                site.log.add_head(step, [b"entry"] * (site.log.latest.get(str(step), (0, 0))[1] + 1))


def test_one_byte_changed_in_the_head_is_never_believed(site, tmp_path):
    whole = site.log.checkpoint()
    for at in range(len(whole)):
        site.files["checkpoint"] = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        assert watch(site, tmp_path / str(at)) != 0, at


@pytest.mark.parametrize("path", ["tile/entries/000.p/2"])
@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff", b"\x00\x00\x00\x00", b"\x00\x01a\x00\x01b", b"x" * 70000])
def test_leaves_other_than_those_signed_end_in_words(path, data, site, tmp_path):
    site.files[path] = data
    assert watch(site, tmp_path) == 1
    assert evidence(tmp_path)["kind"] in ("malformed", "unserved")


@pytest.mark.parametrize("claimed", [2**20 + 3, 10**15])
def test_an_endless_log_that_nobody_signed_is_not_read(claimed, site, tmp_path):
    head = Checkpoint(SIGNER.origin, claimed, bytes(32)).body()
    site.files["checkpoint"] = STRANGER.sign_text(head)
    assert watch(site, tmp_path) == 4
    assert len(site.asked) == 1


HOSTILE = [b"", b"\n\n", b"\xff" * 300, b"a\n" * 60_000, b"x" * 2_000_000, b"\xe2\x80\x94 " * 1000, b"\n" * 1000]


@pytest.mark.parametrize("data", HOSTILE)
def test_whatever_is_served_ends_in_words(data, site, tmp_path, capsys):
    for path in ("checkpoint", "tile/entries/000.p/2"):
        site.files = {path: data}
        assert watch(site, tmp_path) in (1, 3)
    assert "Traceback" not in capsys.readouterr().out


@pytest.mark.parametrize("data", [*HOSTILE, b"h" * 96, None])
def test_who_lies_and_hides_the_hashes_is_convicted_all_the_same(data, site, tmp_path):
    site.log.add(b"no leaf")
    site.files = {"tile/0/000.p/3": data}
    assert watch(site, tmp_path) == 1
    assert evidence(tmp_path)["kind"] == "lie"


@given(data=st.data())
@settings(max_examples=drawn(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_altered_anywhere_in_what_is_served_are_never_believed(data, site):
    path = data.draw(st.sampled_from(["checkpoint", "tile/entries/000.p/2"]))
    whole = bytearray(site.file(path))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    if bytes(whole) == site.file(path):
        return
    site.files = {path: bytes(whole)}
    with tempfile.TemporaryDirectory() as folder:
        assert watch(site, Path(folder)) in (1, 3, 4)
    site.files = {}


def test_a_broken_connection_is_no_lie(site, tmp_path, monkeypatch):
    whole = site.file("tile/entries/000.p/2")
    site.lengths["tile/entries/000.p/2"] = len(whole)
    site.files["tile/entries/000.p/2"] = whole[:-20]
    assert watch(site, tmp_path) == 3


def test_a_memory_that_is_no_database_is_said_in_one_line(site, tmp_path, capsys):
    watch(site, tmp_path)
    (tmp_path / "state" / "seen.sqlite").write_bytes(b"nothing" * 1000)
    assert watch(site, tmp_path) in (2, 3)


def test_a_log_that_is_away_is_no_lie(site, tmp_path, capsys):
    site.server.shutdown()
    site.server.server_close()
    assert watch(site, tmp_path) == 3
    assert "NOT SEEN" in capsys.readouterr().out


def test_a_silent_log_is_stale(site, tmp_path, capsys, monkeypatch):
    first = time.time()
    monkeypatch.setattr(monitor.time, "time", lambda: first)
    assert watch(site, tmp_path) == 0
    monkeypatch.setattr(monitor.time, "time", lambda: first + 24 * 3600)
    assert watch(site, tmp_path) == 0
    monkeypatch.setattr(monitor.time, "time", lambda: first + 24 * 3600 + 1)
    assert watch(site, tmp_path) == 3
    assert "STALE" in capsys.readouterr().out


def policy(folder: Path, *lines: str) -> str:
    path = folder / "policy"
    path.write_text("".join(f"{line}\n" for line in (f"log {SIGNER.vkey()}", *lines)))
    return str(path)


def test_the_witnesses_of_a_policy_must_have_cosigned_and_say_how_fresh_the_head_is(site, tmp_path, capsys):
    cosigner = Cosigner(at=1_795_000_000)
    trusted = policy(tmp_path, f"witness w {cosigner.vkey()}", "quorum w")
    assert watch(site, tmp_path, "--policy", trusted) == 1
    assert evidence(tmp_path)["kind"] == "unwitnessed"
    site.cosigners = (cosigner,)
    assert watch(site, tmp_path, "--policy", trusted, "--max-age", "1000000") == 0
    assert watch(site, tmp_path, "--policy", trusted, "--max-age", "0.001") == 3
    assert "cosigned by w" in capsys.readouterr().out


def test_a_head_that_another_auditor_holds_is_compared(site, tmp_path, capsys):
    held = tmp_path / "theirs"
    held.write_bytes(site.log.checkpoint())
    grow(site.log, 20)
    assert watch(site, tmp_path, "--held", str(held)) == 0
    assert "theirs saw the same" in capsys.readouterr().out
    held.write_bytes(another(9).checkpoint())
    assert watch(site, tmp_path, "--held", str(held)) == 1
    found = evidence(tmp_path)
    assert (found["kind"], len(found["heads"])) == ("fork", 2)


def test_what_another_auditor_saw_and_we_are_not_shown_is_reported(site, tmp_path):
    longer = GlobalLog(leaves=[*site.log.leaves], latest=dict(site.log.latest))
    grow(longer, 3)
    (tmp_path / "theirs").write_bytes(longer.checkpoint())
    assert watch(site, tmp_path, "--held", str(tmp_path / "theirs")) == 1
    assert evidence(tmp_path)["kind"] == "hidden"


def test_a_foreign_file_accuses_nobody(site, tmp_path):
    (tmp_path / "theirs").write_bytes(another(2).checkpoint().replace(b"\n2\n", b"\n3\n"))
    assert watch(site, tmp_path, "--held", str(tmp_path / "theirs")) == 3
    assert watch(site, tmp_path, "--held", str(tmp_path / "nothing")) == 3


@pytest.fixture
def witness(tmp_path) -> Iterator[tuple[Witness, str]]:
    own = Witness(tmp_path / "witness", "witness.example/w1", [note.parse_vkey(SIGNER.vkey())])
    server = Server(("127.0.0.1", 0), own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield own, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_a_witness_is_asked_whether_it_saw_the_same(site, witness, tmp_path, capsys):
    trusted = policy(tmp_path, f"witness w {witness[0].vkey()} {witness[1]}", "quorum none")
    for heads in (0, 3, 40):
        grow(site.log, heads)
        assert watch(site, tmp_path, "--policy", trusted) == 0
        assert "w saw the same" in capsys.readouterr().out
    site.log = another(len(site.log.leaves) + 3)
    assert watch(site, tmp_path / "another", "--policy", trusted) == 1
    found = evidence(tmp_path / "another")
    assert found["kind"] == "fork"
    assert "saw another history" in found["words"]


def test_a_witness_that_saw_more_than_we_are_shown_is_believed(site, witness, tmp_path):
    trusted = policy(tmp_path, f"witness w {witness[0].vkey()} {witness[1]}", "quorum none")
    longer = GlobalLog(leaves=[*site.log.leaves], latest=dict(site.log.latest))
    grow(longer, 3)
    request = urllib.request.Request(f"{witness[1]}/add-checkpoint", b"old 0\n\n" + longer.checkpoint())
    urllib.request.urlopen(request).read()
    assert watch(site, tmp_path, "--policy", trusted) == 1
    assert evidence(tmp_path)["kind"] == "hidden"


def test_a_state_of_another_log_is_not_mixed_up(site, tmp_path, capsys):
    watch(site, tmp_path)
    assert watch(site, tmp_path, key=STRANGER.vkey()) == 4
    assert "another key" in capsys.readouterr().out
    found = evidence(tmp_path)
    assert (found["trusted"], found["followed"]) == ([STRANGER.vkey()], [SIGNER.vkey()])


@pytest.mark.parametrize("words", [["ftp://x", "--key", SIGNER.vkey()], ["http://x", "--key", "no key"]])
def test_wrong_usage_is_said_in_one_line(words, tmp_path, capsys):
    assert monitor.main([*words, "--state", str(tmp_path), "--once"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_file_runs_alone_without_the_project_and_without_django(site, tmp_path):
    shutil.copy(ROOT / "audit" / "monitor.py", tmp_path / "monitor.py")
    command = [sys.executable, "-P", str(tmp_path / "monitor.py"), site.url, "--key", SIGNER.vkey()]
    result = subprocess.run(
        [*command, "--state", str(tmp_path / "state"), "--once"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": ""},
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "OK: 2 leaves" in result.stdout


# --- against this installation


@pytest.mark.django_db(transaction=True)
def test_an_installation_is_followed_over_its_public_addresses(live_server, tmp_path, capsys):
    tenant, first = cast.tenant().pk, signer.vkey()
    words = [f"{live_server.url}/log", "--key", first, "--state", str(tmp_path / "state"), "--once"]
    for number in range(3):
        ledger.create(uuid4(), tenant, batch(b"hello"))
        sequencer.run_once(tenant, with_map=True)
        if number:
            rotation.rotate(tenant)
        call_command("monitor", *words)
    *_, last = capsys.readouterr().out.splitlines()
    assert "3 logs; 1 heads, 1 head maps recomputed, 1 new keys" in last
