"""A local server that speaks Chat Completions, with tool calls and streaming, and fails as real ones do.

Standard library only. A script gives the replies in order; every request is kept, with its headers. It is no
model: it says what it was told to say.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A proposed call; `arguments` is text, so that it can be malformed. Streaming cuts it into `pieces`."""

    tool: str
    arguments: str
    id: str = "call_1"
    pieces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Say:
    """A good answer, streamed when asked to be. `pieces` says how streaming cuts the text."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    pieces: tuple[str, ...] = ()
    bytewise: bool = False  # every byte of the stream in an HTTP chunk of its own
    model: str = "local-model-0001"


@dataclass(frozen=True)
class Raw:
    """Any bytes with any status. `lacking`: bytes promised by Content-Length but never sent."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    lacking: int = 0


@dataclass(frozen=True)
class Endless:
    """A body that goes on: `piece` again and again, `seconds` apart, until the client leaves (or 15 s are over,
    so that a client that never leaves fails its test)."""

    piece: bytes
    seconds: float = 0.0
    before: bytes = b""
    kind: str = "text/event-stream"


@dataclass(frozen=True)
class Hang:
    """Says nothing until the server is closed."""


Reply = Say | Raw | Endless | Hang


@dataclass
class ChatServer:
    """`with ChatServer([Say("Hello")]) as server:` serves at `server.url`.

    `replies` are given in order, or are a function of the request's body.
    """

    replies: Iterable[Reply] | Callable[[Json], Reply]
    requests: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    sent: int = 0  # bytes of endless bodies

    def __enter__(self) -> ChatServer:
        script = self.replies if callable(self.replies) else _in_order(self.replies)
        self.closing = threading.Event()
        self._http = _Http(self, script)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The base URL, as AGENT_BASE_URL wants it."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"


def completion(say: Say) -> Json:
    """`say` as the body of an answer that is not streamed."""
    message: Json = {"role": "assistant", "content": say.text or None}
    if say.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for call in say.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(say)}
    return {**_frame(say, "chat.completion"), "choices": [choice], "usage": _USAGE}


def events(say: Say) -> list[Json]:
    """`say` as the events of a stream: text, calls by index with their arguments in pieces, finish, usage."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in say.pieces or (say.text,) if piece]
    for index, call in enumerate(say.calls):
        head = {"name": call.tool, "arguments": ""}
        deltas.append({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": head}]})
        for piece in call.pieces or (call.arguments,):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    frame = _frame(say, "chat.completion.chunk")
    found = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    found.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(say)}]})
    return [*found, {**frame, "choices": [], "usage": _USAGE}]


def stream(found: Sequence[Json]) -> bytes:
    """Events as server-sent events, with the end mark. Half characters stay escapes, all else is UTF-8."""
    return b"".join([*(b"data: " + _utf8(event) + b"\n\n" for event in found), b"data: [DONE]\n\n"])


def _utf8(value: Json) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


_USAGE = {"prompt_tokens": 19, "completion_tokens": 7, "total_tokens": 26}


def _frame(say: Say, kind: str) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_760_000_000, "model": say.model}


def _finish(say: Say) -> str:
    return say.finish or ("tool_calls" if say.calls else "stop")


def _in_order(replies: Iterable[Reply]) -> Callable[[Json], Reply]:
    rest: Iterator[Reply] = iter(replies)
    return lambda _: next(rest, Raw(500, b'{"error": {"message": "the script has ended"}}'))


class _Http(ThreadingHTTPServer):
    """Answers from a script, and notes in `chat` what it was asked."""

    daemon_threads = True

    def __init__(self, chat: ChatServer, script: Callable[[Json], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.chat, self.script = chat, script


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.chat.requests.append(body)
        self.server.chat.headers.append({name.lower(): value for name, value in self.headers.items()})
        reply = self.server.script(body)
        try:
            self._send(reply, bool(body.get("stream")))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _send(self, reply: Reply, streamed: bool) -> None:
        if isinstance(reply, Raw):
            self._raw(reply)
        elif isinstance(reply, Endless):
            self._endless(reply)
        elif isinstance(reply, Hang):
            self.server.chat.closing.wait(30)
            self.close_connection = True
        elif streamed:
            body = stream(events(reply))
            self._chunks((body[i : i + 1] for i in range(len(body))) if reply.bytewise else [body])
        else:
            self._raw(Raw(200, json.dumps(completion(reply)).encode()))

    def _raw(self, reply: Raw) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body) + reply.lacking))
        self.end_headers()
        self.wfile.write(reply.body)
        self.close_connection = self.close_connection or bool(reply.lacking)

    def _chunks(self, pieces: Iterable[bytes], kind: str = "text/event-stream") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def _endless(self, reply: Endless) -> None:
        def pieces() -> Iterator[bytes]:
            if reply.before:
                yield reply.before
            until = time.monotonic() + 15
            while not self.server.chat.closing.is_set() and time.monotonic() < until:
                self.server.chat.sent += len(reply.piece)
                yield reply.piece
                time.sleep(reply.seconds)

        self._chunks(pieces(), reply.kind)
