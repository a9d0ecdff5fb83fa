"""The socket of a page: authenticates, joins, forwards, resumes, and nothing else.

The client sends `{"watch": ["wall", "session:<id>"], "seen": {"<session>": 12}}`; the server answers with what moved on
since, then forwards `{"kind": "changed", "session", "seq"}` after each commit and `{"kind": "beat"}` every few seconds.
Frames carry pointers; the page fetches what it shows over HTTP, where permissions are checked again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import timedelta
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import path

from agentstate.characters import marked
from agentstate.people.models import User
from agentstate.people.permissions import narrow_grants, teams_with
from agentstate.people.roles import Permission
from audit.access import NotRecorded
from sessions.automation.notifications.queries import bell
from sessions.core import access, announcements, partial_answers
from sessions.models.sessions import AgentSession

BEAT = 5.0  # seconds
MAX_FRAME = 20_000  # characters of one message of the client
MAX_TOPICS = 20
WRITING = "writing"  # the topic of what the agent of a session is writing
MOST_ALONE = 200  # sessions that a wall watches one by one
TOUCH = 4  # beats between two signs of life of a live view
LATELY = timedelta(seconds=60)  # several beats, and what clocks of several machines may differ by
NOT_SIGNED_IN, REVOKED, BAD_FRAME, TRY_AGAIN = 4401, 4403, 4400, 1013
log = logging.getLogger(__name__)


class LiveConsumer(AsyncWebsocketConsumer):
    """One page's connection."""

    async def connect(self) -> None:
        self.joined: set[str] = set()
        self.topics: set[str] = set()
        self.told: dict[str, int] = {}  # what was told lately: the newest seq of each session
        self.beating: asyncio.Task[None] | None = None
        self.views: set[UUID] = set()  # the live views of the access log that this socket holds
        self.beats = 0
        self.revoked = False
        self.rung = ""  # what the bell showed when the page was last told
        user = self.scope.get("user")
        await self.accept()
        if not isinstance(user, User) or not user.is_active:
            await self.close(NOT_SIGNED_IN)
            return
        self.user = user
        await self._join(user.channel_group)
        self.beating = asyncio.create_task(self._beat())

    async def disconnect(self, code: int) -> None:
        if self.beating is not None:
            self.beating.cancel()
        for group in self.joined:
            await self.channel_layer.group_discard(group, self.channel_name)
        await self._close_views("revoked" if self.revoked else "left")

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        wanted = _parsed(text_data)
        if wanted is None or not hasattr(self, "user"):
            await self.close(BAD_FRAME)
            return
        topics, seen = wanted
        for topic in topics:
            await self._watch(topic, seen)

    async def _watch(self, topic: str, seen: dict[str, int]) -> None:
        """Join first, look afterwards: what is committed in between is told twice rather than never."""
        groups, newest = await self._topic(topic)
        for group in groups:
            await self._join(group)
        if not groups:
            await self._send(kind="refused", topic=topic)
            return
        _, newest = await self._topic(topic)
        self.told.update(seen)
        await self._tell(newest)
        self.topics.add(topic)
        await self._hold()
        await self._send(kind="watching", topic=topic, sessions=sorted(newest))

    async def _tell(self, newest: dict[str, int]) -> None:
        for session, seq in newest.items():
            if self.told.get(session, -1) < seq:
                self.told[session] = seq
                await self._send(kind="changed", session=session, seq=seq)

    @database_sync_to_async
    def _topic(self, topic: str) -> tuple[list[str], dict[str, int]]:
        """The groups of a topic that this person may watch, and the newest seq of each session in it."""
        if topic == "wall":
            teams = teams_with(self.user, Permission.SEE)
            visible = AgentSession.objects.filter(access.within(self.user, Permission.SEE), ended_at__isnull=True)
            rows = list(visible.values_list("id", "seq", "team_id"))
            alone = [session for session, _, team in rows if team not in teams][:MOST_ALONE]  # opened by a grant
            groups = [*map(announcements.team_group, teams), *map(announcements.session_group, alone)]
            return groups, {str(session): seq for session, seq, _ in rows}
        session = _session_of(topic) or _session_of(topic, WRITING)
        if session is None:
            return [], {}
        if topic.startswith(WRITING):
            return self._writing(session), {}
        row = AgentSession.objects.filter(pk=session).values("team_id", "seq").first()
        if row is None or not access.may(self.user, Permission.SEE, session, row["team_id"]):
            return [], {}
        return [announcements.session_group(session)], {str(session): row["seq"]}

    def _writing(self, session: UUID) -> list[str]:
        """The group of what a session's agent is writing: for those who may read it."""
        team = AgentSession.objects.filter(pk=session).values_list("team_id", flat=True).first()
        if team is None or not access.may(self.user, Permission.READ, session, team):
            return []
        return [partial_answers.group(session)]

    async def _join(self, group: str) -> None:
        if group not in self.joined:
            self.joined.add(group)
            await self.channel_layer.group_add(group, self.channel_name)

    async def _beat(self) -> None:
        """Tell the page that the line is alive; announcements and hints of `people` that were lost are made up for
        here, so a page on a live line is never old for longer than this.
        """
        try:
            while await self._still_entitled():
                await self._tell(await self._moved())
                await self._hold()
                await self._ring()
                await self._send(kind="beat")
                await asyncio.sleep(BEAT)
        except Exception as error:  # no beat, no line: the page connects again and resumes
            log.warning("a socket is closed: %s", type(error).__name__)
            await self.close(TRY_AGAIN)
            return
        await self._revoke()

    @database_sync_to_async
    def _moved(self) -> dict[str, int]:
        """The newest seq of each watched session that moved lately, ended or not."""
        watched = [session for topic in self.topics if (session := _session_of(topic))]
        wanted = Q(pk__in=watched)
        if "wall" in self.topics:
            wanted |= access.within(self.user, Permission.SEE)
        rows = AgentSession.objects.filter(wanted, last_at__gt=Now() - LATELY).values_list("id", "seq")
        moved = {str(session): seq for session, seq in rows}
        self.told = {session: seq for session, seq in self.told.items() if session in moved}
        return moved

    @database_sync_to_async
    def _still_entitled(self) -> bool:
        same = User.objects.filter(pk=self.user.pk, is_active=True, session_epoch=self.user.session_epoch)
        if not same.exists():
            return False
        if not teams_with(self.user, Permission.SEE) and not narrow_grants(self.user):
            return False
        return self._may_all("session", Permission.SEE) and self._may_all(WRITING, Permission.READ)

    def _may_all(self, kind: str, permission: Permission) -> bool:
        watched = {session for topic in self.topics if (session := _session_of(topic, kind))}
        allowed = AgentSession.objects.filter(access.within(self.user, permission), pk__in=watched)
        return not watched or allowed.count() == len(watched)

    @database_sync_to_async
    def _hold(self) -> None:
        """Take over the live views that this page has opened, and say now and then that they are alive."""
        if not self.topics:
            return
        self.views |= access.adopt(self.user, self.topics)
        self.beats += 1
        if self.views and self.beats % TOUCH == 0:
            access.touch(self.views)

    async def _ring(self) -> None:
        """Say that the page's bell shows something else, if it does."""
        mark = (await database_sync_to_async(bell)(self.user, 0)).mark
        if mark != self.rung:
            self.rung = mark
            await self._send(kind="notices", mark=mark)

    @database_sync_to_async
    def _close_views(self, why: str) -> None:
        """Each is closed by an entry; one that cannot be is left to the sweeper."""
        for view in self.views:
            try:
                access.close(view, why)
            except NotRecorded:
                log.warning("a live view was not closed: the sweeper will")
        self.views = set()

    async def _send(self, **frame: Any) -> None:
        await self.send(text_data=json.dumps(frame))

    async def session_changed(self, message: dict[str, Any]) -> None:
        """A commit, from `sessions.core.announcements`."""
        session, seq = message["session"], message["seq"]
        self.told[session] = max(seq, self.told.get(session, -1))
        await self._send(kind="changed", session=session, seq=seq)

    async def session_writing(self, message: dict[str, Any]) -> None:
        """What the agent is writing, from `partial_answers`, as long as a live view of the access log is held."""
        if not self.views or f"{WRITING}:{message['session']}" not in self.topics:
            return
        text = await database_sync_to_async(partial_answers.opened)(message)
        if text is not None:
            await self._send(kind="writing", session=message["session"], step=message["step"], text=marked(text))

    async def notices_changed(self, message: dict[str, Any]) -> None:
        """Somebody was told something, from `sessions.automation.notifications`."""
        await self._ring()

    async def people_revoked(self, message: dict[str, Any]) -> None:
        """This person's rights changed, from `agentstate.people.live`: whoever is still entitled connects again."""
        await self._revoke()

    async def _revoke(self) -> None:
        self.revoked = True
        await self.close(REVOKED)


def _parsed(text: str | None) -> tuple[list[str], dict[str, int]] | None:
    """The topics and what was seen of them, or None for anything else."""
    if text is None or len(text) > MAX_FRAME:
        return None
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(frame, dict) or not frame.keys() <= {"watch", "seen"}:
        return None
    topics, seen = frame.get("watch"), frame.get("seen", {})
    if not isinstance(topics, list) or len(topics) > MAX_TOPICS or not all(isinstance(t, str) for t in topics):
        return None
    if not isinstance(seen, dict) or not all(type(seq) is int for seq in seen.values()):
        return None
    return topics, seen


def _session_of(topic: str, wanted: str = "session") -> UUID | None:
    kind, _, text = topic.partition(":")
    try:
        return UUID(text) if kind == wanted else None
    except ValueError:
        return None


routes = [path("live/", LiveConsumer.as_asgi())]
