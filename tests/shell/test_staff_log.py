"""What staff and accounts did is in the ledger."""

from __future__ import annotations

import pytest
from django.test import Client

from agentstate.clock import now
from audit import ledger, staff
from tests import cast


def kinds() -> list[str]:
    log = staff.log_of(cast.tenant().pk, now())
    return [envelope.kind for envelope, _ in ledger.open_rows(ledger.read_rows(log))]


@pytest.mark.django_db(transaction=True)
def test_accounts_roles_and_tokens_are_entries_without_a_name():
    cast.token(cast.alice())
    log = staff.log_of(cast.tenant().pk, now())
    assert {"person.created", "role.granted", "token.created"} <= set(kinds())
    assert all(b"alice" not in row.envelope for row in ledger.read_rows(log))
    assert all(b"alice" not in payload for _, payload in ledger.open_rows(ledger.read_rows(log)))


@pytest.mark.django_db(transaction=True)
def test_signing_in_and_failing_to_are_entries():
    user = cast.with_password(cast.alice())
    Client().post("/sign-in/", {"username": user.username, "password": "wrong"})
    Client().post("/sign-in/", {"username": user.username, "password": cast.PASSWORD})
    assert kinds().count("person.sign_in_failed") == 1
    assert kinds().count("person.signed_in") == 1
