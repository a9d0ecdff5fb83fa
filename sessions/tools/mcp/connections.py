"""Conversations with MCP servers that stay open between calls, of this process: to begin one costs a process or a
handshake, to ask in one does not.

A conversation is asked by one call at a time. After it, it is kept while its server's `keep` seconds last, if it went
well, is not too old and not one too many; whatever goes wrong in one ends it. It is of a server exactly as described
and of exactly these secrets: another description, or another secret, begins another. All of them live in one loop in
a thread of its own, so no thread of a tool waits for what is only kept.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.from_thread
import msgspec
from anyio.abc import TaskGroup

from sessions.outside import refusals
from sessions.outside.cancellation import Stop
from sessions.outside.secret import Secret
from sessions.tools.mcp.allowance import GRACE, Allowance, Trouble
from sessions.tools.mcp.servers import Server

if TYPE_CHECKING:  # the package is heavy: it is read by the first call
    from mcp.client import Client

MOST_OF_A_SERVER = 4  # conversations with one server that are kept
MOST = 16  # of all servers
OLDEST = 600.0  # seconds after which a conversation is not kept any more
_T = TypeVar("_T")
Begin = Callable[[Trouble, Allowance], "AbstractAsyncContextManager[Client]"]


class Conversation:
    """One that is open. It lives in a task of its own, which begins it, waits until it is over, and ends it."""

    def __init__(self, key: bytes, begin: Begin, size: int) -> None:
        self.key, self._begin = key, begin
        self.trouble, self.allowance = Trouble(), Allowance(size)
        self.since = anyio.current_time()
        self.failed: BaseException | None = None
        self._client: Client | None = None
        self._until = math.inf
        self._begun, self._ended, self._changed = anyio.Event(), anyio.Event(), anyio.Event()
        self._scope = anyio.CancelScope()

    async def live(self) -> None:
        """From its beginning to its end; what goes wrong in it is `failed`."""
        try:
            with self._scope:
                async with self._begin(self.trouble, self.allowance) as client:
                    self._client = client
                    self._begun.set()
                    while (left := self._until - anyio.current_time()) > 0:
                        with anyio.move_on_after(None if left == math.inf else left):
                            await self._changed.wait()
                            self._changed = anyio.Event()
        except Exception as error:
            self.failed = error
        finally:
            self._client = None
            self._begun.set()
            self._ended.set()

    async def client(self) -> Client:
        """Once it has begun. Raises what kept it from beginning."""
        await self._begun.wait()
        if self._client is None:
            raise self.failed or refusals.NoConnection()
        return self._client

    @property
    def is_sound(self) -> bool:
        """Whether it can be asked again."""
        return self._client is not None and self.trouble.reason is None and self._until > anyio.current_time()

    def rest(self, seconds: float) -> None:
        """It ends unless it is asked again within so many seconds; inf: while it is asked."""
        self._until = anyio.current_time() + seconds
        self._changed.set()

    async def end(self) -> None:
        """End it, and see it ended: by itself, or what has not ended soon after."""
        self.rest(0)
        with anyio.move_on_after(GRACE if self._client is not None else 0):
            await self._ended.wait()
        self._scope.cancel()
        await self._ended.wait()


class Kept:
    """The conversations of this process, and the loop in which they live."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: anyio.from_thread.BlockingPortal | None = None
        self._living: TaskGroup | None = None
        self._idle: list[Conversation] = []  # touched in the loop alone

    def ask(
        self,
        server: Server,
        sent: Mapping[str, Secret],
        begin: Begin,
        question: Callable[[Client], Awaitable[_T]],
        seconds: float,
        stop: Stop,
        repeatable: Callable[[], bool],
    ) -> tuple[_T | BaseException, Trouble]:
        """The answer in a kept conversation, or in a new one; or what went wrong, with the trouble that was noted. One
        that breaks while `repeatable()` has a successor at once. Once `stop` is set nobody waits any more.
        """
        key = _key(server, sent)

        async def asked() -> tuple[_T | BaseException, Trouble]:
            return await self._asked(key, server, begin, question, seconds, repeatable)

        future: Future[tuple[_T | BaseException, Trouble]] = self._running().start_task_soon(asked)

        def nobody_waits() -> None:
            future.cancel()

        with stop.calling(nobody_waits):
            try:
                return future.result()
            except CancelledError:
                return refusals.Cancelled(), Trouble()

    async def _asked(
        self,
        key: bytes,
        server: Server,
        begin: Begin,
        question: Callable[[Client], Awaitable[_T]],
        seconds: float,
        repeatable: Callable[[], bool],
    ) -> tuple[_T | BaseException, Trouble]:
        trouble = Trouble()
        with anyio.move_on_after(seconds):
            while True:
                held = self._taken(key)
                conversation = held or self._new(key, begin, server.size)
                trouble = conversation.trouble
                found = await self._once(conversation, server.keep, question)
                if not (isinstance(found, BaseException) and held is not None and repeatable()):
                    return found, trouble
        return refusals.TooSlow(), trouble

    async def _once(
        self, conversation: Conversation, keep: float, question: Callable[[Client], Awaitable[_T]]
    ) -> _T | BaseException:
        """The answer or the error of one conversation, which is kept or ended afterwards, also when nobody waits."""
        well = False
        try:
            found = await question(await conversation.client())
            well = True
        except Exception as error:
            return error
        finally:
            if not (well and self._kept(conversation, keep)):
                with anyio.CancelScope(shield=True):
                    await conversation.end()
        return found

    def _taken(self, key: bytes) -> Conversation | None:
        """The one that was asked last; those that broke meanwhile are let go."""
        for conversation in reversed(self._idle):
            if conversation.key == key:
                self._idle.remove(conversation)
                if conversation.is_sound:
                    conversation.rest(math.inf)
                    conversation.allowance.renew()
                    return conversation
                conversation.rest(0)
        return None

    def _new(self, key: bytes, begin: Begin, size: int) -> Conversation:
        assert self._living is not None
        conversation = Conversation(key, begin, size)
        self._living.start_soon(conversation.live)
        return conversation

    def _kept(self, conversation: Conversation, keep: float) -> bool:
        """Whether it stays open: then it rests."""
        is_young = anyio.current_time() - conversation.since < OLDEST
        if not (keep and is_young and conversation.is_sound):
            return False
        self._idle = [each for each in self._idle if each.is_sound]
        of_server = [each for each in self._idle if each.key == conversation.key]
        if len(of_server) >= MOST_OF_A_SERVER:
            return False
        if len(self._idle) >= MOST:
            self._idle.pop(0).rest(0)  # the one that was asked longest ago
        conversation.rest(keep)
        self._idle.append(conversation)
        return True

    def _running(self) -> anyio.from_thread.BlockingPortal:
        with self._lock:
            if self._portal is None:
                begun: Future[tuple[anyio.from_thread.BlockingPortal, TaskGroup]] = Future()
                # A daemon: the process need not wait for it, and its end is that of the programs it has started.
                threading.Thread(target=anyio.run, args=(_loop, begun), name="mcp", daemon=True).start()
                self._portal, self._living = begun.result()
            return self._portal

    def end_all(self) -> None:
        """End every conversation that is kept, and see them ended."""
        if self._portal is not None:
            with suppress(RuntimeError):
                self._portal.call(self._end_all)

    async def _end_all(self) -> None:
        idle, self._idle = self._idle, []
        for conversation in idle:
            await conversation.end()

    def forget(self) -> None:
        """In a process that was forked: its parent's are not its own."""
        self._lock, self._portal, self._living, self._idle = threading.Lock(), None, None, []


async def _loop(begun: Future[tuple[anyio.from_thread.BlockingPortal, TaskGroup]]) -> None:
    async with anyio.create_task_group() as living, anyio.from_thread.BlockingPortal() as portal:
        begun.set_result((portal, living))
        await portal.sleep_until_stopped()


def _key(server: Server, sent: Mapping[str, Secret]) -> bytes:
    """What a conversation is of: kept in memory alone, where the secrets are as well."""
    values: dict[str, Any] = {name: secret.reveal() for name, secret in sent.items()}
    return msgspec.json.encode([msgspec.to_builtins(server), values])


kept = Kept()
os.register_at_fork(after_in_child=kept.forget)
