"""Rules as lists show them: the columns of the row, the team's name, the newest definition, and what was counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from agentstate.people.models import Team
from sessions.automation.rules.store import RuleStore

Line = TypeVar("Line", bound=msgspec.Struct)
Counts = Mapping[UUID, Mapping[str, Any]]


def lines(
    store: RuleStore[Any],
    form: type[Line],
    rows: Iterable[Any],
    counts: Counts,
    counted: tuple[str, ...] = (),
    more: Callable[[Any], dict[str, Any]] = lambda _: {},
) -> list[Line]:
    """Returns a line for each row. Fields come from `more`, `counts` (0 for those `counted`), else from the row."""
    found = list(rows)
    names = dict(Team.objects.filter(pk__in={row.team_id for row in found}).values_list("pk", "name"))
    definitions = store.definitions(found) if "definition" in form.__struct_fields__ else {}
    none = dict.fromkeys(counted, 0)
    return [_line(form, row, names, definitions, {**none, **counts.get(row.pk, {})}, more(row)) for row in found]


def _line(
    form: type[Line],
    row: Any,
    names: Mapping[UUID, str],
    definitions: Mapping[UUID, Any],
    counts: Mapping[str, Any],
    more: dict[str, Any],
) -> Line:
    own = {"id": row.pk, "team": row.team_id, "team_name": names[row.team_id], "definition": definitions.get(row.pk)}
    known = {**own, **counts, **more}
    fields = {name: known[name] if name in known else getattr(row, name) for name in form.__struct_fields__}
    return form(**fields)
