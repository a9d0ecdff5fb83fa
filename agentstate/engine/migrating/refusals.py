"""Why a migration cannot be used, and why a state cannot be carried over."""

from __future__ import annotations

from agentstate.errors import Invalid, Refused


class BadMigration(Invalid):
    """The migration cannot be used."""

    code = "bad_migration"

    def __init__(self, migration: str, rule: str, detail: str) -> None:
        super().__init__(f"{migration}: {rule}: {detail}", field=migration, rule=rule)
        self.rule = rule


class CannotMigrate(Refused):
    """This state cannot be carried to the other version."""

    code = "cannot_migrate"
    remedy = "The session goes on under the version it has; a dry run of the migration names all such states."

    def __init__(self, path: str, rule: str, detail: str = "") -> None:
        super().__init__(f"{path}: {rule}: {detail}" if detail else f"{path}: {rule}", field=path, rule=rule)
        self.path, self.rule = path, rule
