"""Pages of rules: saving a definition, switching it, and showing again what was refused beside what was typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agentstate.errors import Invalid, NotFound, Refused
from agentstate.people.models import Team
from agentstate.people.permissions import PermissionDenied, teams_with
from agentstate.people.roles import Permission
from sessions.automation.rules import commands
from sessions.automation.rules.store import RuleStore
from sessions.http import strict_json
from sessions.http.frame import as_id

Context = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RulePages:
    """The pages of one kind: `page` names the URL and template of one rule, and with an s of the list. `field` is the
    form's field that names the rule to be changed.
    """

    store: RuleStore[Any]
    page: str
    field: str
    one: Callable[[HttpRequest, UUID], Context]
    many: Callable[[HttpRequest], Context]

    def save(self, request: HttpRequest, wanted: Any = None, **scope: Any) -> HttpResponse:
        """Makes a rule or its next version, of `wanted` or of the form's definition; then on to its page."""
        sent = request.POST
        try:
            definition = written(request) if wanted is None else wanted
            name, seen, team = sent.get("name", "").strip(), whole(sent.get("seen", "0"), "seen"), sent.get("team", "")
            row = commands.keep(self.store, request.user, name, definition, seen=seen, team=team, **scope)
        except PermissionDenied:
            raise
        except Refused as refusal:
            return self.again(request, refusal)
        return redirect(self.page, row.pk)

    def switch(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Switches a rule as the form says; then back to its page."""
        try:
            commands.switch(self.store, request.user, pk, request.POST.get("on") == "1")
        except (PermissionDenied, NotFound):
            raise
        except Refused as refusal:
            return self.again(request, refusal, str(pk))
        return redirect(self.page, pk)

    def again(self, request: HttpRequest, refusal: Refused | None = None, rule: str = "", **more: Any) -> HttpResponse:
        """Shows the page that was sent, with what was refused."""
        changed = rule or request.POST.get(self.field, "")
        context = self.one(request, as_id(changed, self.field)) if changed else self.many(request)
        template = f"agent_sessions/{self.page}{'' if changed else 's'}.html"
        told = {**context, **more, **({"refusal": refusal} if refusal else {})}
        return render(request, template, told, status=refusal.status if refusal else 200)


def written(request: HttpRequest) -> Any:
    """Returns the definition that was typed. Raises Invalid."""
    return strict_json.loads(request.POST.get("definition", "").encode())


def text(request: HttpRequest, otherwise: Any) -> str:
    """Returns the definition to be edited: what was typed, or another as JSON."""
    return request.POST.get("definition") or json.dumps(otherwise, indent=2)


def whole(sent: str, field: str) -> int:
    """Returns the number that was sent. Raises Invalid."""
    if not sent.isdecimal() or len(sent) > 9:
        raise Invalid("want a whole number", field=field)
    return int(sent)


def teams_to_choose(request: HttpRequest) -> Any:
    """Returns the teams that the reader configures, by name."""
    return Team.objects.filter(pk__in=teams_with(request.user, Permission.CONFIGURE)).order_by("name")
