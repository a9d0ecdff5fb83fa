"""Opening a session, speaking in it as its customer, pausing, stopping and ending it."""

from __future__ import annotations

from typing import Literal
from uuid import UUID, uuid5

import msgspec

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.looping.settings import Limits, Whole
from agentstate.engine.state.evolution import evolve
from agentstate.engine.state.session import SessionState
from agentstate.errors import Invalid, Refused
from agentstate.ids import new_id
from agentstate.people.models import Team
from agentstate.people.permissions import PermissionDenied, can, require, teams_with
from agentstate.people.roles import Permission
from audit import keys, ledger
from sessions.agents import registry
from sessions.core import children, history, states
from sessions.core.commit import open_session, person_command
from sessions.core.committed import Committed
from sessions.core.person import Person, author_of, bounded, must_may, team_of
from sessions.core.projections import Place
from sessions.core.states import Loaded
from sessions.models.sessions import AgentSession

CHANNELS = ("phone", "chat")
SPOKE = "the customer spoke before the run was over"
KEYS = UUID("7a0d1d5e-2f6b-5a57-9a3a-0d2a4b7a4c11")  # namespace: the id of a session that is opened under a key


class OtherSessionUnderKey(Refused):
    """This idempotency key was used to open another session."""

    code = "idempotency_key_reused"
    remedy = "Use a new key for a new session."


def start(
    user: Person,
    *,
    customer: str,
    agent: str,
    channel: str,
    topic: str = "",
    alias: str = "",
    team: str = "",
    key: str = "",
) -> Committed:
    """Open a session. The same key gives the same session. Raises Invalid, UnknownAgent, PermissionDenied."""
    bounded("customer", customer, required=True)
    bounded("topic", topic)
    bounded("alias", alias)
    if channel not in CHANNELS:
        raise Invalid(f"got {channel!r}, want one of {list(CHANNELS)}", field="channel")
    registry.find(agent)
    chosen = _team(user, team)
    author = author_of(user, key)
    session = uuid5(KEYS, f"{user.pk}/{key}") if key else new_id()
    command = core.Open(customer, str(chosen.pk), agent, channel, topic, alias)
    if key and AgentSession.objects.filter(pk=session).exists():
        return _opened_before(session, command)
    try:
        committed = open_session(_place(session, chosen, customer), command, author)
    except keys.Erased:  # between the look for the key and the commit: the next look finds a new one
        committed = open_session(_place(session, chosen, customer), command, author)
    return committed if committed is not None else _opened_before(session, command)


def _place(session: UUID, team: Team, customer: str) -> Place:
    return Place(session, team.tenant_id, team.pk, keys.subject_kid(team.tenant_id, customer))


def _opened_before(session: UUID, command: core.Open) -> Committed:
    """The first answer again: the session as its opening left it. Raises OtherSessionUnderKey."""
    place = states.load(session).place
    envelope, payload = next(ledger.open_rows(ledger.read_rows(session, 0, 1)))
    opened = ev.decode(payload)
    if not isinstance(opened, ev.SessionOpened) or _wish(opened) != _wish(command):
        raise OtherSessionUnderKey()
    state = evolve(SessionState(), opened, envelope.at)
    return Committed(place, UUID(envelope.cmd), 0, 1, state, repeated=True)


def _wish(opening: ev.SessionOpened | core.Open) -> tuple[str, ...]:
    return tuple(getattr(opening, name) for name in core.Open.__struct_fields__)


def _team(user: Person, slug: str) -> Team:
    """The team named, or the only one in which `user` may open sessions."""
    allowed = Team.objects.filter(pk__in=teams_with(user, Permission.OPEN_SESSION))
    if slug:
        allowed = allowed.filter(slug=slug)
    found = list(allowed[:2])
    if not found:
        named = {"field": "team"} if slug else {}
        needed = Permission.OPEN_SESSION.value
        raise PermissionDenied(f"This needs the permission {needed}.", permission=needed, **named)
    if len(found) > 1:
        raise Invalid("you belong to several teams: say which", field="team")
    return found[0]


def say(user: Person, session: UUID, text: str, *, key: str = "") -> Committed:
    """A message of the customer. Raises UnknownSession, PermissionDenied, Invalid, SessionOver."""
    # To a fork nobody speaks who is the customer: what is said there is supposed, to see what would come of it.
    draft = AgentSession.objects.filter(pk=session, fork_of__isnull=False).exists()
    must_may(user, session, Permission.CHANGE_STATE if draft else Permission.SPEAK_AS_CUSTOMER)
    author = author_of(user, key)
    committed = person_command(session, lambda loaded: _say(loaded, text, author.actor), author)
    if _was_refused(committed):
        raise core.RunUnderWay()
    return committed


def _say(loaded: Loaded, text: str, by: str) -> core.Say:
    """What the customer says, with the state before the run where the agent is set to go back to that. `by` is the
    account that speaks for the customer: it does not approve what it asked for.
    """
    state = loaded.state
    if not state.run or registry.find(state.opened.agent if state.opened else "").loop.meanwhile != "rollback":
        return core.Say("customer", text, by)
    session, begun = loaded.place.id, state.loop.begun
    older = states.as_of(session, begun)
    children.lock(session)
    found = history.since(session, older, loaded.head.size)
    return core.Say("customer", text, by, core.Rollback(begun, "customer", SPOKE, "", older, found))


def _was_refused(committed: Committed) -> bool:
    """Whether the agent took no message then; so too when the same command comes again."""
    if not committed.repeated:
        return any(isinstance(event, ev.MessageRefused) for event in committed.events)
    entries = ledger.open_rows(ledger.read_rows(committed.session, committed.first, committed.seq))
    return any(envelope.kind == "message.refused" for envelope, _ in entries)


def grant(
    user: Person,
    session: UUID,
    *,
    reason: str,
    of: Literal["run", "session"] = "run",
    tokens: int = 0,
    micros: int = 0,
    steps: int = 0,
    seconds: int = 0,
    calls: int = 0,
    key: str = "",
) -> Committed:
    """More of what bounds the agent's loop; a run that was stopped goes on. Raises PermissionDenied, Invalid, Refused,
    SessionOver.
    """
    must_may(user, session, Permission.TAKE_OVER)
    try:
        more = msgspec.convert([tokens, micros, steps, seconds, calls], type=list[Whole])
    except msgspec.ValidationError as error:
        raise Invalid(str(error), field="tokens") from None
    command = core.Grant(author_of(user).actor, reason, Limits(*more), of)
    return person_command(session, command, author_of(user, key))


def pause(user: Person, session: UUID, reason: str, *, key: str = "") -> Committed:
    """Nothing new is begun until it is resumed. Raises PermissionDenied, Invalid, SessionOver, SessionPaused."""
    bounded("reason", reason, required=True)
    must_may(user, session, Permission.TAKE_OVER)
    return person_command(session, core.Pause(reason, author_of(user).actor), author_of(user, key))


def resume(user: Person, session: UUID, *, key: str = "") -> Committed:
    """It goes on where it was. Raises PermissionDenied, SessionOver, NotPaused."""
    must_may(user, session, Permission.TAKE_OVER)
    return person_command(session, core.Resume(author_of(user).actor), author_of(user, key))


def cancel(user: Person, session: UUID, reason: str, *, key: str = "") -> Committed:
    """It stops for good: what waits is withdrawn, what runs is finished and recorded. Raises PermissionDenied, Invalid,
    SessionOver.
    """
    bounded("reason", reason, required=True)
    must_may(user, session, Permission.TAKE_OVER)
    return person_command(session, core.Cancel(reason, author_of(user).actor), author_of(user, key))


def end(user: Person, session: UUID, reason: str, *, key: str = "") -> Committed:
    """The conversation is over: what waits is withdrawn, what runs is finished and recorded."""
    bounded("reason", reason, required=True)
    team = team_of(user, session)
    if not can(user, Permission.TAKE_OVER, team):
        require(user, Permission.SPEAK_AS_CUSTOMER, team)
    return person_command(session, core.End(reason, author_of(user).actor), author_of(user, key))
