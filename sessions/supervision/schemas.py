"""Shapes of what people of the house do: take over, speak, whisper, hand back, see to work, stop."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from agentstate.engine.decide import MAX_TEXT
from agentstate.engine.handing_back import LONGEST
from sessions.core.person import MAX_REFERENCE
from sessions.http.bodies import About, Body, Chars, Command, Items, Words
from sessions.http.openapi import published
from sessions.models.sessions import SkillWanted, Stop
from sessions.stops.commands import MAX_REASON
from sessions.supervision import assignments, queries, workload
from sessions.supervision.assignments import LONGEST_SKILL, MOST_SKILLS

STOP_SCOPE = list(Stop.Scope.values)
SKILL_BY = list(SkillWanted.By.values)
_ACTOR = "user:<id>"
NO_NAME = "the team's staff and auditors read it; write no customer's name"


class TakeOverSession(Command, kw_only=True):
    """Why, and from whom."""

    reason: Annotated[str, Chars(MAX_REFERENCE, blank=True)] | UnsetType = UNSET
    holder: Annotated[str, Chars(60, f"{_ACTOR} of the colleague it is taken from", blank=True)] | UnsetType = UNSET


class SpeakToCustomer(Command, kw_only=True):
    """What a person says to the customer."""

    text: Annotated[str, Chars(MAX_TEXT)]


class WhisperToAgent(Command, kw_only=True):
    """What the agent is to know and the customer is not."""

    text: Annotated[str, Chars(MAX_TEXT)]
    now: Annotated[bool, About("the agent is asked at once; otherwise it knows with its next step")] | UnsetType = UNSET


class HandBackSession(Command, kw_only=True):
    """What the agent is told of what was said and done."""

    summary: Annotated[str, Chars(LONGEST, "without one, the one that is proposed", blank=True)] | UnsetType = UNSET
    speaks: Annotated[bool, About("the agent goes on at once; otherwise when the customer has spoken")] | UnsetType = (
        UNSET
    )


class HandBackProposal(Struct, frozen=True):
    summary: Annotated[str, About("of what was said, decided and changed meanwhile; empty: nobody has it")]
    problems: Annotated[Sequence[str], About("what keeps it from being handed back, by path and rule")]


class PassOnSession(Command, kw_only=True):
    """To whom, why, and from whom."""

    to: Annotated[str, Chars(150, "a colleague's name; empty: whoever takes it next", blank=True)]
    reason: Annotated[str, Chars(MAX_REFERENCE)]
    holder: Annotated[str, Chars(60, f"{_ACTOR} of who has it, if not you")] | UnsetType = UNSET


class AskForPerson(Command, kw_only=True):
    """Why the customer asks for a person."""

    why: Annotated[str, Chars(MAX_REFERENCE, blank=True)] | UnsetType = UNSET


class NoPersonNeeded(Command, kw_only=True):
    """Why no person is needed any more."""

    why: Annotated[str, Chars(MAX_REFERENCE)]


class AssignWork(Command, kw_only=True):
    """Who is to see to what."""

    to: Annotated[str, Chars(150, "a colleague's name, or a team as team:<slug>; empty: back to the queue", blank=True)]
    request: Annotated[UUID, About("one of the session's; none: the session as a whole")] | UnsetType = UNSET
    why: Annotated[list[Annotated[str, Chars(MAX_REFERENCE)]], Items(8)] | UnsetType = UNSET
    holder: Annotated[str, Chars(60, f"{_ACTOR} of who was to do it; none: nobody was")] | UnsetType = UNSET


class SetStop(Body, kw_only=True):
    """What begins nothing any more, and in which teams."""

    scope: Annotated[str, Words(STOP_SCOPE)]
    value: Annotated[str, Chars(100, "name of the agent, the tool, or the team's slug", blank=True)] | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REASON, NO_NAME)]
    teams: (
        Annotated[
            list[Annotated[str, Chars(60)]],
            Items(100, "slugs of the teams in which it takes effect; none: all teams in which you hold `stop`"),
        ]
        | UnsetType
    ) = UNSET
    everywhere: Annotated[bool, About("in every team of the organization; needs `stop_everywhere`")] | UnsetType = UNSET


class LiftStop(Body, kw_only=True):
    """Why it may go on."""

    why: Annotated[str, Chars(MAX_REASON, NO_NAME)]


class StopInForce(Struct, frozen=True):
    id: UUID
    team: Annotated[UUID, About("the team in which it holds, and which lifts it")]
    scope: Annotated[str, Words(STOP_SCOPE)]
    value: str
    reason: Annotated[str, About("empty for whoever speaks as the customer there")]
    by: Annotated[str, About(_ACTOR)]
    at: datetime
    lifted_by: str
    lifted_at: datetime | None
    lifted_why: str


class StopList(Struct, frozen=True):
    stops: Sequence[StopInForce]


class NextWork(Body):
    """Nothing: who asks is known."""


class NextWorkAnswer(Struct, frozen=True):
    work: queries.Work | None


class HandOverWork(Body, kw_only=True):
    """Everything that somebody has in hand, to somebody else."""

    to: Annotated[str, Chars(150, "a colleague's name; empty: back to the queue", blank=True)]
    of: Annotated[str, Chars(150, "whose; without it, yours")] | UnsetType = UNSET
    reason: Annotated[str, Chars(MAX_REFERENCE)]


class HandedOverList(Struct, frozen=True):
    handed: Sequence[assignments.Handed]


class SetSkills(Body, kw_only=True):
    """What a person can do."""

    user: Annotated[str, Chars(150)]
    skills: Annotated[list[Annotated[str, Chars(LONGEST_SKILL)]], Items(MOST_SKILLS)]


class Skills(Struct, frozen=True):
    skills: Sequence[str]


class SkillRule(Body, kw_only=True):
    """Work that wants a skill."""

    by: Annotated[str, Words(SKILL_BY)]
    value: Annotated[str, Chars(100)]
    skill: Annotated[str, Chars(LONGEST_SKILL)]


class SetSkillRules(Body, kw_only=True):
    """Which skills a team's work wants."""

    team: Annotated[str, Chars(60)]
    rules: Annotated[list[SkillRule], Items(MOST_SKILLS)]


class SkillRuleAnswer(Struct, frozen=True):
    by: Annotated[str, Words(SKILL_BY)]
    value: str
    skill: str


class SkillRules(Struct, frozen=True):
    rules: Sequence[SkillRuleAnswer]


class Desk(Struct, frozen=True):
    people: Sequence[workload.DeskLine]


published(WorkItem=queries.Work, HandedOver=assignments.Handed, DeskPerson=workload.DeskLine)
