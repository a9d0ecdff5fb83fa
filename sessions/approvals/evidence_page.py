"""The page of what those who decided a request saw as they did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agentstate.people.queries import display_names
from sessions.approvals import evidence as approvals_evidence
from sessions.approvals import queries as approvals_queries
from sessions.descriptions import differences as descriptions_differences
from sessions.descriptions import entries as descriptions_entries
from sessions.descriptions import values
from sessions.http.frame import console
from sessions.text import money

CITED = {"sha256", "bytes"}


@dataclass
class Told:
    """One decision with what stood before its author."""

    line: approvals_evidence.SeenLine
    act: str
    arguments: list[tuple[str, str]]
    evidence: list[tuple[str, Any]]
    differences: list[str]

    @property
    def data(self) -> dict[str, Any]:
        """As recorded; empty where nothing is."""
        return self.line.data or {}


@console
@require_safe
def decision_seen(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Each decision, oldest first."""
    line = approvals_queries.request_line(request.user, request_id)
    told = [_told(each) for each in approvals_evidence.seen_of(request.user, request_id)]
    actors = {actor for each in told for actor in (each.line.by, *each.data.get("approvals", ()))}
    context = {"here": "decisions", "line": line, "told": told, "names": display_names(actors)}
    return render(request, "agent_sessions/decision_seen.html", context)


def _told(line: approvals_evidence.SeenLine) -> Told:
    data = line.data or {}
    arguments, evidence = data.get("arguments", {}), data.get("evidence", [])
    if set(arguments) == CITED:
        arguments = {"arguments": arguments}
    if isinstance(evidence, dict):
        evidence = [{"path": "evidence", "value": evidence}]
    return Told(
        line,
        descriptions_entries.entry("decision.made", {"decision": line.decision, "reason": ""}).act
        if line.decision
        else "Erased",
        [(values.plain(name), in_words(value)) for name, value in sorted(arguments.items(), key=_money_first)],
        [(each["path"], _cited(each["value"])) for each in evidence],
        [descriptions_differences.difference(each, {}) for each in data.get("differences", ())],
    )


def _money_first(argument: tuple[str, Any]) -> bool:
    return not money.is_money(argument[1])


def in_words(value: Any) -> str:
    """A value as it was shown, or where it stands that was too long to be written twice."""
    return values.value(_cited(value))


def _cited(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == CITED:
        return f"{value['bytes']} bytes, in the entry that asked or was edited: sha256 {value['sha256'][:12]}…"
    return value
