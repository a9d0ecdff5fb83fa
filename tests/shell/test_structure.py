"""What the database and the program are made of is on record, and a change by hand leaves an entry."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from agentstate.clock import now
from audit import globallog, sequencer, structure
from tests import cast
from tests.shell.attack_world import Superuser

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_first_start_records_what_there_is_and_the_next_one_nothing():
    tenant = cast.tenant().pk
    call_command("check_keys")
    assert not structure.record(tenant, now())
    (entry,) = structure.history(tenant)
    assert "audit.0001_initial" in entry["migrations"]
    assert len(entry["catalogue"]) == len(entry["program"]) == 64


@pytest.mark.parametrize(
    "change",
    [
        "DROP TRIGGER append_only ON audit_entry",
        "ALTER TABLE audit_entry DISABLE TRIGGER append_only",
        "DROP TABLE audit_receipt",
        "ALTER TABLE audit_entry ADD COLUMN hidden text",
        "GRANT DELETE ON audit_entry TO PUBLIC",
        "INSERT INTO django_migrations (app, name, applied) VALUES ('audit', '9999_by_hand', now())",
        "CREATE OR REPLACE FUNCTION audit_head_only_grows() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RETURN NEW; END $$",
    ],
)
def test_a_structure_changed_by_hand_is_an_entry_at_the_next_start(change, test_database):
    tenant = cast.tenant().pk
    assert structure.record(tenant, now())
    Superuser(test_database).run(change)
    assert structure.record(tenant, now())
    before, after = structure.history(tenant)
    assert before != after
    assert not structure.record(tenant, now())


def test_another_program_is_an_entry(tmp_path, settings):
    tenant = cast.tenant().pk
    structure.record(tenant, now())
    settings.BASE_DIR = tmp_path
    assert structure.record(tenant, now())
    assert len({entry["program"] for entry in structure.history(tenant)}) == 2


def test_the_log_of_the_structure_stands_in_the_global_log_like_every_other():
    tenant = cast.tenant().pk
    structure.record(tenant, now())
    assert sequencer.settle(structure.log_of(tenant)) == globallog.latest_place(structure.log_of(tenant))
