"""The two ways to an MCP server, both bounded: lines to and from a process of ours, and HTTP by the rules of
`sessions.outside`.

A process is started for one conversation, under limits, in a group and an empty directory of its own, with the
environment that its description gives and nothing else; whatever becomes of the conversation, the group is ended after
it.
"""

from __future__ import annotations

import json
import os
import signal
import ssl
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc
import httpx2
import mcp_types
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from sessions.outside import client as door
from sessions.outside import refusals
from sessions.tools.mcp.allowance import GRACE, Allowance, Trouble

CONFINED = (sys.executable, "-I", "-S", str(Path(__file__).with_name("sandbox.py")))


@asynccontextmanager
async def process(
    command: tuple[str, ...],
    environment: Mapping[str, str],
    directory: str,
    limits: Mapping[str, int],
    allowance: Allowance,
    trouble: Trouble,
) -> AsyncGenerator[TransportStreams]:
    """The streams of a conversation with a process of that command. `limits`: by the names of `resource`."""
    with tempfile.TemporaryDirectory(prefix="agentstate-mcp-") as home:
        full = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, **environment}
        try:
            running = await anyio.open_process(
                [*CONFINED, json.dumps(dict(limits)), *command],
                env=full,
                cwd=directory or home,
                stderr=-3,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise trouble.note(refusals.NoConnection("its process does not start.")) from error
        try:
            async with _streams(running, allowance, trouble) as streams:
                yield streams
        finally:
            with anyio.CancelScope(shield=True):
                await _end(running)


async def _end(running: anyio.abc.Process) -> None:
    """Its input ends; what has not ended soon after, is ended, with all that it started."""
    assert running.stdin is not None
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await running.stdin.aclose()
    with anyio.move_on_after(GRACE):
        while running.returncode is None:
            await anyio.sleep(0.01)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(running.pid, signal.SIGKILL)
    with anyio.move_on_after(GRACE):
        await running.aclose()


@asynccontextmanager
async def _streams(
    running: anyio.abc.Process, allowance: Allowance, trouble: Trouble
) -> AsyncGenerator[TransportStreams]:
    heard, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, to_say = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:

        async def listen() -> None:
            async with heard:
                with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                    try:
                        async for line in _lines(running, allowance):
                            await heard.send(_message(line))
                    except refusals.NotReached as reason:
                        trouble.note(reason)

        async def speak() -> None:
            assert running.stdin is not None
            async with to_say:
                with suppress(OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
                    async for said in to_say:
                        line = said.message.model_dump_json(by_alias=True, exclude_unset=True)
                        await running.stdin.send(line.encode() + b"\n")

        group.start_soon(listen)
        group.start_soon(speak)
        try:
            yield reading, writing
        finally:
            group.cancel_scope.cancel()
            reading.close()
            writing.close()


async def _lines(running: anyio.abc.Process, allowance: Allowance) -> AsyncIterator[bytes]:
    assert running.stdout is not None
    waiting = bytearray()
    async for chunk in running.stdout:
        allowance.count(len(chunk))
        waiting += chunk
        if b"\n" in chunk:
            *whole, rest = bytes(waiting).split(b"\n")
            waiting = bytearray(rest)
            for line in whole:
                if line.strip():
                    yield line


def _message(line: bytes) -> SessionMessage:
    """What a line says. Raises NotJson; its words go nowhere."""
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValueError, RecursionError):
        raise refusals.NotJson("a line of it is no message.") from None


@asynccontextmanager
async def http(
    url: str,
    headers: Mapping[str, str],
    reach: door.Reach,
    bounds: door.Bounds,
    context: ssl.SSLContext,
    allowance: Allowance,
    trouble: Trouble,
) -> AsyncGenerator[TransportStreams]:
    """The streams of a conversation over streamable HTTP with the server at `url`."""
    guarded = Guarded(reach, context, allowance, trouble)
    limits = httpx2.Timeout(bounds.seconds, connect=bounds.connect)
    own = {"Accept-Encoding": "identity", **headers}
    async with (
        httpx2.AsyncClient(transport=guarded, headers=own, timeout=limits, trust_env=False) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


class Guarded(httpx2.AsyncBaseTransport):
    """Sends each request to an address that was looked up and may be reached, and counts what comes back."""

    def __init__(self, reach: door.Reach, context: ssl.SSLContext, allowance: Allowance, trouble: Trouble) -> None:
        self._reach, self._allowance, self._trouble = reach, allowance, trouble
        self._plain = httpx2.AsyncHTTPTransport(verify=context, trust_env=False, retries=0)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """By the address instead of the name; TLS goes on checking the name."""
        try:
            host = request.url.host
            address = door.looked_up(host, request.url.port or 443, self._reach)[0]
        except refusals.NotReached as reason:
            raise self._trouble.note(reason) from None
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=address)
        try:
            response = await self._plain.handle_async_request(request)
        except httpx2.TimeoutException:
            raise self._trouble.note(refusals.TooSlow()) from None
        except httpx2.TransportError as error:
            raise self._trouble.note(_connection(error)) from None
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            await response.aclose()
            raise self._trouble.note(refusals.Encoded())
        if 300 <= response.status_code < 400:
            await response.aclose()
            raise self._trouble.note(refusals.Redirected())
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self)
        return response

    def count(self, size: int) -> None:
        """Note bytes that came. Raises TooLarge."""
        try:
            self._allowance.count(size)
        except refusals.TooLarge as reason:
            raise self._trouble.note(reason) from None

    async def aclose(self) -> None:
        """Close all connections."""
        await self._plain.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, guarded: Guarded) -> None:
        self._stream, self._guarded = stream, guarded

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._guarded.count(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _connection(error: BaseException) -> refusals.NotReached:
    """Whether the certificate or the connection is at fault."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return refusals.NotTrusted()
        cause = cause.__cause__ or cause.__context__
    return refusals.NoConnection()
