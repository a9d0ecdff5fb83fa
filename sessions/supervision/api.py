"""People of the house: take over, speak, whisper, hand back, pass on; the customer's wish for a person; work; stops."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sessions.approvals import assignment
from sessions.core.states import UnknownSession
from sessions.http.api import READING, SESSION, WRITING, answers, receipt, shown, valid
from sessions.http.parameters import identifier
from sessions.http.values import Receipt
from sessions.models.sessions import Stop
from sessions.stops import commands as stopping
from sessions.stops import queries as stop_lines
from sessions.supervision import assignments
from sessions.supervision import commands as supervision_commands
from sessions.supervision import handback as queries
from sessions.supervision import schemas as forms
from sessions.supervision import workload as desk_lines

STOP = OpenApiParameter("stop", UUID, OpenApiParameter.PATH)


def _plain(shape: type[forms.Strict], request: Request) -> dict[str, Any]:
    wanted = valid(shape, request)
    wanted.pop("key")
    return wanted


class TakeOver(APIView):
    """Take a session over."""

    @extend_schema(
        operation_id="take_over",
        description="You speak to the customer, the agent is silent; an answer of its model that is under way is"
        " dropped. Taking it from a colleague names them.",
        parameters=[SESSION],
        request=forms.TakeOverSession,
        responses=answers(200, Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.TakeOverSession, request)
        return receipt(supervision_commands.take_over(request.user, identifier(session, UnknownSession), **wanted), 200)


class Speech(APIView):
    """Speak to the customer."""

    @extend_schema(
        operation_id="speak",
        description="Only while you have the session.",
        parameters=[SESSION],
        request=forms.SpeakToCustomer,
        responses=answers(201, Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.SpeakToCustomer, request)
        return receipt(supervision_commands.speak(request.user, identifier(session, UnknownSession), **wanted))


class BargeIn(APIView):
    """Say one thing to the customer while the agent goes on."""

    @extend_schema(
        operation_id="barge_in",
        description="The agent keeps the session and knows what you said; an answer that it was giving is dropped, and"
        " it is asked again.",
        parameters=[SESSION],
        request=forms.SpeakToCustomer,
        responses=answers(201, Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.SpeakToCustomer, request)
        return receipt(supervision_commands.barge_in(request.user, identifier(session, UnknownSession), **wanted))


class Guidance(APIView):
    """Whisper to the agent."""

    @extend_schema(
        operation_id="whisper",
        description="The agent's model sees it with its next request, the customer never does.",
        parameters=[SESSION],
        request=forms.WhisperToAgent,
        responses=answers(201, Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.WhisperToAgent, request)
        return receipt(supervision_commands.whisper(request.user, identifier(session, UnknownSession), **wanted))


class HandBack(APIView):
    """What is proposed for a hand-back; hand a session back."""

    @extend_schema(
        operation_id="read_hand_back",
        description="The summary that is proposed, and what keeps the session from being handed back.",
        parameters=[SESSION],
        responses=answers(200, forms.HandBackProposal, *READING),
    )
    def get(self, request: Request, session: str) -> Response:
        found = identifier(session, UnknownSession)
        summary = queries.proposed_summary(request.user, found)
        return Response({"summary": summary, "problems": queries.not_consistent(request.user, found)})

    @extend_schema(
        operation_id="hand_back",
        description="The agent goes on with the summary, and is told not to greet again. Refused while the state is"
        " not consistent, by path and rule.",
        parameters=[SESSION],
        request=forms.HandBackSession,
        responses=answers(200, Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.HandBackSession, request)
        return receipt(supervision_commands.hand_back(request.user, identifier(session, UnknownSession), **wanted), 200)


class PassOn(APIView):
    """Pass a session on."""

    @extend_schema(
        operation_id="pass_on",
        description="What was taken over goes to a colleague, or to whoever takes it; the agent stays silent.",
        parameters=[SESSION],
        request=forms.PassOnSession,
        responses=answers(200, Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.PassOnSession, request)
        return receipt(supervision_commands.pass_on(request.user, identifier(session, UnknownSession), **wanted), 200)


class WishForPerson(APIView):
    """The customer asks for a person."""

    @extend_schema(
        operation_id="ask_for_person",
        description="The session waits in a queue of its own until somebody takes it over.",
        parameters=[SESSION],
        request=forms.AskForPerson,
        responses=answers(200, Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.AskForPerson, request)
        return receipt(
            supervision_commands.ask_for_person(request.user, identifier(session, UnknownSession), **wanted), 200
        )


class NoPerson(APIView):
    """The customer needs no person any more."""

    @extend_schema(
        operation_id="no_person_needed",
        parameters=[SESSION],
        request=forms.NoPersonNeeded,
        responses=answers(200, Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.NoPersonNeeded, request)
        return receipt(
            supervision_commands.no_person_needed(request.user, identifier(session, UnknownSession), **wanted), 200
        )


class Assignments(APIView):
    """Say who is to see to a session or a request."""

    @extend_schema(
        operation_id="assign_work",
        parameters=[SESSION],
        request=forms.AssignWork,
        responses=answers(200, Receipt, *WRITING),
    )
    def post(self, request: Request, session: str) -> Response:
        wanted = valid(forms.AssignWork, request)
        wanted["why"] = tuple(wanted.get("why", ()))
        return receipt(assignment.assign(request.user, identifier(session, UnknownSession), **wanted), 200)


class Stops(APIView):
    """What is stopped; stop something."""

    @extend_schema(
        operation_id="list_stops",
        description="What is stopped now in your teams, and what was stopped there lately.",
        responses=answers(200, forms.StopList, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"stops": [_stop(row) for row in stop_lines.stops_of(request.user)]})

    @extend_schema(
        operation_id="set_stop",
        description="Nothing new begins, says or is asked from the instant at which this is committed; what runs is"
        " finished and recorded. It takes effect in your own teams; the other teams that it concerns get an alert."
        " With `everywhere` it takes effect in every team. The answer has one stop for each team reached.",
        request=forms.SetStop,
        responses=answers(201, forms.StopList, *WRITING),
    )
    def post(self, request: Request) -> Response:
        rows = stopping.stop(request.user, **_plain(forms.SetStop, request))
        return Response({"stops": [_stop(row) for row in rows]}, status=201)


class LiftStop(APIView):
    """Lift a stop."""

    @extend_schema(
        operation_id="lift_stop",
        description="What it held goes on in its team. It needs `stop` in that team.",
        parameters=[STOP],
        request=forms.LiftStop,
        responses=answers(200, forms.StopInForce, *WRITING),
    )
    def post(self, request: Request, stop: str) -> Response:
        wanted = _plain(forms.LiftStop, request)
        row = stopping.lift(request.user, identifier(stop, stopping.UnknownStop), **wanted)
        return Response(_stop(row))


def _stop(row: Stop) -> dict[str, Any]:
    names = [name for name in forms.StopInForce._declared_fields if name != "team"]
    return {**{name: getattr(row, name) for name in names}, "team": row.team_id}


class NextWork(APIView):
    """Get the next thing to see to."""

    @extend_schema(
        operation_id="next_work",
        description="The first thing that you should see to, assigned to you, with why it is this one.",
        request=forms.NextWork,
        responses=answers(200, forms.NextWorkAnswer, *WRITING),
    )
    def post(self, request: Request) -> Response:
        _plain(forms.NextWork, request)
        found = assignments.next_work(request.user)
        return Response({"work": shown(forms.WorkItem, found) if found is not None else None})


class HandOver(APIView):
    """Hand everything over at the end of a shift."""

    @extend_schema(
        operation_id="hand_over_work",
        description="Sessions taken over, assignments and claims of one person go to another, or back to the queue:"
        " one entry each.",
        request=forms.HandOverWork,
        responses=answers(200, forms.HandedOverList, *WRITING),
    )
    def post(self, request: Request) -> Response:
        handed = assignments.hand_over(request.user, **_plain(forms.HandOverWork, request))
        return Response({"handed": [shown(forms.HandedOver, each) for each in handed]})


class Skills(APIView):
    """Say what a person can do."""

    @extend_schema(operation_id="set_skills", request=forms.SetSkills, responses=answers(200, forms.Skills, *WRITING))
    def put(self, request: Request) -> Response:
        wanted = _plain(forms.SetSkills, request)
        return Response({"skills": assignments.set_skills(request.user, wanted["user"], wanted["skills"])})


class SkillRules(APIView):
    """Say which skills a team's work wants."""

    @extend_schema(
        operation_id="set_skill_rules",
        request=forms.SetSkillRules,
        responses=answers(200, forms.SkillRules, *WRITING),
    )
    def put(self, request: Request) -> Response:
        return Response({"rules": assignments.set_wanted_skills(request.user, **_plain(forms.SetSkillRules, request))})


class Desk(APIView):
    """Who sees to what."""

    @extend_schema(
        operation_id="list_desk",
        description="By person, what they can do, what they have in hand and how much they have decided today.",
        responses=answers(200, forms.Desk, *READING),
    )
    def get(self, request: Request) -> Response:
        return Response({"people": [shown(forms.DeskPerson, each) for each in desk_lines.desk(request.user)]})
