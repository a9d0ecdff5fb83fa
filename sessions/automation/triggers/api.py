"""Triggers, their history, watched tables, and the timers of a session."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from agentstate.people.models import User
from sessions.automation.rules import commands
from sessions.automation.triggers import queries
from sessions.automation.triggers import schemas as forms
from sessions.automation.triggers.repository import STORE, UnknownTrigger
from sessions.http.answers import filled
from sessions.http.bodies import arguments
from sessions.http.operations import SESSION, command, get, post
from sessions.http.parameters import LAST, Id, SessionId, Text
from sessions.timers import commands as timing
from sessions.timers import queries as timed

TriggerId = Annotated[UUID, Id(UnknownTrigger)]


@get()
def list_triggers(user: User) -> forms.TriggerList:
    """The triggers of the teams that you configure."""
    return forms.TriggerList(queries.triggers(user))


@post()
def keep_trigger(user: User, body: forms.KeepTrigger) -> queries.TriggerLine:
    """Make a trigger, or with `seen` the next version of one. It needs `configure`."""
    return queries.trigger(user, commands.keep(STORE, user, **arguments(body)).pk)


@get()
def read_trigger(user: User, trigger: TriggerId) -> queries.TriggerLine:
    """One trigger."""
    return queries.trigger(user, trigger)


@post(200)
def switch_trigger(user: User, trigger: TriggerId, body: forms.SwitchTrigger) -> queries.TriggerLine:
    """On or off. What happens while it is off is none of its business afterwards."""
    return queries.trigger(user, commands.switch(STORE, user, trigger, body.on).pk)


@get()
def list_firings(user: User, trigger: TriggerId) -> forms.FiringList:
    """The newest things that a trigger heard, and whether it acted on each, or why not."""
    return forms.FiringList(queries.firings(user, trigger))


@get()
def list_watches(user: User) -> forms.WatchList:
    """`manage.py watch-table` installs them."""
    return forms.WatchList(queries.watches(user))


@get()
def list_timers(user: User, session: SessionId) -> forms.TimerList:
    """What a session is to do by itself, and when."""
    return filled(forms.TimerList, timed.timers_of(user, session))


set_timer = command(
    "set_timer",
    timing.set_timer,
    forms.SetTimer,
    "`remind` tells the agent; `follow_up` does unless the customer has come back; `expire` lets the session expire if"
    " it idles then. It needs `change_state`.",
)
cancel_timer = command(
    "cancel_timer",
    timing.cancel_timer,
    None,
    "Cancel a timer.",
    path={**SESSION, "timer": Text(most=LAST)},
    method="delete",
)
