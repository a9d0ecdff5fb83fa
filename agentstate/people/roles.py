"""Permissions and the roles that bundle them, as tables, and what follows from a person's roles alone.

`permissions` answers what a user may do now; it reads the database. Nothing here does.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from uuid import UUID


class Permission(StrEnum):
    """The smallest things that can be allowed; always within one team."""

    SEE = "see"  # a session exists, its status, and the person it is assigned to
    READ = "read"  # what was said in it
    UNMASK = "unmask"  # personal data in clear
    WHISPER = "whisper"  # guide the agent, unseen by the customer
    BARGE_IN = "barge_in"  # send one message to the customer while the agent continues
    TAKE_OVER = "take_over"  # speak to the customer instead of the agent, and hand back
    STOP = "stop"  # let an agent, a tool or everything do nothing new in the team, and lift that again
    STOP_EVERYWHERE = "stop_everywhere"  # the same at once in every team of the organization; each team lifts it
    DECIDE = "decide"  # approve, edit or reject a paused step up to tier 2
    DECIDE_TIER3 = "decide_tier3"  # the same for tier 3
    EXPORT = "export"  # take an audit bundle out of the house
    DISCLOSE = "disclose"  # show a part of a session to an outsider
    AUDIT = "audit"  # access log, staff log, samples, gaps of the log
    CONFIGURE = "configure"  # people, roles, policies, settings of the team
    OPEN_SESSION = "open_session"  # begin a session
    SPEAK_AS_CUSTOMER = "speak_as_customer"  # post the customer's messages into it
    CHANGE_STATE = "change_state"  # a session's state and versions: change, name, put back, fork, promote
    KEEP_PROFILE = "keep_profile"  # change, on a customer's behalf, what is known of them and what they agree to
    SEAL = "seal"  # let nothing follow in a session that has ended
    ERASE_REQUEST = "erase_request"  # ask that a data subject be erased
    ERASE_APPROVE = "erase_approve"  # approve another person's request for it
    HOLD = "hold"  # set and lift legal holds
    RETENTION = "retention"  # for how long words are kept
    SUBJECT_REPORT = "subject_report"  # everything held about one data subject, in clear
    DECIDE_OVERDUE = "decide_overdue"  # answer a proposal for a team that has not answered in time


class Role(StrEnum):
    """Bundles of permissions with a name that people use."""

    VIEWER = "viewer"  # watches and reads
    SUPERVISOR = "supervisor"  # decides, guides, takes over, exports
    AUDITOR = "auditor"  # by itself nothing; reads and exports what running audit access covers
    ADMIN = "admin"  # sets up people and policies; decides nothing about customers
    PRIVACY = "privacy"  # answers data subjects: reports, erasures, legal holds, retention
    PRIVACY_OFFICER = "privacy_officer"  # the organization's: answers proposals for teams that have not answered
    CALLER = "caller"  # an API client on the customer's side
    INCIDENT_MANAGER = "incident_manager"  # stops every team in an emergency; its power is the organization's
    PROGRAM = "program"  # an API client of the team: reads, reports and proposes; decides nothing


P = Permission
ROLES: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: frozenset({P.SEE, P.READ}),
    Role.SUPERVISOR: frozenset(
        {
            P.SEE,
            P.READ,
            P.UNMASK,
            P.WHISPER,
            P.BARGE_IN,
            P.TAKE_OVER,
            P.STOP,
            P.DECIDE,
            P.DECIDE_TIER3,
            P.EXPORT,
            P.DISCLOSE,
            P.KEEP_PROFILE,
            P.CHANGE_STATE,
            P.SEAL,
            P.ERASE_REQUEST,
        }
    ),
    Role.AUDITOR: frozenset(),
    Role.ADMIN: frozenset({P.SEE, P.CONFIGURE, P.AUDIT, P.RETENTION, P.STOP}),
    Role.PRIVACY: frozenset({P.SEE, P.SEAL, P.ERASE_REQUEST, P.ERASE_APPROVE, P.HOLD, P.RETENTION, P.SUBJECT_REPORT}),
    Role.PRIVACY_OFFICER: frozenset({P.SEE, P.DECIDE_OVERDUE}),
    Role.CALLER: frozenset({P.SEE, P.READ, P.OPEN_SESSION, P.SPEAK_AS_CUSTOMER}),
    # A role of its own: every team has admins, and no admin's power reaches beyond the teams of that admin.
    Role.INCIDENT_MANAGER: frozenset({P.SEE, P.STOP, P.STOP_EVERYWHERE}),
    Role.PROGRAM: frozenset({P.SEE, P.READ, P.CHANGE_STATE}),
}


A_PROGRAM = f"role:{Role.PROGRAM}"  # among the names of an account: it decides nothing, whatever else it is given
DELEGABLE = (P.DECIDE, P.DECIDE_TIER3)  # the permissions that a person may delegate
GRANTABLE = (P.SEE, P.READ, P.UNMASK, P.EXPORT, P.AUDIT)  # what a grant may open to an auditor: nothing that changes


def roles_with(permission: Permission) -> list[str]:
    """Returns the roles that include `permission`, by name, sorted."""
    return sorted(role.value for role, bundle in ROLES.items() if permission in bundle)


def names_from(memberships: Iterable[tuple[UUID, str, str, str]]) -> dict[UUID, frozenset[str]]:
    """Returns, by team, the names by which rules know a person there, from their memberships: (team, its slug, role,
    the person's login) of each. "role:<role>", "user:<login>", and "team:<slug>" of every team that they are in.
    """
    rows = list(memberships)
    everywhere = {f"team:{slug}" for _, slug, _, _ in rows} | {f"user:{login}" for _, _, _, login in rows}
    everywhere |= {A_PROGRAM for _, _, role, _ in rows if role == Role.PROGRAM}  # in one team: no person in any
    roles: dict[UUID, set[str]] = {}
    for team, _, role, _ in rows:
        roles.setdefault(team, set()).add(f"role:{role}")
    return {team: frozenset(everywhere | found) for team, found in roles.items()}
