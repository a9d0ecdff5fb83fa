"""The key-encryption key: where it is kept, what is refused without it, and how it is changed."""

from __future__ import annotations

import os
from base64 import b64encode
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, connections, transaction

from agentstate.clock import now
from audit import keys, ledger, staff
from audit.keys import rotation, start
from audit.keys.encryption import EnvironmentKeys, FileKeys, Ring, Wrapped, provider, ref_of
from tests import cast
from tests.shell.test_ledger import batch, new_log, said

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])

TENANT = uuid4()


@pytest.fixture(autouse=True)
def own_keys(settings, tmp_path):
    """A database without keys, and a place of its own for the key-encryption key."""
    settings.STATE_DIR = tmp_path
    keys.forget_all()
    yield tmp_path / "secrets" / "ledger.kek"
    keys.forget_all()


def wrapped() -> dict[object, tuple[str, bytes]]:
    rows = ledger.run("SELECT kid, kek_ref, wrapped FROM audit_subjectkey", {})
    return {kid: (ref, bytes(data)) for kid, ref, data in rows}


def test_the_first_key_is_made_at_first_use_and_nobody_else_can_read_it(own_keys):
    assert not own_keys.exists()
    keys.subject_kid(TENANT, "ada")
    assert (own_keys.stat().st_mode & 0o777, len(own_keys.read_bytes())) == (0o600, 32)


def test_a_missing_key_is_refused_and_not_made_anew_once_something_is_wrapped(own_keys):
    keys.subject_kid(TENANT, "ada")
    own_keys.unlink()
    for attempt in (start.check, lambda: keys.subject_kid(TENANT, "bob")):
        with pytest.raises(keys.BadKeyFile, match="put it back from its backup"):
            attempt()
    assert not own_keys.exists()


def test_a_wrong_key_is_refused_with_the_names_of_both(own_keys):
    keys.subject_kid(TENANT, "ada")
    right = provider().current()
    own_keys.write_bytes(bytes(32))
    with pytest.raises(keys.BadKeyFile, match=f"wrapped by {right}.*holds {ref_of(bytes(32))}"):
        start.check()


@pytest.mark.parametrize(("mode", "size", "words"), [(0o640, 32, "chmod 600"), (0o600, 31, "got 31 bytes, want 32")])
def test_a_file_that_others_can_read_or_of_another_size_is_refused(own_keys, mode, size, words):
    own_keys.parent.mkdir()
    own_keys.write_bytes(bytes(size))
    own_keys.chmod(mode)
    with pytest.raises(keys.BadKeyFile, match=words):
        start.check()


def test_a_wrong_key_is_one_line_of_the_command_that_every_start_runs(own_keys):
    keys.subject_kid(TENANT, "ada")
    own_keys.write_bytes(bytes(32))
    with pytest.raises(CommandError) as refused:
        call_command("check_keys")
    assert "\n" not in str(refused.value)


def test_what_to_back_up_is_said_once(own_keys, capsys):
    call_command("check_keys")
    assert str(own_keys) in capsys.readouterr().out
    call_command("check_keys")
    assert capsys.readouterr().out == ""


def test_a_wrapped_key_that_was_altered_or_moved_to_another_subject_does_not_open():
    ring, kid = Ring("here", bytes(32)), b"k" * 16
    held = ring.wrap(b"s" * 32, kid)
    assert ring.unwrap(held, kid) == b"s" * 32
    altered = Wrapped(held.kek_ref, held.data[:-1] + bytes([held.data[-1] ^ 1]))
    for which, whose in ((altered, kid), (held, b"o" * 16)):
        with pytest.raises(keys.BadKeyFile, match="altered"):
            ring.unwrap(which, whose)


def test_the_environment_holds_the_key_where_the_settings_say_so(settings, own_keys):
    settings.KEY_ENCRYPTION, settings.KEY_ENCRYPTION_KEY = "environment", b64encode(b"e" * 32).decode()
    kid = keys.subject_kid(TENANT, "ada")
    assert wrapped()[kid][0] == ref_of(b"e" * 32)
    assert not own_keys.exists()


@pytest.mark.parametrize(("held", "words"), [("", "not set"), ("no base64!", "not base64"), ("AAAA", "got 3 bytes")])
def test_an_environment_without_a_proper_key_is_refused(held, words):
    with pytest.raises(keys.BadKeyFile, match=words):
        EnvironmentKeys(held, ()).make()


class Vault:
    """A key management service: it wraps and unwraps, and its key never leaves it."""

    place = "the vault"
    _ring = Ring(place, os.urandom(32))

    def current(self) -> str:
        return self._ring.current

    def wrap(self, key: bytes, context: bytes) -> Wrapped:
        return self._ring.wrap(key, context)

    def unwrap(self, held: Wrapped, context: bytes) -> bytes:
        return self._ring.unwrap(held, context)


def test_a_service_that_never_hands_out_its_key_fits(settings, own_keys):
    settings.KEY_ENCRYPTION = f"{__name__}.Vault"
    head = new_log(b"words")
    keys.forget_all()
    assert [text for _, text in ledger.open_rows(ledger.read_rows(head.log))] == [said(b"words")]
    assert not own_keys.exists()


def test_a_rotation_wraps_every_key_anew_and_leaves_entries_and_tokens(own_keys):
    cast.tenant()
    head = new_log(b"one", b"two")
    entries, before = list(ledger.read_rows(head.log)), wrapped()
    token, former = keys.blind_token(TENANT, "account", "12-34"), provider().current()
    call_command("rotate_kek", verbosity=0)
    keys.forget_all()
    assert {ref for ref, _ in wrapped().values()} == {provider().current()} != {former}
    assert not set(before.values()) & set(wrapped().values())
    assert list(ledger.read_rows(head.log)) == entries
    assert [text for _, text in ledger.open_rows(entries)] == [said(b"one"), said(b"two")]
    assert keys.blind_token(TENANT, "account", "12-34") == token


def test_a_rotation_that_stops_in_the_middle_leaves_all_readable_and_goes_on(monkeypatch):
    kids = keys.subject_kids(TENANT, [f"C-{number}" for number in range(7)]).values()
    secrets = {kid: keys.subject_key(kid) for kid in kids}
    monkeypatch.setattr(rotation, "BATCH", 3)
    provider().introduce()
    next(rotation.rewrap())
    assert sorted(ref != provider().current() for ref, _ in wrapped().values()) == [False] * 3 + [True] * 4
    keys.forget_all()
    assert {kid: keys.subject_key(kid) for kid in kids} == secrets
    second = provider().current()
    call_command("rotate_kek", verbosity=0)
    keys.forget_all()
    assert provider().current() == second
    assert {kid: keys.subject_key(kid) for kid in kids} == secrets
    assert {ref for ref, _ in wrapped().values()} == {second}


def test_a_key_destroyed_while_it_is_wrapped_anew_stays_destroyed(monkeypatch):
    kid = keys.subject_kid(TENANT, "ada")
    provider().introduce()

    def destroyed_meanwhile(key, context):
        with connections["erase"].cursor() as cursor:
            cursor.execute("UPDATE audit_subjectkey SET wrapped = NULL, destroyed_at = now() WHERE kid = %s", [kid])
        return provider().wrap(key, context)

    monkeypatch.setattr(rotation, "wrap", destroyed_meanwhile)
    assert list(rotation.rewrap()) != []
    keys.forget_all()
    with pytest.raises(keys.Erased):
        keys.subject_key(kid)


def test_a_process_that_had_read_the_former_key_reads_and_wraps_under_the_new_one(own_keys):
    other = FileKeys(own_keys)
    keys.subject_kid(TENANT, "ada")
    assert other.current() == provider().current()
    fresh = provider().introduce()
    assert other.wrap(b"s" * 32, b"c").kek_ref == fresh
    assert FileKeys(own_keys).unwrap(provider().wrap(b"s" * 32, b"c"), b"c") == b"s" * 32


def test_a_rotation_is_an_entry_of_the_staff_log():
    cast.tenant()
    former = [keys.subject_kid(TENANT, "ada"), provider().current()][1]
    call_command("rotate_kek", verbosity=0)
    rows = ledger.read_rows(staff.log_of(cast.tenant().pk, now()))
    told = [text for envelope, text in ledger.open_rows(rows) if envelope.kind == "kek.rotated"]
    assert len(told) == 1
    assert former.encode() in told[0]
    assert provider().current().encode() in told[0]


def test_the_application_can_neither_destroy_nor_exchange_a_key():
    keys.subject_kid(TENANT, "ada")
    for table in ("audit_subjectkey", "audit_blindkey"):
        with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
            connection.cursor().execute(f"UPDATE {table} SET kek_ref = 'x'")


def test_tokens_of_two_tenants_or_purposes_have_nothing_in_common():
    asked = [(TENANT, "account"), (TENANT, "customer"), (uuid4(), "account")]
    tokens = {keys.blind_token(tenant, purpose, "12-34") for tenant, purpose in asked}
    assert len(tokens) == 3
    assert keys.blind_token(*asked[0], "12-34") in tokens


def test_a_token_made_in_a_transaction_that_is_rolled_back_is_made_under_no_lost_key():
    with transaction.atomic():
        keys.subject_kid(TENANT, "ada")
        transaction.set_rollback(True)
    kid = keys.subject_kid(TENANT, "ada")
    keys.forget_all()  # as another process
    assert keys.known_kid(TENANT, "ada") == kid
    assert keys.known_kid(TENANT, "bob") is None


def test_what_is_appended_before_a_rotation_is_added_to_after_it():
    head = new_log(b"one")
    call_command("rotate_kek", verbosity=0)
    assert ledger.append(head, batch(b"two")) is not None
