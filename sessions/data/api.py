"""Data messages of a session."""

from __future__ import annotations

from agentstate.people.models import User
from sessions.core.committed import Committed
from sessions.data import commands, queries
from sessions.data import schemas as forms
from sessions.http.answers import filled
from sessions.http.bodies import arguments
from sessions.http.operations import get, post
from sessions.http.parameters import SessionId


@get()
def read_data(user: User, session: SessionId) -> forms.DataObjects:
    """Read the data messages beside the state, and add one."""
    return filled(forms.DataObjects, queries.data_of(user, session))


@post()
def add_data(user: User, session: SessionId, body: forms.AddData) -> Committed:
    """A patch of the object of its kind: the newest message that holds a path provides its value."""
    message = arguments(body)
    return commands.add_data(user, session, message, key=message.pop("key"))
