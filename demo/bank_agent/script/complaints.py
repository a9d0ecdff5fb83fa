"""How the script does a task that a language model would be asked for: sorting a customer's complaint by its words.

Pure: the same words give the same answer. It knows no other task.
"""

from __future__ import annotations

import re
from typing import Any

LONGEST = 200  # characters of a summary, as the tool's schema has it
_TOPICS = {
    "card": r"\bcards?\b|\bpin\b|\bcash machine\b|\batm\b",
    "charge": r"\bfees?\b|\bcharged?\b|\bcharges\b|\binterest\b|\bcosts?\b",
    "transfer": r"\btransfers?(?:red)?\b|\bpayments?\b|\bpaid\b|\bmoney\b",
    "service": r"\bwait(?:ed|ing)?\b|\brude\b|\bon hold\b|\bline\b|\bbranch\b|\bcalled\b|\bnobody\b",
}
_URGENT = re.compile(r"\b(?:stolen|fraud|urgent(?:ly)?|immediately|today|at once|lawyer|police)\b", re.IGNORECASE)


def sorted_complaint(text: str) -> dict[str, Any]:
    """{topic, urgent, summary} of a complaint in the customer's words."""
    words = " ".join(text.split())
    found = [topic for topic, pattern in _TOPICS.items() if re.search(pattern, words, re.IGNORECASE)]
    first, *_ = re.split(r"(?<=[.!?]) ", words)
    return {"topic": found[0] if found else "other", "urgent": bool(_URGENT.search(words)), "summary": first[:LONGEST]}
