"""Pages of a list: each goes on behind the last row of the page before, however many rows have come or gone since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from agentstate.errors import Invalid

Row = TypeVar("Row", bound=Model)


def behind(rows: QuerySet[Row], visible: QuerySet[Row], after: UUID | None, order: Sequence[str]) -> QuerySet[Row]:
    """`rows` in this order (a minus: descending), those behind the row `after`, which must be among `visible`.

    The order ends with the primary key, and its columns never change. Raises Invalid.
    """
    if after is None:
        return rows.order_by(*order)
    last = visible.filter(pk=after).first()
    if last is None:
        raise Invalid("there is no such row, or you may not see it", field="after")
    return rows.filter(_beyond(last, order)).order_by(*order)


def _beyond(last: Model, order: Sequence[str]) -> Q:
    beyond, equal = Q(), Q()
    for column in order:
        name, comparison = column.lstrip("-"), "lt" if column.startswith("-") else "gt"
        value = getattr(last, name)
        beyond |= equal & Q(**{f"{name}__{comparison}": value})
        equal &= Q(**{name: value})
    return beyond
