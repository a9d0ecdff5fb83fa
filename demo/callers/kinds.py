"""Twelve kinds of caller: who they are, what they want, and what they say to which question. Data, and pure functions.

A caller goes by what the agent asks, recognised by a few words (`cue`), so the same scripts work with a language
model behind the agent. None of them knows what a supervisor will decide.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random

from demo.bank.people import Person, companies, people
from demo.callers.wording import digits, figures, in_hundreds, words

HANG_UP = "*hangs up*"

# What the agent wants, by the first pattern that its words match.
_CUES = (
    ("goodbye", r"\bgoodbye\b"),
    ("purpose", r"what the payment is for"),
    ("confirm", r"is that (?:right|correct)\?|shall i (?:go ahead|proceed|move)"),
    ("try_again", r"shall i (?:try again|ask for it again)"),
    ("digits", r"digit by digit"),
    ("done", r"\breceipt\b"),
    ("refused", r"nothing has been moved|cannot make (?:this|it)"),
    ("change", r"what should i change"),
    ("number", r"customer number"),
    ("amount", r"how much would|what amount"),
    ("accounts", r"(?:from|to) which (?:account|one)"),
    ("else", r"anything else"),
    ("wish", r"how (?:can|may) i help|what can i do for you|which of these"),
    ("wait", r"\bcolleague\b|stay on the line|still here"),
    ("soon", r"one moment|just a moment"),
)

Lines = Mapping[str, tuple[str, ...]]

# What most people say; a kind's own lines come before these. An empty line is to say nothing.
COMMON: Lines = {
    "number": ("It is {customer}.", "Let me see, {customer}."),
    "confirm": ("Yes, that's right.", "Yes please.", "That is correct, thank you."),
    "amount": ("{amount}, please.", "It is {amount}."),
    "accounts": ("From {source} to {target}, please.", "From my {source} into my {target}."),
    "digits": ("{digits}. That is {amount}.",),
    "change": ("Nothing really, it is {amount} from {source} to {target}.",),
    "purpose": ("It is for a bill.",),
    "try_again": ("Yes please, I can wait a moment.", "Sure, try again."),
    "done": (
        "Wonderful, thank you. That's all.",
        "Perfect, that's all for today. Thank you.",
        "Great, nothing else. Bye.",
    ),
    "refused": ("Alright. That's all then, thank you.", "I see. Then that's all. Goodbye."),
    "else": ("No, that's all. Thank you.", "That's it, thanks. Bye."),
    "wish": ("I would like to move {amount} from {source} to {target}.",),
    "wait": ("", "", "", "Thank you."),
    "soon": ("",),
    "chat": (
        "No hurry, I have my tea here.",
        "Are you still there?",
        "Take your time.",
        "Is it always like this on a Saturday?",
        "I can wait a little, it is quiet at home.",
        "Still nothing?",
        "I only want it done before the weekend is over.",
    ),
    "silence": ("Hello, are you there?", "Hello?"),
    "other": ("I would like to move {amount} from {source} to {target}.",),
}


@dataclass(frozen=True)
class Kind:
    """A kind of caller. Amounts are whole dollars: `amounts` from, to, step. `restless`: seconds of waiting after which
    they say something."""

    name: str
    opening: tuple[str, ...]
    lines: Lines
    amounts: tuple[int, int, int] = (0, 0, 1)
    flags: tuple[str, ...] = ("clear", "slow")
    channel: str = "phone"
    decides: bool = False  # a person will have to decide, so they may have to wait
    restless: float = 75.0
    topic: str = "transfer"


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "small",
            (
                "Hello, I'd like to move {amount} from {source} to {target}, please.",
                "Hi, could you put {amount} from my {source} into my {target}?",
                "Good morning, I need to transfer some money between my accounts.",
            ),
            {"wish": ("{amount} from {source} to {target}, if you would.",)},
            amounts=(20, 480, 5),
        ),
        Kind(
            "large",
            (
                "Hi, I need to move some money from my {source} into {target} before the roofer comes at four.",
                "Hello, I want to transfer {amount} from {source} to {target}. It is for the car.",
                "Good afternoon. The school fees are due, so please move {amount} from {source} to {target}.",
                "Hello, we are buying a kitchen and I need {amount} in {target}, from {source}.",
            ),
            {},
            amounts=(620, 2480, 10),
            decides=True,
        ),
        Kind(
            "misheard",
            (
                "Hi, I need to move some money from {source} to {target}, it is {hundreds} dollars.",
                "Hello, I'd like {hundreds} dollars moved from my {source} to my {target}, please.",
            ),
            {
                "amount": ("{hundreds} dollars.",),
                "confirm": ("Yes. {hundreds}, that's right.", "Yes, {hundreds}, from {source}. That's right."),
                "digits": ("{digits}. {spoken}.",),
                "chat": (
                    "So that is {hundreds} then, {spoken}.",
                    "Just to be sure, {digits}.",
                    "Is it done? {spoken}, yes?",
                    "I'm still here.",
                ),
                "change": ("The amount. It is {figures}.",),
            },
            amounts=(2300, 6300, 1000),
            decides=True,
        ),
        Kind(
            "doubtful",
            (
                "Hello. I must send {amount} from savings to account {stranger}, and please be quick.",
                "Hi, I have to transfer {amount} out of my savings to account {stranger}, it is urgent.",
            ),
            {
                "purpose": (
                    "The man from your security department says my money is only safe there.",
                    "A gentleman on the other line told me to. He says I must not speak of it to anybody.",
                    "It is an investment, they doubled my money last week, but I need to pay a release fee.",
                ),
                "confirm": ("Yes, yes. Please hurry, he is waiting.", "Yes, go ahead, quickly please."),
                "accounts": ("From savings to account {stranger}.",),
                "wish": ("Send {amount} from savings to account {stranger}.",),
                "chat": (
                    "He says it has to be today.",
                    "Can this not go faster? He is still on the other phone.",
                    "I was told the bank would do this at once.",
                ),
                "refused": ("Oh. He said you would say that. I will ask my daughter. Goodbye.",),
            },
            amounts=(700, 2400, 50),
            decides=True,
            topic="new payee",
        ),
        Kind(
            "refused_check",
            (
                "Hello, please move {amount} from {source} to {target}.",
                "Hi, I want {amount} out of {source} into {target}.",
            ),
            {"refused": ("That is strange. I will come to the branch then. Goodbye.", "I see. That's all, bye.")},
            amounts=(150, 2400, 50),
            flags=("refuse",),
        ),
        Kind(
            "check_away",
            ("Hi there, can you transfer {amount} from {source} to {target}?",),
            {"try_again": ("Sure, I can wait. Please try again.", "Yes, try again please, no hurry.")},
            amounts=(40, 490, 10),
            flags=("unsteady",),
        ),
        Kind(
            "written",
            (
                "Hi, please move {amount} from {source} to {target}.",
                "Hello, I am at work and cannot talk. {amount} from {source} to {target}, please.",
            ),
            {"soon": ("", "No hurry."), "wait": ("",)},
            amounts=(50, 480, 10),
            channel="chat",
        ),
        Kind(
            "balance",
            (
                "Hello, could you tell me my balance?",
                "Hi, how much do I have in checking?",
                "What is the balance of my accounts?",
            ),
            {
                "else": ("No, that's all I wanted. Thank you.", "That's all, bye."),
                "wish": ("Just my balance, please.",),
                "other": ("I only wanted to know my balance.",),
            },
            channel="chat",
            topic="balance",
        ),
        Kind(
            "second_thoughts",
            ("Hello, I'd like to move {amount} from {source} to {target}.",),
            {
                "confirm": (
                    "Hm. Actually no, leave it. I want to talk to my wife first.",
                    "Wait. No, I have changed my mind, forget it.",
                    "On second thought I'd rather not today. Leave it, please.",
                ),
                "refused": ("Thank you, that's all. Bye.",),
            },
            amounts=(300, 2400, 50),
        ),
        Kind(
            "wants_person",
            (
                "Hello, can I talk to a real person, please?",
                "Hi, I do not want a machine. Let me speak to a human being, please.",
                "Good morning. I would like to speak with somebody real about my savings.",
            ),
            {
                "wish": ("", "I would rather wait for somebody.", ""),
                "confirm": ("I would rather do that with a person.",),
                "wait": ("", "", "Thank you, I can wait."),
                "silence": ("Hello, is somebody coming?", "I am still here. Is a person free now?"),
                "met": (
                    "Finally, a person. I would like to move {amount} from {source} to {target}, please.",
                    "Thank you for coming. It is about {amount} that I want moved from {source} to {target}.",
                ),
            },
            amounts=(300, 2400, 50),
            topic="asks for a person",
        ),
        Kind(
            "upset",
            (
                "This is ridiculous. I am calling for the third time, and {amount} is still not in {target}.",
                "I am fed up. Nobody has moved my {amount} from {source} to {target}, how many times must I ask?",
            ),
            {
                "wish": ("Move {amount} from {source} to {target}, as I have said.",),
                "chat": ("How much longer?", "I have had enough of this music.", "Is anybody there at all?"),
            },
            amounts=(650, 2400, 50),
            decides=True,
            restless=45.0,
            topic="third call",
        ),
        Kind(
            "hangs_up",
            ("Hello, {amount} from {source} to {target} please, I am in a bit of a rush.",),
            {"chat": ("How long will this take?", HANG_UP)},
            amounts=(800, 2400, 100),
            decides=True,
            restless=38.0,
        ),
    )
}


@dataclass(frozen=True)
class Story:
    """One call to be made: a kind, a person, an amount in minor units, and the words for them."""

    kind: Kind
    person: Person
    minor: int
    slots: Mapping[str, str]


def cue(text: str) -> str:
    """What the agent wants of the caller: a key of the lines, "other" where it is not recognised."""
    lowered = text.lower()
    return next((name for name, pattern in _CUES if re.search(pattern, lowered)), "other")


def story(kind: Kind, dice: Random, person: Person) -> Story:
    """A fresh story of that kind for `person`."""
    low, high, step = kind.amounts
    dollars = dice.randrange(low, high + 1, step) if high else 0
    minor = 100 * dollars
    ends = ("checking", "savings") if kind.name == "small" and dice.random() < 0.25 else ("savings", "checking")
    source, target = (_account(end, person, dice) for end in ends)
    spoken = f"{words(dollars)} dollars"
    slots = {
        "customer": person.id,
        "amount": dice.choice((spoken, figures(minor))) if kind.channel == "phone" else figures(minor),
        "figures": figures(minor),
        "spoken": spoken.capitalize(),
        "hundreds": in_hundreds(dollars) if dollars >= 1100 else spoken,
        "digits": digits(dollars).capitalize(),
        "source": source,
        "target": target,
        "stranger": dice.choice(companies()).accounts[0].id,
    }
    return Story(kind, person, minor, slots)


def _account(kind: str, person: Person, dice: Random) -> str:
    """By its kind, or with its ending as well."""
    return f"{kind} ending {person.account(kind).last4}" if dice.random() < 0.3 else kind


def opening(told: Story, dice: Random) -> str:
    """The first words."""
    return _filled(dice.choice(told.kind.opening), told)


def reply(told: Story, wanted: str, dice: Random) -> str:
    """What this caller says to that cue; "" for nothing, HANG_UP to go."""
    lines = told.kind.lines.get(wanted) or COMMON[wanted]
    return _filled(dice.choice(lines), told)


def _filled(line: str, told: Story) -> str:
    text = line.format(**told.slots)
    return text[:1].upper() + text[1:]


def callers_for(kind: Kind, busy: Collection[str]) -> list[Person]:
    """The people who may call with such a story and are not on the line."""
    return [person for person in people() if person.flag in kind.flags and person.id not in busy]
