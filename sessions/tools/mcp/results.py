"""What a server offers and what a call of it gave: shapes and refusals, apart from the conversation. The package that
speaks the protocol takes a fifth of a process's start, and few processes ever speak to a server.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sessions.outside import refusals


class NoProtocol(refusals.NotReached):
    """What it says does not follow the protocol."""

    code = "no_protocol"


class ServerError(refusals.NotReached):
    """It answered with an error."""

    code = "server_error"


class WantsMore(refusals.NotReached):
    """It asks for something before it acts, and nobody answers servers."""

    code = "wants_more"


class Offer(msgspec.Struct, frozen=True):
    """A tool as its server describes it: everything that a model is shown or that decides how it is called."""

    name: str
    description: str
    arguments: Any  # JSON Schema
    result: Any = None
    title: str = ""
    hints: Any = None  # the server's annotations: shown to whoever accepts, believed by nobody


class Said(msgspec.Struct, frozen=True):
    """What a call gave. `other` names what was neither text nor structure."""

    text: str
    data: Any = None
    other: tuple[str, ...] = ()
    failed: bool = False


class Changed(Exception):
    """The server describes the tool otherwise than was accepted, or no more. `offers` is all that it offers."""

    def __init__(self, offers: list[Offer]) -> None:
        super().__init__()
        self.offers = offers
