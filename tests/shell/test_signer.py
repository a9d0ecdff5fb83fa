"""The signer: keys made once, and a memory that outlives the database."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from audit import signer as client
from audit import verify
from audit.signing import messages
from audit.signing.errors import AlreadySigning, BadLogKey, BadMemory, HeadRefused, NotSigned, SignerDown
from audit.signing.rules import Behind, Signer
from audit.signing.server import Diary, held
from audit.tlog import checkpoint, cosignature, note, receipt, tree
from tests.processes import ROOT, eventually

LOG = UUID("018f0000-0000-7000-8000-000000000001")
OTHER = UUID("018f0000-0000-7000-8000-000000000002")
ORIGIN = "log.example"
LEAVES = [tree.leaf_hash(bytes([number])) for number in range(40)]


def root(size: int) -> bytes:
    return tree.root_of(LEAVES[:size])


def proof(old: int, size: int) -> list[bytes]:
    return tree.consistency_proof(old, LEAVES[:size]) if old else []


def signer(state_dir: Path, **more: object) -> Signer:
    return Signer(state_dir, ORIGIN, **more)  # type: ignore[arg-type]


def sign(state_dir: Path, size: int, old: int) -> bytes:
    signed = signer(state_dir).sign_global(size, root(size), old, proof(old, size))
    assert isinstance(signed, bytes)
    return signed


class World:
    """A global log in memory, in which heads of sessions stand, and its signer."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir, self.bodies = state_dir, []

    def sign_head(self, size: int, root: bytes = b"r" * 32, log: UUID = LOG) -> bytes:
        old = [tree.leaf_hash(body) for body in self.bodies]
        self.bodies.append(checkpoint.Checkpoint(f"{ORIGIN}/s/{log}", size, root).body().encode())
        leaves = [*old, tree.leaf_hash(self.bodies[-1])]
        proof = tree.consistency_proof(len(old), leaves) if old else []
        own = signer(self.state_dir)
        head = own.sign_global(len(leaves), tree.root_of(leaves), len(old), proof)
        return own.sign_head(log, size, root, len(old), tree.inclusion_proof(len(old), leaves), head)


def test_a_signed_head_opens_under_the_printed_key(tmp_path):
    signed = World(tmp_path).sign_head(3)
    own = signer(tmp_path)
    text = note.open_note(signed, [note.parse_vkey(own.vkey())])
    assert checkpoint.parse(text) == checkpoint.Checkpoint(f"{ORIGIN}/s/{LOG}", 3, b"r" * 32)
    assert verify.read_session_head(text, verify.read_vkey(own.vkey()).name).log == str(LOG)


def test_the_key_is_made_once_and_only_its_owner_may_read_it(tmp_path):
    first = signer(tmp_path).vkey()
    assert signer(tmp_path).vkey() == first
    file = tmp_path / "secrets" / "log.key"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["log.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_key_that_others_may_read_is_refused_in_one_line(mode, tmp_path):
    signer(tmp_path)
    (tmp_path / "secrets" / "log.key").chmod(mode)
    with pytest.raises(BadLogKey, match="chmod 600") as refused:
        signer(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_key_file_that_holds_no_key_is_refused(content, tmp_path):
    signer(tmp_path)
    (tmp_path / "secrets" / "log.key").write_bytes(content)
    with pytest.raises(BadLogKey, match="not a private key"):
        signer(tmp_path)


def test_a_lost_key_is_not_replaced_in_silence(tmp_path):
    sign(tmp_path, 3, 0)
    (tmp_path / "secrets" / "log.key").unlink()
    with pytest.raises(BadLogKey, match="restore it"):
        signer(tmp_path)


def test_a_lost_memory_is_not_begun_anew_in_silence(tmp_path):
    sign(tmp_path, 3, 0)
    (tmp_path / "signer" / "global.heads").unlink()
    with pytest.raises(BadMemory, match="is gone"):
        signer(tmp_path)


def test_a_growing_log_is_signed_head_after_head_by_one_process_after_another(tmp_path):
    for old, size in ((0, 1), (1, 5), (5, 5), (5, 33)):
        sign(tmp_path, size, old)


def test_the_same_head_is_signed_again_with_the_same_bytes(tmp_path):
    assert sign(tmp_path, 5, 0) == sign(tmp_path, 5, 5)


def test_a_proof_from_elsewhere_is_answered_with_where_the_signer_is(tmp_path):
    sign(tmp_path, 5, 0)
    assert signer(tmp_path).sign_global(9, root(9), 3, proof(3, 9)) == Behind(5)


def test_a_global_log_that_became_shorter_is_refused_in_so_many_words(tmp_path):
    sign(tmp_path, 5, 0)
    with pytest.raises(
        HeadRefused, match=r"cut off, altered or restored from a backup\. Got 4 leaves .* signed 5 before"
    ):
        signer(tmp_path).sign_global(4, root(4), 4, [])


@pytest.mark.parametrize("size", [5, 6, 30])
def test_every_other_history_is_refused(size, tmp_path):
    sign(tmp_path, 5, 0)
    others = [tree.leaf_hash(b"other"), *LEAVES[1:]]
    forged = tree.consistency_proof(5, others[:size])
    with pytest.raises(HeadRefused, match="does not continue"):
        signer(tmp_path).sign_global(size, tree.root_of(others[:size]), 5, forged)
    sign(tmp_path, 7, 5)


def test_a_session_that_became_shorter_is_refused(tmp_path):
    world = World(tmp_path)
    world.sign_head(5)
    with pytest.raises(HeadRefused, match="Got 4 entries; signed 5 before"):
        world.sign_head(4)


def test_another_root_of_a_session_at_the_same_size_is_refused(tmp_path):
    world = World(tmp_path)
    world.sign_head(5)
    with pytest.raises(HeadRefused, match="Got root"):
        world.sign_head(5, b"x" * 32)
    world.sign_head(6, b"x" * 32)
    world.sign_head(1, log=OTHER)


def test_a_sessions_head_is_signed_only_where_the_global_log_has_it(tmp_path):
    own = signer(tmp_path)
    head = own.sign_global(3, root(3), 0, [])
    with pytest.raises(HeadRefused, match="not in the global log"):
        own.sign_head(LOG, 5, b"r" * 32, 1, tree.inclusion_proof(1, LEAVES[:3]), head)


def test_a_global_head_of_another_signer_proves_nothing(tmp_path):
    stranger = signer(tmp_path / "stranger")
    body = checkpoint.Checkpoint(f"{ORIGIN}/s/{LOG}", 5, b"r" * 32).body().encode()
    head = stranger.sign_global(1, tree.leaf_hash(body), 0, [])
    with pytest.raises(NotSigned, match="no head of the global log that we signed"):
        signer(tmp_path / "own").sign_head(LOG, 5, b"r" * 32, 0, [], head)


def test_receipts_are_signed_only_under_a_head_that_was_signed(tmp_path):
    head = sign(tmp_path, 5, 0)
    vkey, signature = signer(tmp_path).sign_receipt(head)
    key = note.parse_vkey(vkey)
    data = receipt.make(key, 3, 5, tree.inclusion_proof(3, LEAVES[:5]), signature)
    assert receipt.verify(data, bytes([3]), key).size == 5
    stranger = sign(tmp_path / "stranger", 5, 0)
    for unsigned in (head.replace(b"\n5\n", b"\n6\n"), stranger, signer(tmp_path).sign_text("a b\n"), b"", b"\n\n"):
        with pytest.raises(NotSigned):
            signer(tmp_path).sign_receipt(unsigned)


def test_a_line_torn_by_a_crash_is_forgotten_for_its_head_was_never_given_out(tmp_path):
    sign(tmp_path, 5, 0)
    memory = tmp_path / "signer" / "global.heads"
    whole = memory.read_bytes()
    line = f"7 {root(6).hex()}\n".encode()
    for end in range(1, len(line)):
        memory.write_bytes(whole + line[:end])
        sign(tmp_path, 7, 5)
        assert memory.read_bytes() == whole + f"7 {root(7).hex()}\n".encode()


@pytest.mark.parametrize("line", ["nonsense\n", "5\n", "5 00\n", f"-5 {'00' * 32}\n", "\n", "\x00\n"])
def test_a_memory_that_cannot_be_read_signs_nothing(line, tmp_path):
    sign(tmp_path, 5, 0)
    with (tmp_path / "signer" / "global.heads").open("a") as memory:
        memory.write(line)
    with pytest.raises(BadMemory) as refused:
        sign(tmp_path, 6, 5)
    assert refused.value.code == "bad_signer_memory"


def test_a_long_memory_is_rewritten_with_its_last_line(tmp_path, monkeypatch):
    monkeypatch.setattr("audit.signing.memory.LONG", 300)
    for size in range(1, 40):
        sign(tmp_path, size, size - 1)
    assert (tmp_path / "signer" / "global.heads").stat().st_size < 400
    with pytest.raises(HeadRefused):
        sign(tmp_path, 38, 38)


@pytest.mark.parametrize("text", [f"{ORIGIN}\n1\n", f"agentstate key/1\n{ORIGIN}\nx\n", "two words\rx\n", "two words"])
def test_what_could_be_read_as_a_head_or_a_key_is_not_signed_as_a_text(text, tmp_path):
    with pytest.raises(NotSigned):
        signer(tmp_path).sign_text(text)


@pytest.mark.parametrize("origin", ["", "two words", "a+b"])
def test_an_origin_that_cannot_name_a_key_is_refused(origin, tmp_path):
    with pytest.raises(BadLogKey, match="LOG_ORIGIN"):
        Signer(tmp_path, origin)


def test_a_key_that_signed_under_another_origin_is_refused(tmp_path):
    signer(tmp_path)
    with pytest.raises(BadLogKey, match="LOG_ORIGIN"):
        Signer(tmp_path, "another.example")


def test_the_memory_is_readable_by_its_owner_only(tmp_path):
    World(tmp_path).sign_head(1)
    for path in (tmp_path / "signer", tmp_path / "signer" / "global.heads", tmp_path / "signer" / f"{LOG}.heads"):
        assert path.stat().st_mode & 0o077 == 0
        assert path.stat().st_uid == os.getuid()


# --- new keys


def test_a_new_key_signs_only_once_its_introduction_stands_in_a_signed_head(tmp_path):
    own = signer(tmp_path)
    old, introduction = own.vkey(), own.keys.announce()
    assert own.keys.announce() == introduction
    leaves = [tree.leaf_hash(introduction)]
    with pytest.raises(NotSigned, match="not in the global log"):
        own.activate(0, [], sign(tmp_path, 1, 0))
    assert own.vkey() == old
    own = signer(tmp_path / "another")
    introduction = own.keys.announce()
    leaves = [tree.leaf_hash(introduction)]
    head = own.sign_global(1, tree.root_of(leaves), 0, [])
    own.activate(0, [], head)
    assert own.vkey() == note.parse(introduction).text.splitlines()[2]


def rotated(state_dir: Path, now: datetime) -> tuple[str, str]:
    """The old and the new public key."""
    own = signer(state_dir, now=lambda: now)
    old, introduction = own.vkey(), own.keys.announce()
    own.activate(0, [], own.sign_global(1, tree.leaf_hash(introduction), 0, []))
    return old, own.vkey()


def test_for_a_while_both_keys_sign_and_then_the_old_one_is_gone(tmp_path):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    old, new = rotated(tmp_path, start)
    during = signer(tmp_path, now=lambda: start + timedelta(days=29)).sign_text("two words\n")
    for vkey in (old, new):
        assert note.open_note(during, [note.parse_vkey(vkey)])
    after = signer(tmp_path, now=lambda: start + timedelta(days=31)).sign_text("two words\n")
    assert note.open_note(after, [note.parse_vkey(new)])
    with pytest.raises(note.BadNote):
        note.open_note(after, [note.parse_vkey(old)])
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["log-2.key"]


def test_verifiers_follow_the_chain_of_keys(tmp_path):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    old, new = rotated(tmp_path, start)
    own = signer(tmp_path, now=lambda: start + timedelta(days=40))
    (introduction,) = own.keys.introductions()
    text = note.open_note(introduction, [note.parse_vkey(old)])
    assert text == f"agentstate key/1\n{ORIGIN}\n{new}\n"


def test_heads_signed_by_a_retired_key_are_still_known_as_our_own(tmp_path):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    own = signer(tmp_path, now=lambda: start)
    introduction = own.keys.announce()
    body = checkpoint.Checkpoint(f"{ORIGIN}/s/{LOG}", 5, b"r" * 32).body().encode()
    leaves = [tree.leaf_hash(introduction), tree.leaf_hash(body)]
    head = own.sign_global(2, tree.root_of(leaves), 0, [])
    own.activate(0, tree.inclusion_proof(0, leaves), head)
    later = signer(tmp_path, now=lambda: start + timedelta(days=40))
    assert later.sign_head(LOG, 5, b"r" * 32, 1, tree.inclusion_proof(1, leaves), head)


# --- the process


def _serve(state_dir: Path) -> None:
    from audit.signing.server import serve

    serve(Signer(state_dir, ORIGIN), state_dir, state_dir / "s.sock")


@pytest.fixture
def process(tmp_path):
    """A signer's process on `tmp_path`; started anew by calling `.begin()`."""

    class Process:
        def begin(self) -> None:
            self.child = multiprocessing.get_context("spawn").Process(target=_serve, args=(tmp_path,))
            self.child.start()
            eventually(self.answers, what="the signer answers")

        def answers(self) -> bool:
            try:
                client.ask(messages.Status(), tmp_path / "s.sock")
            except SignerDown:
                return False
            return True

        def kill(self) -> None:
            os.kill(self.child.pid, signal.SIGKILL)
            self.child.join()

    running = Process()
    running.begin()
    yield running
    running.kill()


def test_the_socket_is_its_owners_only_and_a_killed_signer_is_down_until_it_is_back(process, tmp_path):
    assert (tmp_path / "s.sock").stat().st_mode & 0o777 == 0o600
    process.kill()
    with pytest.raises(SignerDown):
        client.ask(messages.Status(), tmp_path / "s.sock")
    process.begin()


def test_a_second_signer_on_the_same_state_is_refused(process, tmp_path):
    with pytest.raises(AlreadySigning), held(tmp_path / "signer"):
        pass


def test_killed_at_any_moment_it_signs_on_and_never_two_histories(process, tmp_path):
    """The one who asks remembers nothing: it learns from the signer where it is."""
    size = 0
    for number in range(12):
        deadline = time.monotonic() + 0.01 * number
        while time.monotonic() < deadline and size < 39:
            size += 1
            _sign_over(tmp_path, size)
        process.kill()
        process.begin()
    with pytest.raises(HeadRefused):
        client.ask(messages.SignGlobal(size, b"x" * 32, size, []), tmp_path / "s.sock")
    _sign_over(tmp_path, size)


def _sign_over(state_dir: Path, size: int) -> None:
    old = 0
    while isinstance(answer := client.ask(messages.SignGlobal(size, root(size), old, proof(old, size)),
                                          state_dir / "s.sock"), messages.Behind):  # fmt: skip
        old = answer.size


@pytest.mark.parametrize(
    "line", [b"\n", b"{}\n", b'{"type":"x"}\n', b"[1]\n", b'{"type":"global","size":-1}\n', b"\xff\n"]
)
def test_nonsense_is_refused_and_the_next_question_answered(line, process, tmp_path):
    answer = client._talk(tmp_path / "s.sock", line)
    assert b"malformed" in answer
    assert process.answers()


def test_a_size_of_no_sense_is_refused(process, tmp_path):
    with pytest.raises(NotSigned):
        client.ask(messages.SignGlobal(-1, b"x" * 32, 0, []), tmp_path / "s.sock")


def test_a_downtime_is_found_at_the_next_start(tmp_path):
    tmp_path.joinpath("signer").mkdir()
    Diary(tmp_path / "signer", gap=10)
    os.utime(tmp_path / "signer" / "alive", (time.time() - 60, time.time() - 60))
    (found,) = Diary(tmp_path / "signer", gap=10).downtimes()
    assert 59 < (found.until - found.since).total_seconds() < 65
    assert Diary(tmp_path / "signer", gap=10).downtimes() == [found]


def test_the_signer_needs_neither_django_nor_the_database():
    script = "import sys, audit.signing.server; sys.exit('django' in sys.modules or 'psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


def test_a_second_signature_stands_beside_the_first_where_it_is_asked_for(tmp_path):
    own = signer(tmp_path, second=True)
    signed = own.sign_global(1, root(1), 0, [])
    second = note.parse_vkey(own.keys.second(), [note.ML_DSA_44])
    assert cosignature.cosigned(signed, [second]) == {second: 0}
    assert checkpoint.open_signed(signed, [note.parse_vkey(own.vkey())]).size == 1
    assert signer(tmp_path, second=True).keys.second() == str(second)
