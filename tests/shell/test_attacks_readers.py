"""Whatever somebody with the database in hand changes, those who read meet a refusal in words, never a traceback."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest

from agentstate.errors import AgentStateError
from audit import keys, ledger, sequencer
from audit.proofs import making
from sessions.auditing import queries as auditing
from sessions.conversation import commands as conversation_commands
from sessions.core import entry_lines, states
from sessions.web import rebuild
from tests import cast
from tests.shell.attack_world import Superuser, exported
from tests.shell.bank_world import opened

pytestmark = pytest.mark.django_db(transaction=True)
CELLS = {
    "audit_entry": ("envelope", "WHERE log = %s", 12),
    "audit_payload": ("ciphertext", "WHERE log = %s", 4),
    "audit_head": ("frontier", "WHERE log = %s", 3),
    "audit_glog": ("body", "", 6),
    "audit_signedhead": ("note", "", 6),
    "audit_mapbucket": ("data", "", 3),
    "agent_sessions_snapshot": ("sealed", "WHERE session = %s", 2),
}


def readers(session: UUID, folder: Path) -> dict[str, Callable[[], object]]:
    alice, anna = cast.alice(), cast.let_in(cast.anna(), "audit", "read")
    seqs = range(ledger.read_head(session).size)
    return {
        "an entry's proof": lambda: [making.entry(session, seq) for seq in seqs],
        "a range's proof": lambda: making.extract(session, 1, 4),
        "a session's proof": lambda: making.complete(session),
        "a receipt": lambda: making.receipt_of(session, 3),
        "the log's growth": lambda: making.log_growth(cast.tenant().pk, 1),
        "an export": lambda: exported(session, folder),
        "the state": lambda: states.load(session),
        "rebuild": lambda: rebuild.check(session),
        "the entries": lambda: entry_lines.entries(alice, session, limit=100),
        "a sample": lambda: auditing.sample(anna, seed="a", wanted=100),
        "a round": lambda: sequencer.run_once(cast.tenant().pk, with_map=True),
    }


@pytest.mark.parametrize("table", CELLS)
def test_a_changed_byte_anywhere_is_refused_in_words_by_every_reader(table, test_database, tmp_path):
    session, superuser = opened(), Superuser(test_database)
    for number in range(3):
        conversation_commands.say(cast.cleo(), session, f"sentence {number}")
    states.keep_snapshot(states.load(session))
    read = readers(session, tmp_path)
    for each in read.values():
        each()
    found = []
    for wrong, undo in changed(superuser, session, table):
        for name, each in read.items():
            states.forget_all()
            keys.forget_all()
            try:
                each()
            except AgentStateError:
                pass
            except Exception as error:
                found.append((name, wrong, repr(error)[:200]))
        undo()
    assert found == []


def changed(superuser: Superuser, session: UUID, table: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Some times one row with a bit turned or its end cut off, and how it is put back."""
    chance, (column, where, times) = random.Random(table), CELLS[table]
    for _ in range(times):
        chosen = f"SELECT ctid::text, {column} FROM {table} {where}"
        rows = superuser.rows(chosen, *[session] * bool(where))
        place, data = chance.choice(sorted(rows))
        at = chance.randrange(len(data))
        turned = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
        wrong = chance.choice([turned, data[:at]])
        assert superuser.run(f"UPDATE {table} SET {column} = %s WHERE ctid = %s::tid", wrong, place) == 1
        put_back = f"UPDATE {table} SET {column} = %s WHERE {column} = %s"
        yield f"{table}.{column}, byte {at}", partial(superuser.run, put_back, data, wrong)
