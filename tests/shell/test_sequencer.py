"""The global log on a real PostgreSQL: rounds, races, what is refused, and the head map."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from datetime import timedelta
from importlib import import_module
from uuid import UUID, uuid4

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from audit import globallog, ledger, sequencer, sequencer_leader, server_clock, signer
from audit.tlog import headmap, note, tiles, tree
from audit.tlog.checkpoint import open_signed
from tests.processes import ROOT, eventually
from tests.shell.test_ledger import TENANT, batch, new_log
from tests.shell.together import at_once


def grown(head: ledger.Head) -> ledger.Head:
    longer = ledger.append(head, batch(b"more"))
    assert longer is not None
    return longer


def leaves() -> list[bytes]:
    return [body for _, body in globallog.bodies(TENANT, 0, globallog.state(TENANT).size)]


def naive_root() -> bytes:
    return tree.root_of([tree.leaf_hash(body) for body in leaves()])


def heads_of(log: UUID) -> list[int]:
    """The sizes with which `log` stands in the global log, in order."""
    mine = f"{globallog.origin_of(log)}\n".encode()
    return [int(body.split(b"\n")[1]) for body in leaves() if body.startswith(mine)]


def dirty() -> int:
    return ledger.run("SELECT count(*) FROM audit_head WHERE dirty_since IS NOT NULL", {})[0][0]


def opened() -> object:
    head = globallog.signed_head(TENANT)
    assert head is not None
    return open_signed(head.checkpoint, [note.parse_vkey(signer.vkey())])


@pytest.mark.django_db
def test_dirty_heads_stand_in_a_signed_head_of_the_global_log_and_are_clean():
    logs = [new_log(b"one", b"two") for _ in range(3)]
    done = sequencer.run_once(TENANT)
    assert (done.first, done.size, done.heads) == (0, 3, 3)
    assert {head.log: globallog.latest_place(head.log).size for head in logs} == dict.fromkeys([h.log for h in logs], 2)
    assert (opened().size, opened().root) == (3, naive_root())
    assert dirty() == 0
    assert all(0 <= lag < 60 for lag in done.lags)


@pytest.mark.django_db
def test_a_round_with_nothing_to_do_leaves_nothing():
    new_log()
    sequencer.run_once(TENANT)
    before = globallog.signed_head(TENANT)
    assert sequencer.run_once(TENANT, with_map=False).heads == 0
    assert globallog.signed_head(TENANT) == before


@pytest.mark.django_db
def test_every_head_is_proven_from_tiles_whatever_the_size():
    log = new_log()
    for size in (1, 2, 3, 200):
        for _ in range(size):
            new_log()
        sequencer.run_once(TENANT)
        place, head = sequencer.settle(log.log), globallog.signed_head(TENANT)
        proof = globallog.inclusion(TENANT, place.index, head.size)
        leaf = tree.leaf_hash(globallog.body(TENANT, place.index))
        assert tree.verify_inclusion(place.index, head.size, leaf, proof, head.root)
        log = grown(log)


@pytest.mark.django_db
def test_tiles_of_many_rounds_are_those_of_the_whole_tree():
    class InMemory:
        def __init__(self) -> None:
            self.held: dict[tuple[int, int], bytes] = {}

        def read_tiles(self, wanted):
            return [self.held[tile.level, tile.index] for tile in wanted]

    for many in (255, 1, 1, 300):
        sequencer.run_once(TENANT, extra=[uuid4().bytes for _ in range(many)])
    whole = tiles.growth(0, [tree.leaf_hash(body) for body in leaves()], InMemory())
    for tile, data in whole:
        assert globallog.tile(TENANT, tile.level, tile.index, tile.width) == data
    head = globallog.signed_head(TENANT)
    for old in (1, 255, 256, 257, 500, 557):
        old_root = tree.root_of([tree.leaf_hash(body) for body in leaves()[:old]])
        assert tree.verify_consistency(old, 557, old_root, head.root, globallog.consistency(TENANT, old, 557))


@pytest.mark.django_db
def test_at_most_the_cap_is_taken_and_the_one_that_is_wanted_first(monkeypatch):
    monkeypatch.setattr(sequencer, "CAP", 3)
    for _ in range(5):
        new_log()
    last = new_log()
    assert sequencer.run_once(TENANT, wanted=[last.log]).heads == 3
    assert globallog.latest_place(last.log)
    assert dirty() == 3
    assert sequencer.run_once(TENANT).heads == 3
    assert dirty() == 0


@pytest.mark.django_db
def test_a_head_marked_dirty_that_stands_in_the_log_already_is_not_doubled():
    """As after a kill between the commit of a round and the marking."""
    log = new_log().log
    sequencer.run_once(TENANT)
    connection.cursor().execute("UPDATE audit_head SET dirty_since = now()")
    assert sequencer.run_once(TENANT).heads == 0
    assert (heads_of(log), dirty()) == ([1], 0)


@pytest.mark.django_db
def test_a_head_is_marked_clean_once_it_was_quiet_for_a_while():
    log = new_log()
    for _ in range(2):
        sequencer.advance(TENANT)
        assert sequencer.mark_clean(TENANT, quiet=60)
        assert dirty() == 1  # and its next change is found by its size
        log = grown(log)
    sequencer.advance(TENANT)
    assert sequencer.mark_clean(TENANT, quiet=0)
    assert (heads_of(log.log), dirty()) == ([1, 2, 3], 0)


@pytest.mark.django_db
def test_a_head_that_stayed_marked_waits_from_the_last_look_at_the_earliest():
    log = new_log()
    sequencer.advance(TENANT)
    looked = sequencer.advance(TENANT)
    assert looked.whole
    grown(log)
    (lag,) = sequencer.advance(TENANT, seen=looked.read_at).lags
    assert 0 < lag <= (globallog.signed_head(TENANT).signed_at - looked.read_at).total_seconds()


@pytest.mark.django_db
def test_a_map_can_be_added_without_a_look_for_heads():
    first = new_log()
    sequencer.advance(TENANT)
    second = new_log()
    assert sequencer.advance(TENANT, with_heads=False, with_map=True).mapped
    assert (heads_of(first.log), heads_of(second.log), kept_map()) == ([1], [], replayed_map())


@pytest.mark.django_db(transaction=True)
def test_nothing_is_signed_from_within_a_transaction_that_could_be_rolled_back():
    new_log()
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        sequencer.run_once(TENANT)


@pytest.mark.django_db(transaction=True)
def test_rounds_at_once_lose_and_double_nothing():
    logs = [new_log() for _ in range(8)]

    def write(head: ledger.Head) -> None:
        for _ in range(20):
            head = grown(head)

    def sequence() -> None:
        for _ in range(25):
            sequencer.run_once(TENANT, with_map=True)

    at_once(*[lambda head=head: write(head) for head in logs], *[sequence] * 3)
    sequencer.run_once(TENANT, with_map=True)
    for head in logs:
        sizes = heads_of(head.log)
        assert sizes == sorted(set(sizes))
        assert sizes[-1] == 21
    assert opened().root == naive_root()
    assert dirty() == 0
    assert kept_map() == replayed_map()


@pytest.mark.django_db(transaction=True)
def test_a_stalled_transaction_stalls_no_round_and_is_not_lost(test_database):
    stalled, other = new_log(), new_log()
    with psycopg.connect(**_params()) as stranger:
        stranger.execute("SELECT 1 FROM audit_head WHERE log = %s FOR UPDATE", [stalled.log])
        assert sequencer.run_once(TENANT).heads == 2
        assert dirty() == 1  # the one whose row is locked stays marked
        other = grown(other)
        assert sequencer.run_once(TENANT).heads == 1
        frontier = tree.append(stalled.frontier, 1, [tree.leaf_hash(b"late")])
        stranger.execute("INSERT INTO audit_entry (log, seq, envelope) VALUES (%s, 1, 'late')", [stalled.log])
        stranger.execute("UPDATE audit_head SET size = 2, frontier = %s WHERE log = %s", [frontier, stalled.log])
    assert sequencer.run_once(TENANT).heads == 1
    assert (heads_of(stalled.log), heads_of(other.log), dirty()) == ([1, 2], [1, 2], 0)


def _params() -> dict[str, object]:
    params = connection.get_connection_params()
    return {name: value for name, value in params.items() if name not in ("cursor_factory", "context")}


# --- the head map


def kept_map() -> headmap.MapHead:
    return headmap.parse_head(globallog.body(TENANT, globallog.state(TENANT).mapped))


def replayed_map() -> headmap.MapHead:
    """The newest map as a monitor recomputes it, from the leaves alone."""
    position, latest = globallog.state(TENANT).mapped, {}
    for index, body in enumerate(leaves()[:position]):
        lines = body.decode().split("\n")
        if "/s/" in lines[0]:
            latest[hashlib.sha256(lines[0].encode()).digest()] = headmap.value_of(index, int(lines[1]))
    memory = headmap.MemoryMap()
    return headmap.MapHead(kept_map().origin, position, len(latest), memory.set(latest))


@pytest.mark.django_db
def test_the_head_map_follows_from_the_leaves_before_it():
    logs = [new_log() for _ in range(20)]
    for number in range(4):
        sequencer.run_once(TENANT, with_map=number % 2 == 0)
        logs = [grown(log) if position % (number + 2) == 0 else log for position, log in enumerate(logs)]
        new_log()
    sequencer.run_once(TENANT, with_map=True)
    assert kept_map() == replayed_map()
    assert kept_map().count == 24


@pytest.mark.django_db
def test_a_map_says_which_head_is_the_latest_and_that_a_log_is_absent():
    log = grown(new_log())
    place = sequencer.settle(log.log, with_map=True)
    found = globallog.map_proof(TENANT, log.log)
    assert found.place == place == globallog.Place(0, 2)
    assert headmap.verify(headmap.key_of(globallog.origin_of(log.log)), found.proof, found.head.root)
    assert globallog.signed_head(TENANT).size > found.index == found.head.position
    nobody = uuid4()
    absent = globallog.map_proof(TENANT, nobody)
    assert absent.place is None
    assert headmap.verify(headmap.key_of(globallog.origin_of(nobody)), absent.proof, absent.head.root)


@pytest.mark.django_db
def test_a_map_that_would_say_the_same_is_not_written():
    new_log()
    assert sequencer.run_once(TENANT, with_map=True).mapped
    assert not sequencer.run_once(TENANT, with_map=True).mapped


# --- what is refused


@pytest.fixture
def tampering(test_database):
    """Statements as a superuser without triggers."""

    def run(sql: str, *values: object) -> None:
        with test_database.administrator(test_database.name) as superuser:
            superuser.execute("SET session_replication_role = replica")
            superuser.execute(sql, values)

    return run


@pytest.mark.django_db(transaction=True)
def test_a_restored_older_database_is_refused_at_the_next_signature_and_sessions_go_on(test_database):
    """Yesterday's database, the signer's memory of today."""
    head = new_log()
    sequencer.run_once(TENANT)
    yesterday = _copied(test_database)
    sequencer.settle(grown(head).log)
    _restore(test_database, yesterday)
    went_on = grown(ledger.read_head(head.log))
    with pytest.raises(signer.HeadRefused, match="cut off, altered or restored from a backup"):
        sequencer.run_once(TENANT)
    for _ in range(3):
        went_on = grown(went_on)
        with pytest.raises(signer.HeadRefused, match="restored from a backup"):
            sequencer.settle(head.log)
    assert globallog.state(TENANT).size <= 2  # nothing is piled on what is refused


def _copied(database) -> str:
    from django.db import connections

    connections.close_all()
    with database.administrator() as superuser:
        superuser.execute(f'DROP DATABASE IF EXISTS "{database.name}_yesterday"')
        superuser.execute(f'CREATE DATABASE "{database.name}_yesterday" TEMPLATE "{database.name}"')
    return f"{database.name}_yesterday"


def _restore(database, copy: str) -> None:
    from django.db import connections

    connections.close_all()
    with database.administrator() as superuser:
        superuser.execute(f'DROP DATABASE "{database.name}" WITH (FORCE)')
        superuser.execute(f'ALTER DATABASE "{copy}" RENAME TO "{database.name}"')


@pytest.mark.django_db(transaction=True)
def test_two_histories_of_the_global_log_are_not_both_signed(tampering):
    new_log()
    sequencer.run_once(TENANT)
    tampering("UPDATE audit_gstate SET frontier = sha256('another history')")
    new_log()
    with pytest.raises(signer.HeadRefused, match="does not continue"):
        sequencer.run_once(TENANT)


@pytest.mark.django_db(transaction=True)
def test_a_log_cut_off_in_its_head_row_is_left_out_and_refused_when_asked_for(tampering):
    before = new_log()
    sequencer.settle(grown(before).log)
    tampering("UPDATE audit_head SET size = 1, frontier = %s, dirty_since = now()", before.frontier)
    assert sequencer.run_once(TENANT).altered == (before.log,)
    with pytest.raises(signer.HeadRefused, match="Got 1 entries; signed 2 before"):
        sequencer.settle(before.log)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("lie", ["size = 1", "frontier = 'nonsense'", "size = 1, frontier = 'nonsense'"])
def test_an_altered_head_row_is_refused_after_one_round_and_told_once(lie, tampering, monkeypatch, caplog):
    log, rounds, run_once = grown(new_log()).log, [], sequencer.run_once
    sequencer.settle(log)
    tampering(f"UPDATE audit_head SET {lie}, dirty_since = now()")
    monkeypatch.setattr(sequencer, "run_once", lambda *args, **said: rounds.append(1) or run_once(*args, **said))
    with pytest.raises(signer.HeadRefused):
        sequencer.settle(log)
    assert (len(rounds), len(caplog.records)) in {(1, 1), (0, 0)}  # none: the global log contradicts it already


@pytest.mark.django_db(transaction=True)
def test_another_history_of_a_log_at_the_same_size_is_refused_when_asked_for(tampering):
    log = new_log().log
    sequencer.settle(log)
    tampering("UPDATE audit_head SET frontier = sha256('another history')")
    with pytest.raises(signer.HeadRefused, match="signed another before"):
        sequencer.settle(log)


@pytest.mark.django_db(transaction=True)
def test_a_head_row_that_cannot_be_hashed_is_left_out_and_the_others_are_not(tampering):
    bad, good = new_log(), new_log()
    tampering("UPDATE audit_head SET frontier = 'nonsense' WHERE log = %s", bad.log)
    done = sequencer.run_once(TENANT)
    assert (done.heads, done.altered) == (1, (bad.log,))
    assert globallog.latest_place(good.log)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_glog SET body = ''",
        "DELETE FROM audit_tile",
        "TRUNCATE audit_signedhead",
        "DELETE FROM audit_place",
    ],
)
def test_the_application_may_not_rewrite_the_global_log(statement):
    with pytest.raises(Exception, match="permission denied"):
        connection.cursor().execute(statement)


@pytest.mark.django_db
@pytest.mark.parametrize("column", ["size", "fence", "mapped"])
def test_the_state_of_the_global_log_only_grows(column):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    with pytest.raises(Exception, match="only grows"), transaction.atomic():
        connection.cursor().execute(f"UPDATE audit_gstate SET {column} = {column} - 1")


@pytest.mark.django_db
def test_without_a_signer_sessions_go_on_and_heads_wait(settings):
    log = new_log()
    right, settings.SIGNER_SOCKET = settings.SIGNER_SOCKET, "/nowhere/signer.sock"
    for _ in range(3):
        log = grown(log)
        with pytest.raises(signer.SignerDown):
            sequencer.run_once(TENANT)
    settings.SIGNER_SOCKET = right
    sequencer.settle(log.log)
    assert heads_of(log.log) == [4]  # nothing is put into the log that nobody would sign


# --- the one that is elected


class Office:
    """A sequencer in a thread, as the process runs it."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            sequencer_leader.keep_sequencing(lambda: TENANT, self.over)
        finally:
            connection.close()

    def stop(self) -> None:
        self.over.set()
        self.thread.join()


@pytest.fixture
def offices(monkeypatch, settings):
    """Two sequencers at once."""
    monkeypatch.setattr(sequencer_leader, "REST", 0.1)
    settings.SEQUENCE_EVERY = 0.02
    both = [Office(), Office()]
    yield both
    for office in both:
        office.stop()


@pytest.mark.django_db(transaction=True)
def test_of_two_sequencers_one_is_elected_and_the_other_takes_over(offices):
    first = new_log()
    eventually(lambda: globallog.latest_place(first.log), what="sequenced")
    assert fence() == 1
    with psycopg.connect(**_params()) as stranger:
        stranger.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s",
            [sequencer_leader.LOCK],
        )
    eventually(lambda: fence() == 2, what="another term")
    second = new_log()
    eventually(lambda: globallog.latest_place(second.log), what="sequenced by the next")


def fence() -> int:
    rows = ledger.run("SELECT fence FROM audit_gstate", {})
    return rows[0][0] if rows else 0


@pytest.mark.django_db
def test_a_deposed_sequencer_writes_nothing():
    sequencer.begin(TENANT)
    connection.cursor().execute("UPDATE audit_gstate SET fence = 5")
    new_log()
    with pytest.raises(sequencer.Deposed):
        sequencer.run_once(TENANT, fence=4)
    assert leaves() == []


@pytest.mark.django_db(transaction=True)
def test_downtimes_of_both_are_found_at_start_and_stand_in_the_global_log(settings, monkeypatch, test_database):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    connection.cursor().execute("UPDATE audit_gstate SET alive_at = now() - interval '1 hour'")
    line = b'{"since":"2026-01-01T00:00:00.000001Z","until":"2026-01-01T00:01:00Z"}\n'
    downtimes = test_database.signer.state_dir / "signer" / "downtimes"
    downtimes.write_bytes(line)
    for _ in range(2):
        office = Office()
        eventually(lambda: len(globallog.gaps(TENANT)) == 2, what="two gaps")
        office.stop()
    downtimes.unlink()
    hour, minute = globallog.gaps(TENANT)
    assert (hour.part, minute.part) == ("sequencer", "signer")
    assert timedelta(hours=1) <= hour.until - hour.since <= server_clock.now() - hour.since
    assert globallog.body(TENANT, minute.index).decode() == (
        f"agentstate gap/1\n{settings.LOG_ORIGIN}\nsigner\n2026-01-01T00:00:00.000001Z\n2026-01-01T00:01:00.000000Z\n"
    )


@pytest.mark.django_db(transaction=True)
def test_an_idle_log_is_signed_anew(settings):
    sequencer.run_once(TENANT, extra=[b"leaf"])
    settings.REPUBLISH_EVERY = 0.1
    office = Office()
    eventually(lambda: ledger.run("SELECT count(*) FROM audit_signedhead", {})[0][0] > 2, what="signed anew")
    office.stop()
    assert globallog.state(TENANT).size == 1


# --- commands


@pytest.fixture
def of_the_house(monkeypatch):
    """The commands look after the tests' tenant."""
    for name in ("rotate_log_key", "headmap"):
        monkeypatch.setattr(import_module(f"audit.management.commands.{name}"), "tenant", lambda: TENANT)


@pytest.mark.django_db
def test_the_head_map_is_checked_and_made_anew_from_the_leaves(of_the_house):
    for _ in range(3):
        sequencer.settle(new_log().log, with_map=True)
    call_command("headmap", "--check")
    connection.cursor().execute("UPDATE audit_mapbucket SET data = overlay(data PLACING '\\xff' FROM 40)")
    with pytest.raises(CommandError, match="3 buckets of the head map are not as the leaves say"):
        call_command("headmap", "--check")
    call_command("headmap", "--rebuild")
    call_command("headmap", "--check")
    sequencer.settle(new_log().log, with_map=True)
    assert kept_map() == replayed_map()


@pytest.mark.django_db
def test_a_new_key_is_introduced_in_the_global_log_and_both_sign(of_the_house, capsys):
    sequencer.settle(new_log().log)
    old = note.parse_vkey(signer.vkey())
    call_command("rotate_log_key")
    new = note.parse_vkey(signer.vkey())
    assert f"old key {old}\nnew key {new}" in capsys.readouterr().out
    ((index, introduction),) = globallog.introductions(TENANT)
    assert note.open_note(introduction, [old]).splitlines() == ["agentstate key/1", old.name, str(new)]
    sequencer.settle(new_log().log)
    head = globallog.signed_head(TENANT)
    for key in (old, new):
        assert open_signed(head.checkpoint, [key]).size == head.size > index


@pytest.mark.django_db
def test_a_round_that_others_overtake_at_every_try_gives_up_by_name_and_adds_nothing(monkeypatch):
    sequencer.run_once(TENANT, extra=[b"first"])
    look = sequencer._look

    def overtaken(*words):
        found = look(*words)
        with monkeypatch.context() as other:
            other.setattr(sequencer, "_look", look)
            sequencer.advance(TENANT, extra=[b"theirs"])
        return found

    with monkeypatch.context() as patched:
        patched.setattr(sequencer, "_look", overtaken)
        with pytest.raises(sequencer.Unsettled):
            sequencer.advance(TENANT, extra=[b"ours"])
    assert leaves() == [b"first", *[b"theirs"] * sequencer.TRIES]


@pytest.mark.django_db
def test_a_rotation_that_was_interrupted_goes_on_with_the_key_that_was_announced(of_the_house):
    announced = signer.announce()
    sequencer.run_once(TENANT, extra=[announced])
    call_command("rotate_log_key")
    assert [body for _, body in globallog.introductions(TENANT)] == [announced]
    assert signer.vkey() == note.parse(announced).text.splitlines()[2]


@pytest.mark.django_db(transaction=True)
def test_sequencers_killed_at_any_moment_lose_and_double_nothing():
    logs = [new_log() for _ in range(6)]
    command = [sys.executable, "-m", "tests.shell.killed_rounds", str(TENANT), "60"]
    killing = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while killing.poll() is None:
        logs = [grown(log) for log in logs]
        time.sleep(0.005)
    out, errors = killing.communicate()
    assert out == "killed 60\n", errors
    assert globallog.state(TENANT).size > 60, "rounds came through"
    sequencer.run_once(TENANT, with_map=True)
    assert opened().root == naive_root()
    for log in logs:
        sizes = heads_of(log.log)
        assert sizes == sorted(set(sizes))
        assert sizes[-1] == log.size == globallog.latest_place(log.log).size
    assert kept_map() == replayed_map()
    assert dirty() == 0


@pytest.mark.django_db(transaction=True)
def test_a_sequencer_without_a_signer_stays_in_office_says_so_once_and_goes_on(settings, monkeypatch, caplog):
    monkeypatch.setattr(sequencer_leader, "REST", 0.05)
    right, settings.SIGNER_SOCKET = settings.SIGNER_SOCKET, "/nowhere/signer.sock"
    log = new_log()
    office = Office()
    eventually(lambda: "does not answer" in caplog.text, what="said")
    time.sleep(0.3)
    settings.SIGNER_SOCKET = right
    eventually(lambda: globallog.signed_head(TENANT), what="signed")
    office.stop()
    assert (caplog.text.count("does not answer"), fence(), heads_of(log.log)) == (1, 1, [1])
