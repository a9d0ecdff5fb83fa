"""Rules of a team as rows: each change is a new version and an entry of the staff log, and each can be switched off."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar
from uuid import UUID

import msgspec
from django.db import models, transaction

from agentstate.errors import NotFound, Refused
from agentstate.ids import new_id
from audit import staff
from audit.server_clock import now as database_now
from sessions.library.versions import must_be_named, must_be_seen

MAX_VERSIONS = 500  # of one answer
Row = TypeVar("Row", bound=models.Model)


class VersionLine(msgspec.Struct, frozen=True):
    """One version of a rule."""

    version: int
    by: str
    at: datetime
    definition: dict[str, Any]


class RuleStore(Generic[Row]):
    """The rules of one kind. A kind says what its rows are, checks a definition, and fills its own columns."""

    rows: type[Row]
    versions: ClassVar[type[models.Model] | None] = None  # None: the row itself holds all of it
    label: ClassVar[str] = "rule"  # of the rule's id, in the table of versions and in the staff log
    event: ClassVar[str]  # first part of the kinds of its entries in the staff log
    most: ClassVar[int]  # of one team
    unknown: ClassVar[type[NotFound]]
    too_many: ClassVar[type[Refused]]

    def checked(self, team: UUID, data: Any, **scope: Any) -> tuple[Any, dict[str, Any]]:
        """Returns the definition, and as it is stored. Raises what the kind refuses."""
        raise NotImplementedError

    def fill(self, row: Any, definition: Any, at: datetime) -> None:
        """Sets the columns that follow from a definition."""

    def switched(self, row: Any) -> None:
        """Sets the columns that follow from the switch. Raises what the kind refuses."""

    def saved(self, row: Any) -> None:
        """Lets others know of a change, in its transaction."""

    def prepare(self, team: UUID) -> None:
        """Sets up what a team begins with, before its first own rule."""

    def limit(self, **_: Any) -> int:
        """Returns how many rules of a scope a team may have."""
        return self.most

    def keep(
        self,
        tenant: UUID,
        team: UUID,
        by: str,
        name: str,
        data: Any,
        *,
        seen: int = 0,
        since: datetime | None = None,
        **scope: Any,
    ) -> Row:
        """Makes or changes the rule of that name: its next version, on as it was. `seen` is the version that its author
        saw (0: none of it yet). The rule ignores what happened before `since` (now). Raises as `checked`, and
        ChangedMeanwhile, Invalid, and `too_many`.
        """
        must_be_named(name)
        definition, stored = self.checked(team, data, **scope)
        with transaction.atomic():
            same = self.rows._default_manager.filter(team_id=team, **scope)
            row: Any = same.select_for_update().filter(name=name).first()
            must_be_seen(row, seen)
            if row is None:
                if same.count() >= self.limit(**scope):
                    raise self.too_many(f"{self.limit(**scope)} are allowed")
                row = self.rows(id=new_id(), tenant_id=tenant, team_id=team, name=name, version=0, **scope)
            row.version += 1
            row.changed_by, row.changed_at = by, database_now()
            row.since = since or row.changed_at
            self.fill(row, definition, row.changed_at)
            row.save()
            if self.versions is not None:
                version = {self.label: row.pk, "version": row.version, "definition": stored}
                self.versions._default_manager.create(**version, by=by, at=row.changed_at)
            self.record(row, "changed", by, version=row.version)
            self.saved(row)
        return row  # type: ignore[no-any-return]

    def switch(self, pk: UUID, on: bool, by: str, why: str = "") -> bool:
        """Switches it on or off. Returns whether that changed anything: it is recorded only then. Raises `unknown`."""
        with transaction.atomic():
            row: Any = self.rows._default_manager.select_for_update().filter(pk=pk).first()
            if row is None:
                raise self.unknown()
            if row.on == on:
                return False
            row.on, row.changed_by, row.changed_at = on, by, database_now()
            if on:
                row.since = row.changed_at
            facts = {}
            if hasattr(row, "off_why"):
                row.off_why, facts = "" if on else why, {"why": why}
            self.switched(row)
            row.save()
            self.record(row, "switched_on" if on else "switched_off", by, **facts)
            self.saved(row)
        return True

    def record(self, row: Any, done: str, by: str, **facts: str | int) -> None:
        """Appends what was done to the staff log."""
        known = {self.label: str(row.pk), "name": row.name, "team": str(row.team_id), **facts}
        staff.record(row.tenant_id, database_now(), f"{self.event}.{done}", by, "", known)

    def definition(self, pk: UUID, version: int) -> dict[str, Any]:
        """Returns one version, as it was stored."""
        assert self.versions is not None
        found: Any = self.versions._default_manager.get(**{self.label: pk, "version": version})
        return found.definition  # type: ignore[no-any-return]

    def definitions(self, rows: Iterable[Any]) -> dict[UUID, dict[str, Any]]:
        """Returns the newest version of each of these rules, by its id."""
        assert self.versions is not None
        newest = {(row.pk, row.version) for row in rows}
        kept = self.versions._default_manager.filter(**{f"{self.label}__in": [pk for pk, _ in newest]})
        found = kept.values_list(self.label, "version", "definition")
        return {pk: definition for pk, version, definition in found if (pk, version) in newest}

    def history(self, pk: UUID) -> list[VersionLine]:
        """Returns the versions of a rule, newest first."""
        assert self.versions is not None
        kept: Any = self.versions._default_manager.filter(**{self.label: pk}).order_by("-version")[:MAX_VERSIONS]
        return [VersionLine(each.version, each.by, each.at, each.definition) for each in kept]
