"""The page of a session's state: its three kinds, who may write what, what is missing, and its version."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agentstate.people.permissions import PermissionDenied
from agentstate.people.queries import display_names
from sessions.core import session_lines
from sessions.data import queries as data_queries
from sessions.descriptions import values as descriptions_values
from sessions.http.frame import console
from sessions.state_schemas import queries as schemas

KINDS = {
    "object": "values together",
    "array": "a list",
    "string": "words",
    "boolean": "yes or no",
    "integer": "a whole number",
    "number": "a number",
    "money": "an amount",
    "choice": "one of a few",
}


@console
@require_safe
def state(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """The state as it stands now; private values hidden from those who may not unmask."""
    line = session_lines.session_line(request.user, session_id)
    try:
        kinds = schemas.kinds_of(request.user, session_id)
    except PermissionDenied:
        return render(request, "agent_sessions/session_closed.html", {"here": "sessions", "line": line})
    values = dict(descriptions_values.rows(kinds.kinds.task.data))
    beside = data_queries.data_of(request.user, session_id)
    context = {
        "here": "sessions",
        "line": line,
        "kinds": kinds,
        "values": values,
        "places": [_row(place, kinds.kinds.task.data) for place in kinds.places],
        "names": display_names({each.by for each in beside.objects}),
        "beside": [
            (each, descriptions_values.value(each.value), descriptions_values.plain(each.by.replace(":", " ")))
            for each in beside.objects
        ],
        "preferences": descriptions_values.rows(kinds.kinds.user.preferences),
        "history": descriptions_values.rows(kinds.kinds.user.history),
    }
    return render(request, "agent_sessions/state.html", context)


def _row(place: schemas.PlaceLine, data: dict[str, Any]) -> dict[str, Any]:
    """A declared place with what stands there now."""
    value: Any = data
    for name in place.path.split(".")[1:]:
        value = value.get(name) if isinstance(value, dict) else None
    told = descriptions_values.value(value) if value is not None else ""
    writers = ", ".join(descriptions_values.plain(writer.replace(":", " ")).lower() for writer in place.writers)
    return {
        "place": place,
        "name": descriptions_values.plain(place.path),
        "value": told,
        "writers": writers or "only the system",
        "kind": KINDS.get(place.type, place.type),
    }
