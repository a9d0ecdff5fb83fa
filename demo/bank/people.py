"""Who banks here: the invented customers, and everything the bank knows of them at its first start.

Pure and repeatable: the same people every time, so that a script may name them without asking the database.
All names, numbers and notes are made up; likeness to anybody is chance. Not where the tables are filled:
see `seed.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

# How the authorization service treats a customer: it clears, it says no, it takes its time, or it is away for
# a while when it is first asked about them.
FLAGS = ("clear", "refuse", "slow", "unsteady")
_REFUSED = (7, 19, 31, 52, 66, 81)
_UNSTEADY = (4, 15, 28, 47, 60, 77, 90)
_SLOW = (9, 22, 38, 55, 71, 85)

NAMES = (
    "Amara Okonkwo", "Benedikt Lauer", "Catalina Rojas", "Declan Moriarty", "Edda Sigurdsson",
    "Farid Haddad", "Greta Lindqvist", "Hugo Valcourt", "Ioana Petrescu", "Jasper Thornbury",
    "Keiko Morimoto", "Leandro Pinto", "Mireille Fontaine", "Nikhil Raman", "Odette Baptiste",
    "Piotr Zawadzki", "Quentin Ashdown", "Rosalind Pike", "Soren Kjeldsen", "Tamsin Redfern",
    "Ulrike Brandner", "Vikram Seth-Rao", "Winifred Oyelaran", "Xiomara Delgado", "Yusuf Demirci",
    "Zofia Halasz", "Anselm Grube", "Beatriz Quintela", "Callum Strachan", "Dorothea Nyman",
    "Emeka Adichie", "Fiona Galbraith", "Gianluca Sartori", "Hana Kovarova", "Ibrahim Toure",
    "Josephine Marlowe", "Kasimir Wolff", "Lucinda Farrow", "Mateo Arriaga", "Ngozi Eze",
    "Orla Fitzmaurice", "Eleanor Whitcombe", "Pascal Delorme", "Rania Khoury", "Stellan Bergman",
    "Teodora Ilic", "Umberto Gallo", "Verena Hochstetter", "Wendell Pryce", "Ximena Carvallo",
    "Yara Nasser", "Zachary Holloway", "Agnes Turnbull", "Bashir Rahimi", "Clementine Dufour",
    "Dimitri Vasilakis", "Elspeth Cairns", "Fernando Teixeira", "Gudrun Asmussen", "Harish Menon",
    "Isolde Vermeer", "Jerome Castellane", "Kirsten Aalto", "Lorenzo Bianchetti", "Maeve Donnelly",
    "Noboru Ishida", "Olga Smirnitskaya", "Percival Hume", "Rosa Iturbe", "Sanjay Bhattal",
    "Thora Gunnarsdottir", "Uzoma Nwachukwu", "Viola Trevisan", "Walter Engstrom", "Yolanda Cisneros",
    "Zeynep Aksoy", "Alasdair McCrae", "Bronwen Pugh", "Cosmin Dragomir", "Dalia Mansour", "Edmund Rourke",
    "Filippa Sandell", "Gareth Llewellyn", "Henrietta Voss", "Ilya Baranov", "Jacinta Moura",
    "Kwame Asante", "Liesel Obermann", "Marguerite Chastain", "Nadir Benali", "Ottilie Kranz",
    "Priya Venkatesan", "Rupert Eastwick", "Saoirse Brennan", "Tobias Wendt", "Valentina Orsini",
)  # fmt: skip

# Companies with one account each: where a caller with a doubtful story is told to send the money.
COMPANIES = ("Northgate Asset Recovery", "Halcyon Crypto Partners", "Federal Safe Custody Desk")

_NOTES = (
    "Asked for the balance of the {a} account, given after security questions.",
    "Reported a card left in a machine abroad, card blocked, new one sent by post.",
    "Changed the postal address after a move, letter of confirmation sent.",
    "Asked why a transfer took two days, explained the weekend, content.",
    "Moved {m} from savings to checking by phone.",
    "Wanted to know the rate on savings from next quarter, leaflet sent.",
    "Complaint about a fee of {f}, refunded as a courtesy.",
    "Set up a standing order to the {a} account, first run confirmed.",
    "Forgot the online password, reset with a code by post.",
    "Asked about a card payment not recognised, it was a hotel's deposit.",
    "Called about a text message that pretended to be the bank, thanked, nothing lost.",
    "Asked for a statement of last year for the tax office, sent as PDF.",
    "Raised the daily card limit for a holiday, lowered again after two weeks.",
    "Line dropped while waiting, called back the same day.",
)


@dataclass(frozen=True)
class Account:
    """One account; `balance` in minor units of US dollars at the bank's first start."""

    id: str
    kind: str
    balance: int

    @property
    def last4(self) -> str:
        """The four digits by which people name an account."""
        return self.id[-4:]


@dataclass(frozen=True)
class Person:
    """One customer. `notes` are the last contacts: (minutes before the bank's first start, summary)."""

    id: str
    name: str
    number: str
    flag: str
    accounts: tuple[Account, ...]
    notes: tuple[tuple[int, str], ...] = ()

    def account(self, kind: str) -> Account:
        """The account of that kind, which every person has."""
        return next(account for account in self.accounts if account.kind == kind)


def _flag(index: int) -> str:
    if index in _REFUSED:
        return "refuse"
    if index in _UNSTEADY:
        return "unsteady"
    return "slow" if index in _SLOW else "clear"


def _money(minor: int) -> str:
    return f"${minor // 100:,}.{minor % 100:02d}"


def _notes(dice: Random) -> tuple[tuple[int, str], ...]:
    notes, ago = [], 0
    for text in dice.sample(_NOTES, 6):
        ago += dice.randint(2, 40) * 1440 + dice.randint(-300, 300)
        words = text.format(
            a=dice.choice(("savings", "checking")),
            m=_money(dice.randint(8, 90) * 2500),
            f=_money(dice.choice((450, 1200, 3500))),
        )
        notes.append((ago, words))
    return tuple(notes)


def _person(index: int, name: str, last4: tuple[int, int]) -> Person:
    dice = Random(f"bank customer {index}")
    stem = 884100 + index
    savings = Account(f"{stem}{last4[0]:04d}", "savings", dice.randint(1_250_000, 6_400_000))
    checking = Account(f"{stem}{last4[1]:04d}", "checking", dice.randint(68_000, 640_000))
    number = f"2044{dice.randint(10, 99)}{index:03d}"
    return Person(f"C-{1001 + index}", name, number, _flag(index), (savings, checking), _notes(dice))


@cache
def people() -> tuple[Person, ...]:
    """All private customers, in the order of their ids."""
    dice = Random("bank account endings")
    endings = dice.sample([n for n in range(1000, 10_000) if n not in (2207, 9931)], 2 * len(NAMES))
    pairs = list(zip(endings[::2], endings[1::2], strict=True))
    pairs[NAMES.index("Eleanor Whitcombe")] = (2207, 9931)
    return tuple(_person(i, name, pair) for i, (name, pair) in enumerate(zip(NAMES, pairs, strict=True)))


@cache
def companies() -> tuple[Person, ...]:
    """The companies, each with one checking account."""
    return tuple(
        Person(
            f"C-{1901 + i}",
            name,
            f"2099{i:05d}",
            "clear",
            (Account(f"990017{4410 + 37 * i}", "checking", 2_500_000),),
        )
        for i, name in enumerate(COMPANIES)
    )


def everybody() -> tuple[Person, ...]:
    """People and companies."""
    return people() + companies()
