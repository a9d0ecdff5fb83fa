"""What can be asked of a customer's profile. Whether it is done is decided in `decide`."""

from __future__ import annotations

from typing import Any

import msgspec

from agentstate.engine.profile.events import Part
from agentstate.engine.profile.happenings import Happening


class ProfileCommand(msgspec.Struct, frozen=True, tag=True):
    """The base of all commands to a profile. `by` is the customer, or the account that speaks for them."""


class Agree(ProfileCommand, frozen=True):
    """The customer agrees to be known for a purpose. `note`: how that is known, in the words of who notes it."""

    purpose: str
    by: str
    note: str = ""


class Withdraw(ProfileCommand, frozen=True):
    """The customer agrees no longer."""

    purpose: str
    by: str
    note: str = ""


class Prefer(ProfileCommand, frozen=True):
    """The customer says what they want."""

    preference: str
    value: Any
    by: str


class Clear(ProfileCommand, frozen=True):
    """The customer takes back what they said they want."""

    preference: str
    by: str


class Rate(ProfileCommand, frozen=True):
    """The customer says that a value fits them, or does not."""

    preference: str
    value: Any
    fits: bool
    by: str


class Correct(ProfileCommand, frozen=True):
    """What was learned is wrong: this is right."""

    preference: str
    value: Any
    by: str


class Refuse(ProfileCommand, frozen=True):
    """This must not be learned: the whole preference, or (with a value) only that value."""

    preference: str
    by: str
    value: Any = None


class Allow(ProfileCommand, frozen=True):
    """What was refused may be learned again."""

    preference: str
    by: str
    value: Any = None


class Forget(ProfileCommand, frozen=True):
    """Forget one preference that was learned, one setting, one history, or everything but consents and refusals."""

    part: Part
    by: str
    name: str = ""


class Learn(ProfileCommand, frozen=True):
    """Learn from the entries of a session up to `through`. The runtime's, never a person's."""

    session: str
    through: int
    happenings: tuple[Happening, ...] = ()


PersonsCommand = Agree | Withdraw | Prefer | Clear | Rate | Correct | Refuse | Allow | Forget
