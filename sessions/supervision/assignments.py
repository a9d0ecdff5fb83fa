"""Who sees to what: skills, the next thing to see to, and handing over everything at the end of a shift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine import decide as core
from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.models import Team, User
from agentstate.people.permissions import PermissionDenied, require, teams_with
from agentstate.people.roles import Permission
from audit import staff
from sessions.approvals import assignment
from sessions.core.commit import person_command
from sessions.core.person import Person, author_of, bounded
from sessions.http.bodies import About, Words
from sessions.models.sessions import Skill, SkillWanted
from sessions.supervision import commands
from sessions.supervision import queries as queue

MOST_SKILLS = 50  # of one person, and rules of one team
LONGEST_SKILL = 60  # characters
MOST_HANDED_OVER = 200  # things in one command
WORK_KIND = ("taken", "assigned", "claimed")


class Handed(msgspec.Struct, frozen=True):
    """What became of one thing that was handed over; `refused` is the code of a refusal, or empty."""

    session: UUID
    request: UUID | None
    what: Annotated[str, Words(WORK_KIND)]
    refused: Annotated[str, About("why it stayed: the code of a refusal; empty: it went over")] = ""


def next_work(user: Person) -> queue.Work | None:
    """The first thing that this person should see to, assigned to them now, with why it is this one; None when there is
    none. Two who ask at the same time get two things.
    """
    person = _somebody(user)
    for work in queue.ranked(person):
        if work.assigned_to == person.actor:
            return work
        try:
            assignment.assign(
                person, work.session, person.actor, request=work.request, why=work.why, holder=work.assigned_to
            )
        except Refused:  # a colleague was faster, or it has ended
            continue
        return work
    return None


def hand_over(user: Person, to: str, reason: str, *, of: str = "") -> list[Handed]:
    """Everything that somebody (`of`, by name; by default they themselves) has in hand goes to a colleague, or, `to`
    empty, back to the queue: sessions they have taken over, what is assigned to them, requests they are on. One entry
    each; what changed hands meanwhile is named and left. Raises PermissionDenied, Invalid.
    """
    bounded("reason", reason, required=True)
    person = _somebody(user)
    teams = teams_with(person, Permission.TAKE_OVER)
    if not teams:
        raise PermissionDenied("This needs the permission take_over.", permission=Permission.TAKE_OVER.value)
    whose = assignment.colleague_named(of).actor if of else person.actor
    heir = assignment.colleague_named(to).actor if to else ""
    if heir == whose:
        raise Invalid("it is theirs already", field="to")
    held = queue.in_hand(whose, teams)
    done = [_passed(person, each, whose, heir, reason) for each in held.taken]
    done += [_assigned(person, each, None, whose, heir, reason) for each in held.sessions]
    done += [_assigned(person, session, request, whose, heir, reason) for session, request in held.requests]
    done += [_released(person, session, request, whose, heir, reason) for session, request in held.claimed]
    return done[:MOST_HANDED_OVER]


def _passed(person: User, session: UUID, whose: str, heir: str, reason: str) -> Handed:
    return _tried(
        Handed(session, None, "taken"),
        lambda: commands.pass_on(person, session, heir, reason, holder=whose),
    )


def _assigned(person: User, session: UUID, request: UUID | None, whose: str, heir: str, reason: str) -> Handed:
    return _tried(
        Handed(session, request, "assigned"),
        lambda: assignment.assign(person, session, heir, request=request, why=(reason,), holder=whose),
    )


def _released(person: User, session: UUID, request: UUID, whose: str, heir: str, reason: str) -> Handed:
    """A claim ends; who comes after is assigned to it."""

    def passed() -> None:
        person_command(session, core.Release(str(request), whose), author_of(person))
        if heir:
            assignment.assign(person, session, heir, request=request, why=(reason,))

    return _tried(Handed(session, request, "claimed"), passed)


def _tried(handed: Handed, act: Callable[[], object]) -> Handed:
    try:
        act()
    except Refused as refused:
        return msgspec.structs.replace(handed, refused=refused.code)
    return handed


def set_skills(user: Person, of: str, skills: list[str]) -> list[str]:
    """What a person can do, in place of what was known. Needs `configure` in a team of theirs. Raises PermissionDenied,
    Invalid.
    """
    colleague = assignment.colleague_named(of)
    if not set(_teams_of(colleague)) & set(teams_with(user, Permission.CONFIGURE)):
        raise PermissionDenied("This needs the permission configure in a team of theirs.", permission="configure")
    names = _skills(skills)
    Skill.objects.filter(user=colleague).exclude(skill__in=names).delete()
    Skill.objects.bulk_create([Skill(id=new_id(), user=colleague, skill=name) for name in names], ignore_conflicts=True)
    _record(_somebody(user), "skills.set", colleague.actor, {"skills": ", ".join(names)})
    return names


def set_wanted_skills(user: Person, team: str, rules: list[dict[str, str]]) -> list[dict[str, str]]:
    """Which skills a team's work wants, in place of the rules before: `by` tool, agent or channel, its `value`, the
    `skill`. Needs `configure` in that team. Raises PermissionDenied, Invalid.
    """
    found = Team.objects.filter(slug=team).first()
    if found is None:
        raise Invalid(f"there is no team {team[:60]!r}", field="team")
    require(user, Permission.CONFIGURE, found)
    if len(rules) > MOST_SKILLS:
        raise Invalid(f"got {len(rules)} rules, at most {MOST_SKILLS}", field="rules")
    rows = [
        SkillWanted(id=new_id(), team=found, by=rule["by"], value=rule["value"], skill=name)
        for rule in rules
        for name in _skills([rule["skill"]])
    ]
    SkillWanted.objects.filter(team=found).delete()
    SkillWanted.objects.bulk_create(rows, ignore_conflicts=True)
    _record(_somebody(user), "skills.wanted", "", {"team": str(found.pk), "rules": len(rows)})
    return [{"by": row.by, "value": row.value, "skill": row.skill} for row in rows]


def _skills(names: list[str]) -> list[str]:
    cleaned = sorted({" ".join(name.lower().split()) for name in names} - {""})
    if len(cleaned) > MOST_SKILLS:
        raise Invalid(f"got {len(cleaned)} skills, at most {MOST_SKILLS}", field="skills")
    for name in cleaned:
        if len(name) > LONGEST_SKILL:
            raise Invalid(f"got {len(name)} characters, at most {LONGEST_SKILL}", field="skills")
    return cleaned


def _teams_of(user: User) -> list[UUID]:
    return list(user.memberships.values_list("team_id", flat=True).distinct())


def _record(person: User, kind: str, subject: str, facts: dict[str, object]) -> None:
    staff.record(person.tenant_id, now(), kind, person.actor, subject, facts)


def _somebody(user: Person) -> User:
    if not isinstance(user, User):
        raise PermissionDenied("This needs somebody who is signed in.", permission=Permission.DECIDE.value)
    return user
