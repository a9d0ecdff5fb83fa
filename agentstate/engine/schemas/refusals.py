"""What is said of a schema or a value that cannot be taken: always the path, always the rule."""

from __future__ import annotations

from agentstate.errors import Invalid, Refused


class BadSchema(Invalid):
    """The schema cannot be used."""

    code = "bad_schema"

    def __init__(self, path: str, rule: str, detail: str = "") -> None:
        super().__init__(_told(path, rule, detail), field=path, rule=rule)
        self.path, self.rule = path, rule


class BreaksSchema(Invalid):
    """The value breaks its schema."""

    code = "breaks_schema"

    def __init__(self, path: str, rule: str, detail: str = "") -> None:
        super().__init__(_told(path, rule, detail), field=path, rule=rule)
        self.path, self.rule = path, rule


class MissingValue(BreaksSchema):
    """The state does not hold this value."""

    code = "missing_value"


class WrongType(BreaksSchema):
    """The value in the state is of another type."""

    code = "wrong_type"


class OutOfRange(BreaksSchema):
    """The value in the state is outside of what its schema allows."""

    code = "out_of_range"


class NotAWriter(Refused):
    """This part of the state is written by others."""

    code = "not_a_writer"
    status = 403

    def __init__(self, path: str, actor: str, writers: tuple[str, ...]) -> None:
        wanted = ", ".join(writers) or "system"
        super().__init__(f"{path}: x-writers: got {actor}, want one of {wanted}", field=path, rule="x-writers")
        self.path, self.rule = path, "x-writers"


def _told(path: str, rule: str, detail: str) -> str:
    return f"{path}: {rule}: {detail}" if detail else f"{path}: {rule}"
