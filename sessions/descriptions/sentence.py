"""What an entry says: a sentence of an act and what it was about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Data = dict[str, Any]


class Sentence(NamedTuple):
    """What an entry says: the act, what it was about, and whose dot it bears ("p" people, "r" risk, "" software)."""

    act: str
    about: str = ""
    mark: str = ""


Tell = Callable[[Data, str], Sentence]  # of an entry's data and its call's tool
