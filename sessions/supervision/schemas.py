"""Shapes of what people of the house do: take over, speak, whisper, hand back, see to work, stop."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agentstate.engine.decide import MAX_TEXT
from agentstate.engine.handing_back import LONGEST
from sessions.core.person import MAX_REFERENCE
from sessions.http.fields import ExactChoice, ExactFlag, ExactText, Key, ShortList, Strict, choices
from sessions.models.sessions import SkillWanted, Stop
from sessions.stops.commands import MAX_REASON
from sessions.supervision.assignments import LONGEST_SKILL, MOST_SKILLS

STOP_SCOPE = choices(Stop.Scope.values)
SKILL_BY = choices(SkillWanted.By.values)
WORK_KIND = choices(("taken", "assigned", "claimed"))
_ACTOR = "user:<id>"
NO_NAME = "the team's staff and auditors read it; write no customer's name"


class TakeOverSession(Strict):
    """Why, and from whom."""

    reason = ExactText(max_length=MAX_REFERENCE, required=False, allow_blank=True)
    holder = ExactText(
        max_length=60, required=False, allow_blank=True, help_text=f"{_ACTOR} of the colleague it is taken from"
    )
    idempotency_key = Key()


class SpeakToCustomer(Strict):
    """What a person says to the customer."""

    text = ExactText(max_length=MAX_TEXT)
    idempotency_key = Key()


class WhisperToAgent(Strict):
    """What the agent is to know and the customer is not."""

    text = ExactText(max_length=MAX_TEXT)
    now = ExactFlag(required=False, help_text="the agent is asked at once; otherwise it knows with its next step")
    idempotency_key = Key()


class HandBackSession(Strict):
    """What the agent is told of what was said and done."""

    summary = ExactText(
        max_length=LONGEST, required=False, allow_blank=True, help_text="without one, the one that is proposed"
    )
    speaks = ExactFlag(required=False, help_text="the agent goes on at once; otherwise when the customer has spoken")
    idempotency_key = Key()


class HandBackProposal(serializers.Serializer[Any]):
    summary = serializers.CharField(help_text="of what was said, decided and changed meanwhile; empty: nobody has it")
    problems = serializers.ListField(
        child=serializers.CharField(), help_text="what keeps it from being handed back, by path and rule"
    )


class PassOnSession(Strict):
    """To whom, why, and from whom."""

    to = ExactText(max_length=150, allow_blank=True, help_text="a colleague's name; empty: whoever takes it next")
    reason = ExactText(max_length=MAX_REFERENCE)
    holder = ExactText(max_length=60, required=False, help_text=f"{_ACTOR} of who has it, if not you")
    idempotency_key = Key()


class AskForPerson(Strict):
    """Why the customer asks for a person."""

    why = ExactText(max_length=MAX_REFERENCE, required=False, allow_blank=True)
    idempotency_key = Key()


class NoPersonNeeded(Strict):
    """Why no person is needed any more."""

    why = ExactText(max_length=MAX_REFERENCE)
    idempotency_key = Key()


class AssignWork(Strict):
    """Who is to see to what."""

    to = ExactText(
        max_length=150,
        allow_blank=True,
        help_text="a colleague's name, or a team as team:<slug>; empty: back to the queue",
    )
    request = serializers.UUIDField(required=False, help_text="one of the session's; none: the session as a whole")
    why = ShortList(child=ExactText(max_length=MAX_REFERENCE), required=False, max_length=8)
    holder = ExactText(max_length=60, required=False, help_text=f"{_ACTOR} of who was to do it; none: nobody was")
    idempotency_key = Key()


class SetStop(Strict):
    """What begins nothing any more, and in which teams."""

    scope = ExactChoice(choices=STOP_SCOPE)
    value = ExactText(
        max_length=100, required=False, allow_blank=True, help_text="name of the agent, the tool, or the team's slug"
    )
    reason = ExactText(max_length=MAX_REASON, help_text=NO_NAME)
    teams = ShortList(
        child=ExactText(max_length=60),
        required=False,
        max_length=100,
        help_text="slugs of the teams in which it takes effect; none: all teams in which you hold `stop`",
    )
    everywhere = serializers.BooleanField(
        required=False, help_text="in every team of the organization; needs `stop_everywhere`"
    )


class LiftStop(Strict):
    """Why it may go on."""

    why = ExactText(max_length=MAX_REASON, help_text=NO_NAME)


class StopInForce(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    team = serializers.UUIDField(help_text="the team in which it holds, and which lifts it")
    scope = serializers.ChoiceField(choices=STOP_SCOPE)
    value = serializers.CharField()
    reason = serializers.CharField(help_text="empty for whoever speaks as the customer there")
    by = serializers.CharField(help_text=_ACTOR)
    at = serializers.DateTimeField()
    lifted_by = serializers.CharField()
    lifted_at = serializers.DateTimeField(allow_null=True)
    lifted_why = serializers.CharField()


class StopList(serializers.Serializer[Any]):
    stops = StopInForce(many=True)


class NextWork(Strict):
    """Nothing: who asks is known."""


class WorkItem(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    request = serializers.UUIDField(allow_null=True)
    tier = serializers.IntegerField()
    due = serializers.DateTimeField()
    why = serializers.ListField(child=serializers.CharField(), help_text="why this one, in words")


class NextWorkAnswer(serializers.Serializer[Any]):
    work = WorkItem(allow_null=True)


class HandOverWork(Strict):
    """Everything that somebody has in hand, to somebody else."""

    to = ExactText(max_length=150, allow_blank=True, help_text="a colleague's name; empty: back to the queue")
    of = ExactText(max_length=150, required=False, help_text="whose; without it, yours")
    reason = ExactText(max_length=MAX_REFERENCE)


class HandedOver(serializers.Serializer[Any]):
    session = serializers.UUIDField()
    request = serializers.UUIDField(allow_null=True)
    what = serializers.ChoiceField(choices=WORK_KIND)
    refused = serializers.CharField(help_text="why it stayed: the code of a refusal; empty: it went over")


class HandedOverList(serializers.Serializer[Any]):
    handed = HandedOver(many=True)


class SetSkills(Strict):
    """What a person can do."""

    user = ExactText(max_length=150)
    skills = ShortList(child=ExactText(max_length=LONGEST_SKILL), max_length=MOST_SKILLS)


class Skills(serializers.Serializer[Any]):
    skills = serializers.ListField(child=serializers.CharField())


class SkillRule(Strict):
    """Work that wants a skill."""

    by = ExactChoice(choices=SKILL_BY)
    value = ExactText(max_length=100)
    skill = ExactText(max_length=LONGEST_SKILL)


class SetSkillRules(Strict):
    """Which skills a team's work wants."""

    team = ExactText(max_length=60)
    rules = ShortList(child=SkillRule(), max_length=MOST_SKILLS)


class SkillRuleAnswer(serializers.Serializer[Any]):
    by = serializers.ChoiceField(choices=SKILL_BY)
    value = serializers.CharField()
    skill = serializers.CharField()


class SkillRules(serializers.Serializer[Any]):
    rules = SkillRuleAnswer(many=True)


class DeskPerson(serializers.Serializer[Any]):
    user = serializers.CharField(help_text="the name they sign in with")
    name = serializers.CharField()
    skills = serializers.ListField(child=serializers.CharField())
    taken = serializers.IntegerField(help_text="sessions that they speak in")
    sessions = serializers.IntegerField(help_text="sessions that they are to see to")
    requests = serializers.IntegerField(help_text="requests that they are to see to")
    claimed = serializers.IntegerField(help_text="requests that they are on")
    oldest = serializers.DateTimeField(allow_null=True, help_text="since when the first of these requests waits")
    decided = serializers.IntegerField(help_text="requests that they have decided since midnight UTC")


class Desk(serializers.Serializer[Any]):
    people = DeskPerson(many=True)
