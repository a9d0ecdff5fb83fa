"""What is stuck, and stepping in."""

from __future__ import annotations

from agentstate.people.models import User
from sessions.approvals import withdrawal
from sessions.core.session_lines import PAGE
from sessions.http.answers import filled
from sessions.http.operations import command, get
from sessions.http.parameters import Limit, SessionId
from sessions.interventions import commands, queries
from sessions.interventions import schemas as forms


@get()
def list_stuck(user: User, *, limit: Limit = PAGE) -> forms.StuckList:
    """Sessions of your teams with a call that the runtime cannot settle, that failed, or that it leaves alone, with the
    reason; what waits longest comes first.
    """
    return filled(forms.StuckList, sessions=queries.stuck(user, limit=limit))


@get()
def list_stuck_calls(user: User, session: SessionId) -> forms.StuckCalls:
    """The calls of a session that a person may settle, and how each may be."""
    return forms.StuckCalls(queries.stuck_calls(user, session))


intervene = command(
    "intervene",
    commands.intervene,
    forms.Intervention,
    "`retry` or `skip` a call, `supply` its result, or say of one whose effect is in doubt that it `happened` (with its"
    " result) or `not_happened` (then it may run again).",
)
withdraw_call = command(
    "withdraw_call",
    withdrawal.withdraw,
    forms.Withdrawal,
    "Withdraw a call before it begins: one that waits for a person, or that is allowed already. The request says"
    " `withdrawn`, or approved with the execution `withdrawn`; who approved it is told.",
)
retry_session = command(
    "retry_session",
    commands.retry_session,
    forms.RetrySession,
    "Have a session tried again that failed, or that the runtime has parked.",
)
