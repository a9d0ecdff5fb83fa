"""Which turns of a conversation the card of a request shows: the newest ones, and those that bear on the decision,
however long ago they were said. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sessions.approvals import differences
from sessions.approvals.differences import Account
from sessions.core.transcript import Item

BEFORE = 6  # turns directly before the request
SINCE = 6  # of the customer after it, the newest
FIRST, LAST = 20, 40  # of the turns that bear on the decision, where there are more than both
_PURPOSE = re.compile(r"\bwhat\b[^.?!]*\bfor\b(?! you\b)|\bpurpose\b|\bwhy\b|\breason\b", re.IGNORECASE)
_RISK = re.compile(
    r"\bsafe(?:r|ty|ly)?\b|\bsecurity\b|\bfraud|\bscam|\bpolice\b|\bcourt\b|\bfees?\b|\bfine\b|\binvest|\bcrypto"
    r"|\bbitcoin\b|\bcoins?\b|\bgift cards?\b|\bvouchers?\b|\bprize\b|\bdoubled\b|\bsecret|\bremote|\banydesk\b"
    r"|\bteamviewer\b|\bquick|\bhurry\b|\burgent|\btoday\b|\bright now\b|\bat once\b|\bimmediately\b"
    r"|\bother (?:line|phone)\b|\b(?:told|asked|says|said) (?:me|to|i|you|it)\b|\bs?he (?:says|said|told|is waiting)\b"
    r"|\b(?:must|should) not (?:speak|tell|talk)\b|\bwrong\b|\bmistake\b|\binstead\b|\bnot (?:right|that|the)\b"
    r"|\bcancel|\bstop\b|\bchanged? my mind\b|\bnever ?mind\b",
    re.IGNORECASE,
)


def shown_turns(
    spoken: Sequence[Item], asked: int, arguments: Mapping[str, Any], accounts: Sequence[Account]
) -> list[Item]:
    """What the card of the request of entry `asked` shows of what was said: every turn of the customer that names an
    amount, an account, a purpose or a risk, the last turns before the request with what they answer, and the newest of
    the customer since. In order.
    """
    before = [item for item in spoken if item.seq < asked]
    told = [
        item
        for item, following in zip(before, (*before[1:], None), strict=False)
        if item.role != "agent" or (following is not None and following.role == "customer")
    ]
    since = [item for item in spoken if item.seq > asked and item.role == "customer"]
    decisive = _decisive(spoken, arguments, accounts)
    bearing = [item for item in spoken if item.seq in decisive]
    if len(bearing) > FIRST + LAST:
        bearing = bearing[:FIRST] + bearing[-LAST:]
    kept = {item.seq for item in (*told[-BEFORE:], *since[-SINCE:], *bearing)}
    return [item for item in spoken if item.seq in kept]


def _decisive(spoken: Sequence[Item], arguments: Mapping[str, Any], accounts: Sequence[Account]) -> set[int]:
    """The entries of the turns that bear on the decision; an answer to a question about the purpose is one."""
    found, question = set(), ""
    for item in spoken:
        if item.role != "customer":
            question = item.text
            continue
        answers = bool(_PURPOSE.search(question))
        if answers or _RISK.search(item.text) or differences.names_a_value(item.text, arguments, accounts):
            found.add(item.seq)
        question = ""
    return found
