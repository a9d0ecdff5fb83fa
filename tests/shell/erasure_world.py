"""Erasures as tests ask for them and approve them."""

from __future__ import annotations

from uuid import UUID

import msgspec

from agentstate.clock import now
from audit import ledger, staff
from audit.erasure import State
from audit.models import ErasureRequest
from sessions.models.sessions import AgentSession
from sessions.privacy import commands
from tests import cast
from tests.shell.bank_world import CUSTOMER

WHY = "Asked by letter of Zebrafinch"


def asked(customer: str = CUSTOMER) -> ErasureRequest:
    return commands.ask_erasure(cast.petra(), basis="objection", reason=WHY, customer=customer)


def approved(customer: str = CUSTOMER) -> ErasureRequest:
    return commands.rule_erasure(cast.paul(), asked(customer).pk, State.APPROVED)


def kid_of(session: UUID) -> UUID:
    return AgentSession.objects.get(pk=session).kid


def entries_of_staff(kind: str) -> list[dict]:
    """The payloads of one kind in today's staff log."""
    rows = ledger.read_rows(staff.log_of(cast.tenant().pk, now()))
    opened_rows = [ledger.open_row(row) for row in rows]
    return [msgspec.json.decode(payload) for envelope, payload in opened_rows if envelope.kind == kind]
