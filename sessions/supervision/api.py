"""People of the house: take over, speak, whisper, hand back, pass on; the customer's wish for a person; work; stops."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from agentstate.people.models import User
from sessions.approvals import assignment
from sessions.core.committed import Committed
from sessions.http.answers import filled
from sessions.http.bodies import arguments
from sessions.http.operations import command, get, post, put
from sessions.http.parameters import Id, SessionId
from sessions.models.sessions import Stop
from sessions.stops import commands as stopping
from sessions.stops import queries as stop_lines
from sessions.supervision import assignments, commands, handback, workload
from sessions.supervision import schemas as forms

take_over = command(
    "take_over",
    commands.take_over,
    forms.TakeOverSession,
    "You speak to the customer, the agent is silent; an answer of its model that is under way is dropped. Taking it"
    " from a colleague names them.",
    status=200,
)
speak = command("speak", commands.speak, forms.SpeakToCustomer, "Only while you have the session.")
barge_in = command(
    "barge_in",
    commands.barge_in,
    forms.SpeakToCustomer,
    "The agent keeps the session and knows what you said; an answer that it was giving is dropped, and it is asked"
    " again.",
)
whisper = command(
    "whisper",
    commands.whisper,
    forms.WhisperToAgent,
    "The agent's model sees it with its next request, the customer never does.",
)


@get()
def read_hand_back(user: User, session: SessionId) -> forms.HandBackProposal:
    """The summary that is proposed, and what keeps the session from being handed back."""
    summary = handback.proposed_summary(user, session)
    return forms.HandBackProposal(summary, handback.not_consistent(user, session))


hand_back = command(
    "hand_back",
    commands.hand_back,
    forms.HandBackSession,
    "The agent goes on with the summary, and is told not to greet again. Refused while the state is not consistent, by"
    " path and rule.",
    status=200,
)
pass_on = command(
    "pass_on",
    commands.pass_on,
    forms.PassOnSession,
    "What was taken over goes to a colleague, or to whoever takes it; the agent stays silent.",
    status=200,
)
ask_for_person = command(
    "ask_for_person",
    commands.ask_for_person,
    forms.AskForPerson,
    "The session waits in a queue of its own until somebody takes it over.",
    status=200,
)
no_person_needed = command(
    "no_person_needed",
    commands.no_person_needed,
    forms.NoPersonNeeded,
    "The customer needs no person any more.",
    status=200,
)


@post(200)
def assign_work(user: User, session: SessionId, body: forms.AssignWork) -> Committed:
    """Say who is to see to a session or a request."""
    wanted = arguments(body)
    return assignment.assign(user, session, **{**wanted, "why": tuple(wanted.get("why", ()))})


@get()
def list_stops(user: User) -> forms.StopList:
    """What is stopped now in your teams, and what was stopped there lately."""
    return forms.StopList([_stop(row) for row in stop_lines.stops_of(user)])


@post()
def set_stop(user: User, body: forms.SetStop) -> forms.StopList:
    """Nothing new begins, says or is asked from the instant at which this is committed; what runs is finished and
    recorded. It takes effect in your own teams; the other teams that it concerns get an alert. With `everywhere` it
    takes effect in every team. The answer has one stop for each team reached.
    """
    return forms.StopList([_stop(row) for row in stopping.stop(user, **arguments(body))])


@post(200)
def lift_stop(user: User, stop: Annotated[UUID, Id(stopping.UnknownStop)], body: forms.LiftStop) -> forms.StopInForce:
    """What it held goes on in its team. It needs `stop` in that team."""
    return _stop(stopping.lift(user, stop, why=body.why))


def _stop(row: Stop) -> forms.StopInForce:
    return filled(forms.StopInForce, row, team=row.team_id)


@post(200)
def next_work(user: User, body: forms.NextWork) -> forms.NextWorkAnswer:
    """The first thing that you should see to, assigned to you, with why it is this one."""
    return forms.NextWorkAnswer(assignments.next_work(user))


@post(200)
def hand_over_work(user: User, body: forms.HandOverWork) -> forms.HandedOverList:
    """Sessions taken over, assignments and claims of one person go to another, or back to the queue: one entry each."""
    return forms.HandedOverList(assignments.hand_over(user, **arguments(body)))


@put()
def set_skills(user: User, body: forms.SetSkills) -> forms.Skills:
    """Say what a person can do."""
    return forms.Skills(assignments.set_skills(user, body.user, body.skills))


@put()
def set_skill_rules(user: User, body: forms.SetSkillRules) -> forms.SkillRules:
    """Say which skills a team's work wants."""
    rules = [arguments(rule) for rule in body.rules]
    return filled(forms.SkillRules, rules=assignments.set_wanted_skills(user, body.team, rules))


@get()
def list_desk(user: User) -> forms.Desk:
    """By person, what they can do, what they have in hand and how much they have decided today."""
    return forms.Desk(workload.desk(user))
