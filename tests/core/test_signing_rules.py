"""The signer's rules: keys made once, a memory that outlives the database, and what is refused."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest

from audit import verify
from audit.signing import reports as reporting
from audit.signing import rules
from audit.signing.errors import BadLogKey, BadMemory, HeadRefused, NotSigned
from audit.signing.messages import Growth, Unproved
from audit.signing.reports import Reports, Waiting
from audit.signing.rules import Behind, Signer
from audit.tlog import checkpoint, cosignature, growth, headleaf, note, receipt, tree
from audit.tlog.checkpoint import Checkpoint

LOG = UUID("018f0000-0000-7000-8000-000000000001")
OTHER = UUID("018f0000-0000-7000-8000-000000000002")
ORIGIN = "log.example"
BODIES = [bytes([number]) for number in range(40)]
LEAVES = [tree.leaf_hash(body) for body in BODIES]
ENTRIES = [tree.leaf_hash(b"entry %d" % number) for number in range(600)]


def root(size: int) -> bytes:
    return tree.root_of(LEAVES[:size])


def asked(old: int, size: int) -> tuple[int, bytes, int, bytes, list[bytes]]:
    """The question for the head of `size` leaves after the one of `old`."""
    return size, root(size), old, tree.append(b"", 0, LEAVES[:old]), BODIES[old:size]


def signer(state_dir: Path, **more: object) -> Signer:
    return Signer(state_dir, ORIGIN, **more)  # type: ignore[arg-type]


def sign(state_dir: Path, size: int, old: int) -> bytes:
    signed = signer(state_dir).sign_global(*asked(old, size))
    assert isinstance(signed, bytes)
    return signed


class World:
    """A global log in memory, in which heads of sessions stand, and its signer. The session of LOG has ENTRIES."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir, self.bodies, self.own = state_dir, [], signer(state_dir)

    def leaf(self, size: int, root: bytes = b"", log: UUID = LOG) -> bytes:
        return headleaf.body(Checkpoint(f"{ORIGIN}/s/{log}", size, root or tree.root_of(ENTRIES[:size])), None)

    def shown(self, old: int, size: int, entries: list[bytes] = ENTRIES, via: tuple[int, ...] = ()) -> Growth:
        """That the session grew from `old` to `size` entries."""
        nodes = growth.nodes(old, b"".join(entries[old:size]), via)
        return Growth(
            self.leaf(size, tree.root_of(entries[:size])), old, tree.append(b"", 0, entries[:old]), nodes, via
        )

    def admit(self, heads: list[Growth]) -> list[Unproved]:
        leaves = [tree.leaf_hash(body) for body in self.bodies]
        return self.own.admit(len(leaves), tree.root_of(leaves), heads)

    def stand(self, *bodies: bytes) -> bytes | Behind | list[Unproved]:
        """These become leaves of the global log, and it is signed; if it is not, they go again."""
        old = [tree.leaf_hash(body) for body in self.bodies]
        leaves = [*old, *map(tree.leaf_hash, bodies)]
        signed = self.own.sign_global(
            len(leaves), tree.root_of(leaves), len(old), tree.append(b"", 0, old), list(bodies)
        )
        if isinstance(signed, bytes):
            self.bodies += bodies
        return signed

    def grow(self, old: int, size: int) -> bytes:
        shown = self.shown(old, size)
        assert self.admit([shown]) == []
        signed = self.stand(shown.body)
        assert isinstance(signed, bytes)
        return signed

    def sign_head(self, index: int, head: bytes, grown: tuple[bytes, ...] = ()) -> bytes | Behind:
        leaves = [tree.leaf_hash(body) for body in self.bodies]
        return self.own.sign_head(self.bodies[index], index, tree.inclusion_proof(index, leaves), head, grown)


def test_a_signed_head_opens_under_the_printed_key(tmp_path):
    world = World(tmp_path)
    signed = world.sign_head(0, world.grow(0, 3))
    own = signer(tmp_path)
    text = note.open_note(signed, [note.parse_vkey(own.vkey())])
    assert checkpoint.parse(text) == Checkpoint(f"{ORIGIN}/s/{LOG}", 3, tree.root_of(ENTRIES[:3]))
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
    (tmp_path / "signer" / "heads").unlink()
    with pytest.raises(BadMemory, match="is gone"):
        signer(tmp_path)


def test_a_growing_log_is_signed_head_after_head_by_one_process_after_another(tmp_path):
    for old, size in ((0, 1), (1, 5), (5, 5), (5, 33)):
        sign(tmp_path, size, old)


def test_the_same_head_is_signed_again_with_the_same_bytes(tmp_path):
    assert sign(tmp_path, 5, 0) == sign(tmp_path, 5, 5)


def test_a_proof_from_elsewhere_is_answered_with_where_the_signer_is(tmp_path):
    sign(tmp_path, 5, 0)
    assert signer(tmp_path).sign_global(*asked(3, 9)) == Behind(5)


def test_a_global_log_that_became_shorter_is_refused_in_so_many_words(tmp_path):
    sign(tmp_path, 5, 0)
    with pytest.raises(
        HeadRefused, match=r"cut off, altered or restored from a backup\. Got 4 leaves .* signed 5 before"
    ):
        signer(tmp_path).sign_global(*asked(4, 4))


@pytest.mark.parametrize("size", [5, 6, 30])
def test_every_other_history_is_refused(size, tmp_path):
    sign(tmp_path, 5, 0)
    others = [tree.leaf_hash(b"other"), *LEAVES[1:]]
    forged = tree.append(b"", 0, others[:5])
    with pytest.raises(HeadRefused, match="does not continue"):
        signer(tmp_path).sign_global(size, tree.root_of(others[:size]), 5, forged, BODIES[5:size])
    sign(tmp_path, 7, 5)


def refusals(world: World, shown: Growth) -> str:
    """Why the signer does not admit it; and in the global log it gets no signature either."""
    (unproved,) = world.admit([shown])
    assert world.stand(shown.body) == [Unproved(LOG, unproved.sizes, "It was not admitted.")]
    return unproved.why


@pytest.mark.parametrize("old", [1, 5, 8, 300])
def test_a_session_that_grew_is_admitted_whatever_it_grew_by(old, tmp_path):
    world = World(tmp_path)
    world.grow(0, old)
    for size in (old + 1, old + 9, 600):
        world.grow(old, size)
        old = size


def test_a_session_that_became_shorter_is_refused(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    assert refusals(world, world.shown(3, 4)) == "Got 4 entries; signed 5 before."


def test_another_root_of_a_session_at_the_same_size_is_refused(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    assert "another root at 5 entries" in refusals(world, Growth(world.leaf(5, b"x" * 32)))
    assert world.admit([Growth(world.leaf(5)), Growth(world.leaf(1, log=OTHER))]) == []


def test_a_refusal_that_is_not_repeated_is_over_after_a_while(tmp_path, monkeypatch):
    world = World(tmp_path)
    world.grow(0, 5)
    for times in (1, 2):
        world.admit([world.shown(3, 4)])
        assert world.own.refused() == [LOG] * (times - 1)  # at first it says what is missing
    monkeypatch.setattr("audit.signing.rules.REFUSED", 0.0)
    assert world.own.refused() == []
    monkeypatch.undo()
    assert world.own.refused() == [LOG]
    world.admit([world.shown(5, 9)])
    assert world.own.refused() == []


def test_a_second_refusal_names_the_log_for_so_many_seconds_and_no_longer(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(rules, "time", SimpleNamespace(monotonic=clock))
    world = World(tmp_path)
    world.grow(0, 5)
    clock.now = 0.0
    for _ in range(2):
        world.admit([world.shown(3, 4)])
    for clock.now, named in ((29.9, [LOG]), (rules.REFUSED, [])):
        assert world.own.refused() == named


@pytest.mark.parametrize("cut", [1, 3, 4, 7])
@pytest.mark.parametrize("size", [9, 40, 500])
def test_a_session_cut_back_and_grown_past_its_signed_size_is_refused(cut, size, tmp_path):
    """Whatever is handed over as its growth: from what was signed, from where it was cut, or nothing."""
    world = World(tmp_path)
    world.grow(0, 8)
    others = [*ENTRIES[:cut], *(tree.leaf_hash(b"forged %d" % number) for number in range(600))]
    honest, forged = world.shown(8, size), world.shown(8, size, others)
    forgeries = [
        forged,
        Growth(forged.body, 8, honest.frontier, forged.nodes),
        Growth(forged.body, 8, honest.frontier, honest.nodes),
        world.shown(cut, size, others),
        world.shown(0, size, others),
        Growth(forged.body),
        Growth(forged.body, 8, honest.frontier, b""),
        Growth(forged.body, 8, honest.frontier[:-1], forged.nodes),
    ]
    for each in forgeries:
        assert refusals(world, each)
    world.grow(8, size)


def test_a_head_that_was_not_admitted_gets_no_signature_and_says_from_where_to_prove_it(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    shown = world.shown(5, 9)
    assert world.stand(shown.body) == [Unproved(LOG, (5,), "It was not admitted.")]
    world.admit([shown])
    assert isinstance(world.stand(shown.body), bytes)


def test_an_admission_is_worth_nothing_once_another_head_was_signed(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    late = world.shown(5, 7)
    world.admit([late])
    world.grow(5, 9)
    assert world.stand(late.body) == [Unproved(LOG, (9,), "It was not admitted.")]


def test_two_heads_of_a_log_are_not_signed_at_once_unless_one_continues_the_other(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    first, second = world.shown(5, 7), world.shown(5, 9)
    world.admit([first, second])
    assert world.stand(first.body, second.body) == [Unproved(LOG, (7,), "It was not admitted.")]


def test_what_the_signer_remembers_outlives_it(tmp_path):
    World(tmp_path).grow(0, 5)
    world = World(tmp_path)
    world.bodies = [world.leaf(5)]
    assert refusals(world, world.shown(3, 4))
    world.grow(5, 9)


def test_heads_are_remembered_in_one_file_of_64_bytes_a_log(tmp_path):
    world = World(tmp_path)
    for old, size in ((0, 1), (1, 2), (2, 30)):
        world.grow(old, size)
    for number in range(50):
        log = UUID(int=number)
        world.admit([Growth(world.leaf(1, log=log))])
        world.stand(world.leaf(1, log=log))
    assert (tmp_path / "signer" / "heads").stat().st_size == 64 * 52


def test_after_an_older_global_log_or_another_one_no_head_is_admitted(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    shown = world.shown(5, 9)
    for size, root in ((0, tree.EMPTY_ROOT), (1, b"x" * 32)):
        with pytest.raises(HeadRefused, match=r"Got 0 leaves .* signed 1 before|does not continue the one of 1"):
            world.own.admit(size, root, [shown])
    assert world.admit([shown]) == []


@pytest.mark.parametrize("leaf", [b"x", b"log.example/s/x\n1\n", b"\xff", b""])
def test_a_leaf_that_is_no_head_is_not_admitted(leaf, tmp_path):
    with pytest.raises(NotSigned, match="no head of a log"):
        signer(tmp_path).admit(0, tree.EMPTY_ROOT, [Growth(leaf)])


def test_a_head_of_another_origin_is_not_admitted(tmp_path):
    with pytest.raises(NotSigned, match="another origin"):
        signer(tmp_path).admit(
            0, tree.EMPTY_ROOT, [Growth(Checkpoint(f"other.example/s/{LOG}", 1, bytes(32)).body().encode())]
        )


def test_an_older_head_of_a_session_is_signed_where_the_newest_is_proved_to_continue_it(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    head = world.grow(5, 9)
    assert world.sign_head(0, head) == Behind(9)
    with pytest.raises(HeadRefused, match="signed 9 before"):
        world.sign_head(0, head, (b"x" * 32,))
    assert isinstance(world.sign_head(0, head, tuple(tree.consistency_proof(5, ENTRIES[:9]))), bytes)


# --- heads that were reported past the database


def reported(world: World, *sizes: int, entries: list[bytes] = ENTRIES) -> None:
    for size in sizes:
        world.own.report(LOG, size, tree.root_of(entries[:size]))


def waiting(world: World) -> list[int]:
    return [each.size for each in world.own.reports.waiting()]


def test_a_reported_head_waits_until_it_or_what_continues_it_is_signed(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    reported(world, 5, 7, 9)
    assert waiting(world) == [7, 9]
    world.grow(5, 7)
    assert waiting(world) == [9]
    world.grow(7, 20)
    assert waiting(world) == []


@pytest.mark.parametrize("size", [9, 500])
def test_a_head_that_does_not_continue_a_reported_one_is_refused(size, tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    reported(world, 7)
    others = [*ENTRIES[:6], *(tree.leaf_hash(b"forged %d" % number) for number in range(600))]
    assert "7 entries with a decision" in refusals(world, world.shown(5, size, others, via=(7,)))
    assert waiting(world) == [7]
    if size > 300:  # too many to be handed over one by one: it says from where to prove them
        assert world.admit([world.shown(5, size)])[0].sizes == (5, 7)
    assert world.admit([world.shown(5, size, via=(7,))]) == []


def test_a_head_reported_after_a_later_one_was_signed_waits_for_the_proof_that_this_continues_it(tmp_path):
    world = World(tmp_path)
    world.grow(0, 9)
    reported(world, 6)
    frontier, nodes = tree.append(b"", 0, ENTRIES[:6]), b"".join(ENTRIES[6:9])
    for wrong in ((frontier, nodes[:-32]), (frontier[:32], nodes), (frontier, nodes[32:] + nodes[:32])):
        with pytest.raises(HeadRefused, match="does not continue the 6"):
            world.own.confirm(LOG, 6, *wrong)
    assert waiting(world) == [6]
    world.own.confirm(LOG, 6, frontier, nodes)
    assert waiting(world) == []


def test_a_dismissed_head_waits_no_more_and_only_one_that_waits_is_dismissed(tmp_path):
    world = World(tmp_path)
    reported(world, 6, 7)
    for log, size in ((LOG, 8), (UUID(int=1), 6)):
        with pytest.raises(NotSigned, match=f"No reported head of log {log} with {size} entries waits"):
            world.own.dismiss(log, size)
    world.own.dismiss(LOG, 6)
    assert waiting(world) == [7]


def test_a_report_that_comes_between_admission_and_signature_waits_on(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    shown = world.shown(5, 9)
    world.admit([shown])
    reported(world, 7)
    world.stand(shown.body)
    assert waiting(world) == [7]


def test_a_sessions_head_is_signed_only_where_the_global_log_has_it(tmp_path):
    world = World(tmp_path)
    head = world.grow(0, 3)
    with pytest.raises(HeadRefused, match="not in the global log"):
        world.own.sign_head(world.leaf(5), 0, [], head)


def test_a_global_head_of_another_signer_proves_nothing(tmp_path):
    world, stranger = World(tmp_path / "own"), World(tmp_path / "stranger")
    world.grow(0, 5)
    with pytest.raises(NotSigned, match="no head of the global log that we signed"):
        world.sign_head(0, stranger.grow(0, 5))


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


def test_a_place_torn_by_a_crash_is_forgotten_for_its_head_was_never_given_out(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    memory = tmp_path / "signer" / "heads"
    whole = memory.read_bytes()
    for end in range(1, 64):
        memory.write_bytes(whole + b"x" * end)
        assert signer(tmp_path).last_of(LOG) == (5, tree.root_of(ENTRIES[:5]))
        assert memory.read_bytes() == whole


@pytest.mark.parametrize("at", [0, 3, 16, 17, 23, 24, 55, 56, 63, 64, 127])
def test_a_memory_that_cannot_be_read_signs_nothing(at, tmp_path):
    World(tmp_path).grow(0, 5)
    memory = tmp_path / "signer" / "heads"
    whole = memory.read_bytes()
    memory.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(BadMemory) as refused:
        sign(tmp_path, 6, 5)
    assert refused.value.code == "bad_signer_memory"


@pytest.mark.parametrize("room", [0, 1, 63, 65])
def test_a_memory_that_takes_only_a_part_is_as_it_was_and_nothing_is_signed(room, tmp_path, monkeypatch):
    """As on a disk that fills up: it takes what it has room for, says so by the number, and refuses the next write."""
    world = World(tmp_path)
    world.grow(0, 5)
    memory, write = tmp_path / "signer" / "heads", os.pwrite
    whole, free = memory.read_bytes(), room

    def full(descriptor: int, data: bytes, at: int) -> int:
        nonlocal free
        if at < len(whole):
            return write(descriptor, data, at)
        if not free:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = write(descriptor, data[:free], at)
        free -= taken
        return taken

    logs = [UUID(int=number) for number in range(2)]
    world.admit([Growth(world.leaf(1, log=log)) for log in logs])
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space"):
            world.stand(*(world.leaf(1, log=log) for log in logs))
    assert memory.read_bytes() == whole
    assert [world.own.last_of(log)[0] for log in logs] == [0, 0]
    assert isinstance(world.stand(*(world.leaf(1, log=log) for log in logs)), bytes)


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
    World(tmp_path).grow(0, 1)
    for path in (tmp_path / "signer", tmp_path / "signer" / "heads"):
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
    head = own.sign_global(1, tree.root_of(leaves), 0, b"", [introduction])
    own.activate(0, [], head)
    assert own.vkey() == note.parse(introduction).text.splitlines()[2]


def rotated(state_dir: Path, now: datetime) -> tuple[str, str]:
    """The old and the new public key."""
    own = signer(state_dir, now=lambda: now)
    old, introduction = own.vkey(), own.keys.announce()
    own.activate(0, [], own.sign_global(1, tree.leaf_hash(introduction), 0, b"", [introduction]))
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
    body = Checkpoint(f"{ORIGIN}/s/{LOG}", 5, b"r" * 32).body().encode()
    leaves = [tree.leaf_hash(introduction), tree.leaf_hash(body)]
    own.admit(0, tree.EMPTY_ROOT, [Growth(body)])
    head = own.sign_global(2, tree.root_of(leaves), 0, b"", [introduction, body])
    own.activate(0, tree.inclusion_proof(0, leaves), head)
    later = signer(tmp_path, now=lambda: start + timedelta(days=40))
    assert later.sign_head(body, 1, tree.inclusion_proof(1, leaves), head)


def test_a_second_signature_stands_beside_the_first_where_it_is_asked_for(tmp_path):
    own = signer(tmp_path, second=True)
    signed = own.sign_global(*asked(0, 1))
    second = note.parse_vkey(own.keys.second(), [note.ML_DSA_44])
    assert cosignature.cosigned(signed, [second]) == {second: 0}
    assert checkpoint.open_signed(signed, [note.parse_vkey(own.vkey())]).size == 1
    assert signer(tmp_path, second=True).keys.second() == str(second)


# --- the words and numbers of a refusal, by which people look for what was altered


def numbers(act) -> tuple[object, object]:
    """What a refusal says it got, and what was signed."""
    with pytest.raises(HeadRefused) as refused:
        act()
    return refused.value.facts["got"], refused.value.facts["signed"]


def test_a_refusal_of_a_global_head_says_what_it_got_and_what_was_signed(tmp_path):
    sign(tmp_path, 5, 0)
    own = signer(tmp_path)
    assert numbers(lambda: own.sign_global(*asked(4, 4))) == (4, 5)
    assert numbers(lambda: own.sign_global(7, b"x" * 32, 5, asked(5, 7)[3], BODIES[5:7])) == (7, 5)
    assert numbers(lambda: own.admit(4, root(4), [])) == (4, 5)


def test_a_refusal_of_an_older_head_says_what_it_got_and_what_was_signed(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    head = world.grow(5, 9)
    assert numbers(lambda: world.sign_head(0, head, (b"x" * 32,))) == (5, 9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "one\ntwo words\n",
            "Only what begins with a title of several words is signed as a text: no origin has a space.",
        ),
        (f"agentstate key/1\n{ORIGIN}\nx\n", "A key is introduced by `manage.py rotate-log-key` only."),
    ],
)
def test_a_text_that_is_not_signed_is_refused_in_these_words(text, said, tmp_path):
    with pytest.raises(NotSigned) as refused:
        signer(tmp_path).sign_text(text)
    assert refused.value.args[0] == said


def test_a_text_that_no_note_can_hold_is_refused_in_the_words_of_the_note(tmp_path):
    with pytest.raises(NotSigned, match=r"^.+\.$") as refused:
        signer(tmp_path).sign_text("two words\rx\n")
    assert "None" not in str(refused.value)


def test_a_key_whose_introduction_is_not_in_the_log_is_refused_in_these_words(tmp_path):
    own = signer(tmp_path)
    own.keys.announce()
    with pytest.raises(NotSigned) as refused:
        own.activate(0, [], sign(tmp_path, 1, 0))
    assert refused.value.args[0] == "The new key is not in the global log yet."


def test_the_signed_head_of_a_session_is_no_head_of_the_global_log(tmp_path):
    world = World(tmp_path)
    of_session = world.sign_head(0, world.grow(0, 3))
    assert isinstance(of_session, bytes)
    with pytest.raises(NotSigned, match="no head of the global log that we signed"):
        world.own.sign_receipt(of_session)


def test_a_log_whose_head_was_refused_twice_is_named_until_one_is_admitted(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    wrong = Growth(world.leaf(9, b"x" * 32))
    world.admit([wrong])
    assert world.own.refused() == []
    world.admit([wrong])
    assert world.own.refused() == [LOG]
    world.admit([world.shown(5, 9)])
    assert world.own.refused() == []
    world.admit([wrong])
    assert world.own.refused() == []


def test_a_head_that_is_not_admitted_is_named_with_its_log_and_from_where_it_must_be_proved(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    forged = world.leaf(9, b"x" * 32)
    honest = world.shown(5, 9)
    assert world.admit([Growth(forged)]) == [
        Unproved(LOG, (5,), "It is not proved to continue the 5 entries that were signed before.")
    ]
    assert world.admit([Growth(forged, 5, honest.frontier, honest.nodes)]) == [
        Unproved(LOG, (5,), "Got 9 entries that do not continue the 5 that were signed before.")
    ]


def test_two_heads_of_a_log_that_were_not_admitted_are_both_named_the_second_from_the_first(tmp_path):
    world = World(tmp_path)
    world.grow(0, 5)
    assert world.stand(world.leaf(7), world.leaf(9)) == [
        Unproved(LOG, (5,), "It was not admitted."),
        Unproved(LOG, (7,), "It was not admitted."),
    ]


def test_so_many_admissions_wait_and_the_oldest_is_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(rules, "MOST_ADMITTED", 2)
    world = World(tmp_path)
    leaves = [world.leaf(1, log=UUID(int=number)) for number in range(3)]
    world.admit([Growth(leaf) for leaf in leaves[:2]])
    assert isinstance(world.stand(leaves[0]), bytes)
    assert isinstance(world.stand(leaves[1]), bytes)
    world = World(tmp_path / "again")
    assert world.admit([Growth(leaf) for leaf in leaves]) == []
    (unproved,) = world.stand(leaves[0])
    assert unproved.log == UUID(int=0)
    assert isinstance(world.stand(*leaves[1:]), bytes)


def test_the_head_that_was_signed_last_is_signed_again_whatever_comes_with_the_question(tmp_path):
    world = World(tmp_path)
    signed = world.grow(0, 5)
    size, head_root = world.own.last() or (0, b"")
    assert world.own.sign_global(size, head_root, size, b"", [world.leaf(9)]) == signed


@pytest.mark.parametrize(
    ("leaf", "why"),
    [
        (Checkpoint(f"{ORIGIN}/s/x", 1, bytes(32)), "it names no log"),
        (Checkpoint(f"{ORIGIN}/s/{LOG.hex}", 1, bytes(32)), "it is of another origin"),
        (Checkpoint(f"other.example/s/{LOG}", 1, bytes(32)), "it is of another origin"),
    ],
)
def test_a_leaf_that_is_no_head_of_ours_is_refused_in_these_words(leaf, why, tmp_path):
    with pytest.raises(NotSigned) as refused:
        signer(tmp_path).admit(0, tree.EMPTY_ROOT, [Growth(leaf.body().encode())])
    assert refused.value.args[0] == f"A leaf is no head of a log under {ORIGIN}: {why}."


def test_an_origin_may_hold_what_stands_before_a_logs_name(tmp_path):
    origin = "log.example/s/eu"
    own = Signer(tmp_path, origin)
    leaf = headleaf.body(Checkpoint(f"{origin}/s/{LOG}", 1, b"r" * 32), None)
    assert own.admit(0, tree.EMPTY_ROOT, [Growth(leaf)]) == []
    assert isinstance(own.sign_global(1, tree.leaf_hash(leaf), 0, b"", [leaf]), bytes)
    assert own.last_of(LOG) == (1, b"r" * 32)


def test_in_the_memory_a_log_stands_under_its_id_and_the_global_log_under_its_letter(tmp_path):
    World(tmp_path).grow(0, 5)
    held = (tmp_path / "signer" / "heads").read_bytes()
    assert sorted(held[at : at + 17] for at in (0, 64)) == [b"g".ljust(17, b"\0"), b"l" + LOG.bytes]


# --- what waits


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_waits_is_told_with_log_size_root_and_seconds_oldest_first():
    clock = Clock()
    reports = Reports(clock)
    reports.add(OTHER, 3, b"o" * 32)
    clock.now = 130.0
    reports.add(LOG, 7, b"r" * 32)
    reports.add(LOG, 7, b"another")
    clock.now = 161.5
    assert reports.waiting() == [Waiting(OTHER, 3, b"o" * 32, 61.5), Waiting(LOG, 7, b"r" * 32, 31.5)]
    assert reports.root(LOG, 7) == b"r" * 32


def test_so_many_heads_of_a_log_wait_and_no_more(monkeypatch):
    monkeypatch.setattr(reporting, "MOST", 3)
    reports = Reports(Clock())
    for size in range(1, 6):
        reports.add(LOG, size, b"r" * 32)
    assert reports.sizes(LOG, 0, 9) == (1, 2, 3)
    reports.forget(LOG, 2)
    reports.add(LOG, 9, b"r" * 32)
    assert reports.sizes(LOG, 0, 9) == (1, 3, 9)


def test_heads_of_so_many_logs_wait_and_a_log_that_waits_no_more_makes_room(monkeypatch):
    monkeypatch.setattr(reporting, "MOST_LOGS", 1)
    reports = Reports(Clock())
    reports.add(LOG, 1, b"r" * 32)
    reports.add(OTHER, 1, b"o" * 32)
    assert [each.log for each in reports.waiting()] == [LOG]
    reports.forget(LOG, 1)
    reports.add(OTHER, 1, b"o" * 32)
    assert [each.log for each in reports.waiting()] == [OTHER]


def test_what_does_not_wait_can_be_forgotten():
    reports = Reports(Clock())
    reports.forget(LOG, 1)
    reports.add(LOG, 2, b"r" * 32)
    reports.forget(LOG, 1)
    assert reports.sizes(LOG, 0, 9) == (2,)


def test_a_signed_head_ends_the_wait_of_its_own_report_only_if_it_has_the_same_root():
    reports = Reports(Clock())
    reports.add(LOG, 2, b"r" * 32)
    reports.signed(LOG, 2, b"x" * 32, ())
    assert reports.sizes(LOG, 1, 2) == (2,)
    assert reports.sizes(LOG, 2, 9) == ()
    reports.signed(LOG, 2, b"r" * 32, ())
    assert reports.waiting() == []
