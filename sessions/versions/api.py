"""The versions of a session: checkpoints, rollback, forks, differences."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from agentstate.engine.versions.replay import Input
from agentstate.errors import Invalid
from agentstate.people.models import User
from sessions.conversation.schemas import Session
from sessions.core import session_lines
from sessions.core.committed import Committed
from sessions.http.answers import Receipt, answer, filled, receipt_headers
from sessions.http.bodies import arguments
from sessions.http.operations import READING, WRITING, command, get, post
from sessions.http.parameters import Id, SessionId, Whole
from sessions.versions import commands, queries, replays
from sessions.versions import schemas as forms


@get()
def list_checkpoints(user: User, session: SessionId) -> queries.VersionsLine:
    """Points to go back to."""
    return queries.versions_of(user, session)


name_checkpoint = command("name_checkpoint", commands.name_checkpoint, forms.NameCheckpoint, "Points to go back to.")


@post(codes=(*WRITING, 410), shape=Receipt, also={200: forms.Consequences})
def roll_back(user: User, session: SessionId, body: forms.Rollback) -> Committed | Response:
    """Without `confirm`: what going back would do, and what it would not undo. With it: go back."""
    wanted = arguments(body)
    if "confirm" not in wanted:
        return answer(_consequences(user, session, body.to))
    if "reason" not in wanted:
        raise Invalid("say why", field="reason")
    return commands.roll_back(
        user, session, body.to, seen=wanted["confirm"], reason=wanted["reason"], key=wanted["key"]
    )


def _consequences(user: User, session: UUID, to: int) -> forms.Consequences:
    found = queries.rollback_preview(user, session, to)
    since = found.since
    more = {"standing_approvals": since.approvals, "lasting": since.lasting, "more": since.more}
    return filled(forms.Consequences, found, **more)


@post(codes=(*WRITING, 410), shape=Session)
def fork_session(user: User, session: SessionId, request: Request, body: forms.ForkSession) -> Response:
    """A session of its own that begins as this one stood. It reads and drafts; it speaks and acts once it is
    promoted.
    """
    committed = commands.fork(user, session, **arguments(body))
    place = f"{request.path.rpartition('/sessions/')[0]}/sessions/{committed.session}"
    line = filled(Session, session_lines.opening(committed, user))
    return answer(line, 201, receipt_headers(committed) | {"Location": place})


promote_fork = command(
    "promote_fork",
    commands.promote,
    forms.PromoteFork,
    "In one transaction the parent ends and the fork may speak and act.",
)


@post(200, (*WRITING, 410))
def replay_session(user: User, session: SessionId, body: forms.Replay) -> forms.Replayed:
    """Under another policy, or with other inputs. Nothing is run, asked or written."""
    wanted = arguments(body)
    inputs = [Input(**arguments(each)) for each in wanted.pop("inputs", ())]
    line = replays.replayed(user, session, inputs=inputs, **wanted)
    more = {"patch": line.difference.patch, "sentences": line.sentences}
    return filled(forms.Replayed, line.found, policy=line.policy, calls=line.differing, **more)


@get(codes=(*READING, 410))
def compare_states(
    user: User,
    session: SessionId,
    *,
    from_: Annotated[int, Whole(1, about="the state after so many entries")] = 1,
    to: Annotated[int | None, Whole(1, about="the state after so many entries; without it, as it is now")] = None,
    other: Annotated[UUID | None, Id(about="`to` is of this session: a fork, or a parent")] = None,
) -> forms.Difference:
    """How two states differ."""
    found = queries.state_difference(user, session, from_, -1 if to is None else to, other)
    return forms.Difference(found.found.patch, found.sentences)
