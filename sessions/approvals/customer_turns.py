"""What the customer said in a session, and a request compared with it: the same for the card, the API and the record of
a decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from agentstate.engine import events as ev
from agentstate.engine.state.session import Request
from audit import keys, ledger
from sessions.approvals import differences, forms
from sessions.approvals.differences import Account, Difference, Turn
from sessions.tools import registry as tools

SPOKEN = "message.added"
CUSTOMER = "customer"
MAX_DIFFERENCES = 40  # of one request, so that the record of what was shown stays bounded
_decoder = msgspec.json.Decoder()


def customer_turns(session: UUID, stop: int) -> list[Turn]:
    """The turns of the customer before the entry `stop`, oldest first, without those that were erased."""
    found = []
    for row in ledger.read_rows(session, 0, stop):
        if ledger.parse_envelope(row.envelope).kind != SPOKEN:
            continue
        try:
            said = _decoder.decode(ledger.open_row(row)[1])
        except keys.Erased:
            continue
        if said["role"] == CUSTOMER:
            found.append(Turn(row.seq, said["text"]))
    return found


def own_accounts(basis: Iterable[ev.Evidence]) -> list[Account]:
    """The accounts that a request's evidence holds."""
    found = forms.accounts_in([each.value for each in basis])
    return [Account(each["id"], str(each["kind"]), str(each["last4"])) for each in found]


def payees_of(tool: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that say who receives: of a tool's call, and of the calls of a plan."""
    calls = arguments.get("calls")
    named = [each.get("_tool") for each in calls if isinstance(each, dict)] if isinstance(calls, list) else []
    known = [found for name in (tool, *named) if isinstance(name, str) and (found := tools.find(name)) is not None]
    return tuple({payee: None for each in known for payee in each.payees})


def differences_of(
    request: Request, turns: Sequence[Turn], arguments: dict[str, Any] | None = None
) -> tuple[Difference, ...]:
    """Where a request differs from what the customer said. With the `arguments` of an edit: where these do, and what of
    the request they change.
    """
    accounts = own_accounts(request.asked.basis)
    sends = request.arguments if arguments is None else arguments
    payees = payees_of(request.asked.tool, sends)
    return (
        *differences.changes(request.arguments, sends, payees, accounts),
        *differences.differences(turns, sends, payees, accounts),
    )[:MAX_DIFFERENCES]
