"""The two families of error that the whole house shares.

`Refused`: the caller asked for something that may not be; tell them and go on.
`Broken`: what must hold does not hold; stop and raise the alarm.

A subclass's docstring is its message, so an error is documented where it is defined. Details of one
occurrence are keyword arguments; they reach the API's problem documents, so no secret may be among them.
"""

from __future__ import annotations

from typing import ClassVar


class AgentStateError(Exception):
    """Something in AgentState failed."""

    code: ClassVar[str] = "error"
    remedy: ClassVar[str] = ""
    status: ClassVar[int] = 500

    def __init__(self, detail: str = "", **facts: object) -> None:
        self.detail = detail
        self.facts = facts
        super().__init__(detail)

    @property
    def title(self) -> str:
        """The first line of the docstring of the class: what went wrong, for a person."""
        return (type(self).__doc__ or self.code).strip().splitlines()[0]

    def __str__(self) -> str:
        return f"{self.title} {self.detail}".strip()


class Refused(AgentStateError):
    """The request was refused."""

    code = "refused"
    status = 409


class Broken(AgentStateError):
    """Something that must hold does not hold."""

    code = "broken"
    status = 500


class Invalid(Refused):
    """The request is malformed."""

    code = "invalid"
    status = 400

    def __init__(self, detail: str = "", *, field: str = "", **facts: object) -> None:
        super().__init__(detail, field=field, **facts)


class NotFound(Refused):
    """There is no such thing, or you may not see it."""

    code = "not_found"
    status = 404
