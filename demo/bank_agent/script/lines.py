"""Everything the scripted agent can say, as data, and how it knows its own words again.

Each line has a name and one or more wordings; `{slots}` are filled. A line whose name begins with "ask_" is
a question: it decides how the customer's next words are read. The agent has no memory but the conversation,
so `recall` finds in what it said which question was put last, and which amount and accounts were read out.
"""

from __future__ import annotations

import re
from functools import cache

LINES: dict[str, tuple[str, ...]] = {
    # Beginning
    "greet": (
        "Hello, and thank you for calling. I am opening your accounts, one moment please.",
        "Hello, thank you for calling us. One moment please while I open your accounts.",
    ),
    "look_again": ("One moment please, I am looking at your accounts.",),
    "known": ("Thank you, {name}.",),
    "ask_number": ("May I have your customer number, please? It begins with a C and stands on every letter from us.",),
    "no_records": ("I am sorry, I cannot open your records.",),
    "ask_load": ("Your records are not answering just now. Shall I try again?",),
    # Wishes
    "ask_need": ("How can I help you today?", "What can I do for you?"),
    "ask_which": (
        "I can tell you the balance of your accounts, or move money from one to another. Which of these may I do?",
    ),
    "sorry": ("I am sorry, I did not understand that.", "I am sorry, I did not follow."),
    "hand_over": (
        "I am sorry, I am not understanding you well, and I would rather not guess where your "
        "money is concerned. "
        "Nothing has been moved. A colleague at any branch will gladly help you, or say to me in a few words "
        "what you would like to do.",
    ),
    "person": ("I understand that you would rather speak with a person. One moment, I ask for a colleague.",),
    "upset": ("I am sorry that this is so much trouble. One moment, I ask for a colleague.",),
    "person_asked": (
        "A colleague has been asked for and can read this conversation. I cannot tell you when one of them is free, "
        "and until then I go on helping you.",
    ),
    "still_asked": ("I have asked for a colleague, and nobody is free yet.",),
    "balance": ("{accounts}",),
    "complaint": ("I am sorry to hear that. One moment please, I write it down.",),
    "complaint_noted": ("Thank you. I have written it down as a complaint about {about}.",),
    "complaint_heard": ("Thank you for telling me. My colleagues can read this conversation.",),
    # A transfer
    "ask_amount": ("How much would you like to move?", "What amount would you like to move?"),
    "ask_digits": (
        "Could you say the amount once more, digit by digit?",
        "While we wait, could you say the amount once more, digit by digit?",
    ),
    "ask_accounts": ("From which account, and to which one? You have {accounts}.",),
    "ask_source": ("From which account should I take it? You have {accounts}.",),
    "ask_target": ("To which account should it go? You have {accounts}.",),
    "no_such_account": ("I do not see an account of yours ending {ending}.",),
    "not_yours": ("I can only take money from your own accounts.",),
    "same_account": ("That would be the same account twice.",),
    "not_enough": ("There is {balance} in {source}, so I cannot move {amount} from it.",),
    "ask_purpose": ("That account is not one of yours. May I ask what the payment is for?",),
    "checking": ("One moment please while I run our security check.",),
    "cleared": ("Thank you for waiting.",),
    "ask_confirm": (
        "That is {amount} from {source} to {target}, is that right?",
        "So I move {amount} from {source} to {target}, is that right?",
    ),
    "ask_change": ("What should I change, the amount or the accounts?",),
    "sending": ("Thank you. I am moving it now, one moment please.",),
    "sending_checked": (
        "Thank you. A colleague checks a transfer like this one before it goes out. I will stay on the line.",
    ),
    # Waiting for a colleague
    "wait": (
        "My colleague is looking at it now, and I stay on the line with you.",
        "Thank you for your patience. It is still with my colleague, and nothing moves before it has been checked.",
        "I am still here. I will tell you as soon as my colleague has decided.",
    ),
    "wait_heard": ("Thank you, I heard {amount}. My colleague reads that before deciding.",),
    "withdrawing": ("One moment please, I take the transfer back.",),
    "wait_regret": (
        "I hear that you would rather not. The transfer is with my colleague now, who reads this "
        "conversation "
        "before deciding, so please stay on the line.",
    ),
    # What became of it
    "done": (
        "That is done: I have moved {amount} from {source} to {target}. Your receipt is {receipt}.",
        "It has gone through: {amount} from {source} to {target}. The receipt is {receipt}.",
    ),
    "left": ("There is now {from_balance} in {source}.",),
    "edited": ("A colleague has corrected the instruction before it went out.",),
    "regret_done": ("I know you had second thoughts. If you would like it moved back, please tell me.",),
    "not_cleared": (
        "I am sorry, our security check has not cleared this transfer, so I cannot make it on this line. "
        "Nothing has been moved. The check does not tell me why; any branch can look into it with you.",
    ),
    "ask_check_again": (
        "I am sorry, our security check is not answering just now. Nothing has been moved. Shall I try again?",
    ),
    "check_gone": (
        "I am sorry, our security check is still not answering, so I cannot move money for you "
        "at the moment. "
        "Nothing has been moved. Please call again a little later.",
    ),
    "rejected": (
        "I am sorry, a colleague has looked at this transfer and we cannot make it. Nothing has been moved. "
        "Any branch can go through it with you.",
    ),
    "refused_before": (
        "I am sorry, a colleague has decided that we cannot make this transfer. Nothing has been moved.",
    ),
    "ask_again": (
        "I am sorry to have kept you waiting: nobody was free to check the transfer in time, so "
        "nothing has been "
        "moved. Shall I ask for it again, or would you rather leave it?",
    ),
    "withdrawn": ("The transfer was taken back before it went out. Nothing has been moved.",),
    "responded": ("My colleague would like to be sure before anything moves. Nothing has been moved yet.",),
    "failed": (
        "I am sorry, I could not complete the transfer. I would rather have a colleague look at "
        "it than try again "
        "by myself.",
    ),
    "failed_money": ("I am sorry, there is not enough money in the account for that. Nothing has been moved.",),
    "failed_account": ("I am sorry, the bank does not know that account. Nothing has been moved.",),
    "stopped": ("Of course, I leave everything as it is. Nothing has been moved.",),
    # The end
    "back": ("I am back with you.",),
    "ask_else": ("Is there anything else I can do for you?", "May I help you with anything else?"),
    "bye_unknown": ("Thank you for calling. Goodbye.",),
    "bye": (
        "Thank you for calling, {name}. Goodbye.",
        "You are welcome, {name}. Thank you for calling, goodbye.",
    ),
}

_SLOT = re.compile(r"\\{(\w+)\\}")


def say(line: str, variant: int = 0, /, **slots: str) -> str:
    """The line of that name with its slots filled; `variant` picks the wording."""
    wordings = LINES[line]
    return wordings[variant % len(wordings)].format(**slots)


@cache
def _questions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile(_SLOT.sub(r"(?P<\1>.+?)", re.escape(wording))))
        for name, wordings in LINES.items()
        if name.startswith("ask_")
        for wording in wordings
    )


@cache
def _waiting() -> tuple[re.Pattern[str], ...]:
    names = ("sending_checked", "wait", "wait_heard", "wait_regret")
    wordings = [wording for name in names for wording in LINES[name]] + [LINES["ask_digits"][1]]
    return tuple(re.compile(_SLOT.sub(r".+?", re.escape(wording))) for wording in wordings)


def waits(text: str) -> bool:
    """Whether the agent said that a colleague is deciding."""
    return any(pattern.search(text) for pattern in _waiting())


def recall(text: str) -> tuple[str, dict[str, str]]:
    """The last question in something the agent said, and what its slots held; ("", {}) "
    "where there is none."""
    asked = [
        (match.start(), name, match.groupdict())
        for name, pattern in _questions()
        if (match := pattern.search(text)) is not None
    ]
    if not asked:
        return "", {}
    _, name, slots = max(asked, key=lambda item: item[0])
    return name, slots
