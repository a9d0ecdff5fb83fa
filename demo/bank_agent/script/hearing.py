"""One sentence of a customer, taken apart: yes or no, what they want, which amount, which accounts.

Pure, and about that one sentence only; what it means at this point of the conversation is `talk.py`'s
affair.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agentstate.engine.speech.numbers import SMALL
from demo.bank_agent.script.amounts import amounts_in, spoken_digits

_WORD = {
    # A "no" that is none is taken out before anything else is read.
    "polite": r"\bno (?:problem|worries|hurry|rush|doubt|trouble)\b|\bnot at all\b|\bwhy not\b"
    r"|\bno,?(?= that'?s (?:right|correct|fine)\b)",
    "yes": r"\b(?:yes|yeah|yep|yup|aye|sure|ok|okay|correct|right|exactly|indeed|confirm(?:ed)?|absolutely"
    r"|fine|perfect|please do|do it|go ahead|sounds good|of course|certainly)\b",
    "no": r"\b(?:no|nope|nah|wrong|incorrect|not (?:right|correct|quite|that|what)|isn'?t right"
    r"|don'?t think so)\b",
    "stop": r"\b(?:cancel|stop|never ?mind|forget (?:it|about it)|leave it|changed my mind|rather not"
    r"|hold off|call it off|(?:do not|don'?t) (?:want|do|move|transfer|send|bother|make)|not today|not now"
    r"|another time)\b",
    "bye": r"\b(?:good ?bye|bye|that'?s all|that is all|that'?s it|that will be all|nothing else|nothing more"
    r"|i'?m done|no thanks|no,? thank you|have a (?:good|nice|lovely) (?:day|evening|one))\b",
    "transfer": r"\b(?:transfer|move|moving|send|sending|shift|put|pay|wire)\b",
    "balance": r"\b(?:balances?|how much (?:do i have|have i|is|money)|what(?:'s| is) (?:in|on|left)"
    r"|what do i have|what have i got)\b",
    "person": r"\b(?:human|real person|a person|somebody real|supervisor|manager|representative|operator"
    r"|(?:speak|talk) (?:to|with) (?:a|some))",
    "complaint": r"\b(?:complain(?:t|ts|ing|ed)?|unacceptable|outrageous|disgraceful)\b",
    "angry": r"\b(?:ridiculous|furious|fed up|had enough|waste of (?:my )?time|third time|how many times|useless"
    r"|sick of|joke)\b",
    "hello": r"\b(?:hi|hello|hey|good (?:morning|afternoon|evening))\b",
    "thanks": r"\b(?:thanks|thank you|cheers)\b",
    "again": r"\b(?:try|again|wait|once more)\b",
}
_PATTERN = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _WORD.items()}
_KINDS = {"savings": r"savings?", "checking": r"(?:checking|chequing|current)"}
_NUMBER_WORDS = "|".join(sorted(SMALL, key=len, reverse=True)) + "|hundred"
_ENDING = re.compile(
    rf"\b(?:ending|ends|end|last four)(?: (?:in|with|on))?(?: is)?:? "
    rf"(?P<said>\d{{4}}\b|(?:(?:{_NUMBER_WORDS}|\d{{1,2}})\b[ ,-]*){{1,4}})",
    re.IGNORECASE,
)
_LONG = re.compile(r"(?<!\d)(?:\d[ -]?){9}\d(?!\d)")
_CUSTOMER = re.compile(r"\bC[- ]?(\d{4,})\b", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|out of|off)\b[^.?!]*$", re.IGNORECASE)
_TO = re.compile(r"\b(?:to|into|onto|in|towards)\b[^.?!]*$", re.IGNORECASE)

Account = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """What one sentence says. `source`, `target` are account ids; `mentioned` is one without a direction."""

    words: str
    yes: bool = False
    no: bool = False
    stop: bool = False
    bye: bool = False
    transfer: bool = False
    balance: bool = False
    person: bool = False
    complaint: bool = False
    angry: bool = False
    hello: bool = False
    thanks: bool = False
    again: bool = False
    amount: int | None = None
    source: str = ""
    target: str = ""
    mentioned: str = ""
    unknown_ending: str = ""
    customer: str = ""


def hear(text: str, accounts: list[Account], *, asked_amount: bool = False, expected: int | None = None) -> Said:
    """Take `text` apart. `accounts` are the customer's own, as load_customer gives them; `expected` is the amount that
    the agent has just read back.
    """
    words = " ".join(text.replace("’", "'").split())
    plain = _PATTERN["polite"].sub(" ", words)
    flags: dict[str, Any] = {name: bool(_PATTERN[name].search(plain)) for name in _WORD if name != "polite"}
    if flags["no"] and flags["yes"]:
        flags.update(_first_of(plain))
    customer = _CUSTOMER.search(words)
    rest, places = _accounts(_CUSTOMER.sub(" ", words), accounts)
    amounts = amounts_in(rest, asked=asked_amount, expected=expected)
    return Said(
        words=words,
        amount=amounts[-1] if amounts else None,
        customer=f"C-{customer[1]}" if customer else "",
        **places,
        **flags,
    )


def _first_of(words: str) -> dict[str, bool]:
    """ "No, that is right" and "Yes, no hurry": what comes first counts."""
    yes, no = _PATTERN["yes"].search(words), _PATTERN["no"].search(words)
    first_no = bool(yes and no and no.start() <= yes.start())
    return {"no": first_no, "yes": not first_no}


def _accounts(words: str, accounts: list[Account]) -> tuple[str, dict[str, Any]]:
    """`words` without the numbers that name accounts, and which account stands where."""
    found: list[tuple[int, str, str]] = []  # position, account id, ending that nobody has

    def by_number(match: re.Match[str]) -> str:
        found.append((match.start(), re.sub(r"\D", "", match[0]), ""))
        return " " * len(match[0])

    def by_ending(match: re.Match[str]) -> str:
        ending = spoken_digits(match["said"])[:4]
        known = next((a["id"] for a in accounts if a["last4"] == ending), "")
        if len(ending) == 4:
            found.append((match.start(), known, "" if known else ending))
        return " " * len(match[0])

    rest = _ENDING.sub(by_ending, _LONG.sub(by_number, words))
    for account in accounts:  # four bare figures that are the ending of an own account name it
        for match in re.finditer(rf"(?<![\d$,.]){account['last4']}(?![\d,]|\.\d)", rest):
            found.append((match.start(), account["id"], ""))
            rest = rest[: match.start()] + " " * 4 + rest[match.end() :]
    found += _by_kind(rest, accounts)
    return rest, _placed(words, sorted(found))


def _by_kind(words: str, accounts: list[Account]) -> list[tuple[int, str, str]]:
    named = []
    for kind, pattern in _KINDS.items():
        of_kind = [a["id"] for a in accounts if a["kind"] == kind]
        if len(of_kind) == 1:
            named += [(m.start(), of_kind[0], "") for m in re.finditer(rf"\b{pattern}\b", words, re.IGNORECASE)]
    return named


def _placed(words: str, found: list[tuple[int, str, str]]) -> dict[str, Any]:
    places = {"source": "", "target": "", "mentioned": "", "unknown_ending": ""}
    for position, account, ending in found:
        if ending:
            places["unknown_ending"] = ending
            continue
        before = words[:position]
        out, into = _FROM.search(before), _TO.search(before)
        where = "mentioned"
        if out and (not into or _last(_FROM, before) > _last(_TO, before)):
            where = "source"
        elif into:
            where = "target"
        places[where] = account
    return places


def _last(pattern: re.Pattern[str], before: str) -> int:
    """Where the last preposition of that direction stands, by its first word."""
    word = pattern.pattern.split("[^")[0]
    return max((m.start() for m in re.finditer(word, before, re.IGNORECASE)), default=-1)
