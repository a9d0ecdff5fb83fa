"""The frame around every page: what its navigation counts, and who sees which part of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from agentstate import clock
from agentstate.people.models import User
from agentstate.people.permissions import holds_any, teams_with
from agentstate.people.roles import Permission
from audit import condition
from sessions.approvals import queries as approvals_queries
from sessions.auditing import alterations
from sessions.automation.alerts import disk_space
from sessions.automation.alerts import queries as alerting
from sessions.automation.notifications import queries as notified
from sessions.core import stops as stopping
from sessions.http.frame import console
from sessions.interventions import queries as interventions_queries
from sessions.privacy import queries as subjects
from sessions.proposals import queries as proposing
from sessions.stops import queries as stop_lines
from sessions.supervision import queries as work

INSIDE = (Permission.CONFIGURE, Permission.CHANGE_STATE)


class Shell:
    """The frame's facts, asked for only when a template shows them: most fragments show none."""

    def __init__(self, request: HttpRequest) -> None:
        self._user = getattr(request, "user", None)
        self.at = clock.now()

    @property
    def person(self) -> User | None:
        """Who is signed in."""
        return self._user if isinstance(self._user, User) else None

    @cached_property
    def open_decisions(self) -> int:
        """The badge: what waits for this person, counted by the query that lists it."""
        return approvals_queries.decidable(self.person).count() if self.person else 0

    @cached_property
    def bell(self) -> notified.Bell:
        """The notices that this person has not read."""
        return notified.bell(self.person, 0) if self.person else notified.SILENT

    @cached_property
    def stops(self) -> tuple[stopping.StopLine, ...]:
        """What is stopped now in the person's teams."""
        return stop_lines.in_force_for(self.person) if self.person else ()

    @cached_property
    def may_stop(self) -> bool:
        """Whether the page of stops is theirs."""
        return holds_any(self.person, Permission.STOP) if self.person else False

    @cached_property
    def may_take_over(self) -> bool:
        """Whether work is handed to them, and the page of handover is theirs."""
        return bool(teams_with(self.person, Permission.TAKE_OVER)) if self.person else False

    @cached_property
    def wanted(self) -> int:
        """How many customers wait for a person."""
        return work.wanted_count(self.person) if self.person else 0

    @cached_property
    def may_answer_proposals(self) -> bool:
        """Whether the page of proposals is theirs."""
        return proposing.may_open(self.person) if self.person else False

    @cached_property
    def proposals(self) -> int:
        """Proposals that wait for this person's answer."""
        return proposing.waiting_count(self.person) if self.person else 0

    @cached_property
    def stuck(self) -> int:
        """Sessions in which somebody must step in, counted by the query that lists them."""
        return interventions_queries.stuck_sessions(self.person).count() if self.person else 0

    @cached_property
    def alerts(self) -> int:
        """What wants this person's eye, counted by the query that lists it."""
        return alerting.mine(self.person).count() if self.person else 0

    @cached_property
    def may_look_inside(self) -> bool:
        """Whether how agents are made concerns this person: who sets them up, or changes what their sessions hold."""
        return any(teams_with(self.person, each) for each in INSIDE) if self.person else False

    @cached_property
    def may_configure(self) -> bool:
        """Whether this person sets a team up."""
        return bool(teams_with(self.person, Permission.CONFIGURE)) if self.person else False

    @cached_property
    def may_serve_subjects(self) -> bool:
        """Whether the page about erasures, legal holds and retention is theirs."""
        return subjects.may_open(self.person) if self.person else False

    @cached_property
    def trouble(self) -> condition.Trouble | None:
        """What is wrong with the ledger, for admins; that somebody altered it, for supervisors and auditors as well."""
        if self.person is None:
            return None
        told = condition.read(self.person.tenant_id).told
        if told is None:
            return None
        if told.code in condition.TAMPERED:
            return told if alterations.is_told(self.person) else None
        return told if teams_with(self.person, Permission.CONFIGURE) else None

    @cached_property
    def altered(self) -> alterations.Altered | None:
        """What was altered in the database, for supervisors, auditors and admins, until it is acknowledged."""
        return alterations.banner(self.person) if self.person is not None else None

    @cached_property
    def disk(self) -> condition.Trouble | None:
        """Which disk is full or nearly so, for admins."""
        if self.person is None or not teams_with(self.person, Permission.CONFIGURE):
            return None
        return disk_space.trouble()

    @cached_property
    def may_play_caller(self) -> bool:
        """Whether the page that plays a caller is theirs."""
        if self.person is None:
            return False
        opens = teams_with(self.person, Permission.OPEN_SESSION)
        return bool(set(opens) & set(teams_with(self.person, Permission.SPEAK_AS_CUSTOMER)))


def shell(request: HttpRequest) -> dict[str, Any]:
    """The context processor of every template: `frame` and the instant that ages are counted from."""
    frame = Shell(request)
    return {"frame": frame, "at": frame.at}


@console
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The front door leads to the wall."""
    return redirect("live")
