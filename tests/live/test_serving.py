"""The bounds of the web server on its clients, over real sockets. The times are short here (tests/live/bounded.py)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionAborted
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.web import http
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from agentstate.proxies import Proxies
from agentstate.serving import channel, sockets
from agentstate.serving.heads import Heads
from agentstate.serving.rates import Bucket
from agentstate.stack.ports import any_free
from tests.processes import ROOT, environment, eventually

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
LIMIT = 1_000_000  # DATA_UPLOAD_MAX_MEMORY_SIZE


class Client:
    """One connection, spoken to in bytes."""

    def __init__(self, port: int, sent: bytes = b"", address: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 20, source_address=(address, 0))
        self.send(sent)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def received(self) -> bytes:
        """All that comes until the server closes."""
        parts = []
        with suppress(ConnectionResetError):
            while part := self.socket.recv(65536):
                parts.append(part)
        return b"".join(parts)

    def answer(self) -> bytes:
        """One whole answer of the application."""
        data = b""
        while b" bytes" not in data:
            part = self.socket.recv(65536)
            assert part, data
            data += part
        return data

    def status(self) -> int:
        """The status that came before the server closed; 0: none."""
        data = self.received()
        return int(data.split()[1]) if data else 0


@contextmanager
def served(bounds: dict[str, float], **env: str) -> Iterator[int]:
    """The server, on this port."""
    chosen = any_free()
    command = [sys.executable, "-m", "agentstate.serving", "-p", str(chosen), "--access-log", os.devnull]
    process = subprocess.Popen(
        [*command, "tests.live.bounded:application"], cwd=ROOT, env=environment(BOUNDS=json.dumps(bounds), **env)
    )

    def answers() -> bool:
        assert process.poll() is None
        with suppress(OSError):
            Client(chosen).socket.close()
            return True
        return False

    try:
        eventually(answers, 60, "the server")
        yield chosen
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server that is soon out of patience."""
    with served({"HEAD_SECONDS": 2.0, "BODY_GRACE": 2.0, "LINGER_SECONDS": 1.0}) as chosen:
        yield chosen


def test_a_head_that_drips_is_cut_off(port: int) -> None:
    client = Client(port, HEAD + b"X-Half: ")
    client.socket.settimeout(0.1)

    def cut() -> bool:
        try:
            client.send(b"a")
            return client.status() in (0, 408)
        except TimeoutError:
            return False
        except OSError:
            return True

    eventually(cut, 10, "the connection is cut")


def test_a_head_that_stops_is_answered_408(port: int) -> None:
    assert Client(port, HEAD).status() == 408


def test_a_connection_that_says_nothing_is_closed_without_an_answer(port: int) -> None:
    assert Client(port).received() == b""


def test_a_second_head_has_its_own_time(port: int) -> None:
    client = Client(port, HEAD + b"\r\n")
    assert b"200" in client.answer()
    client.send(HEAD)
    assert client.status() == 408


def test_a_body_that_drips_is_cut_off(port: int) -> None:
    client = Client(port, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nab")
    assert client.status() == 408


def test_a_body_at_a_decent_rate_takes_its_time(port: int) -> None:
    client = Client(port, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 125000\r\n\r\n")
    for _ in range(25):  # longer than the grace; each part buys five seconds
        client.send(b"a" * 5000)
        time.sleep(0.1)
    assert b"125000 bytes" in client.answer()


def test_a_long_poll_is_not_cut(port: int) -> None:
    client = Client(port, HEAD.replace(b"/ ", b"/slow ") + b"\r\n")
    assert b"0 bytes" in client.answer()


def test_requests_in_one_piece_are_answered_one_after_another(port: int) -> None:
    client = Client(port, (HEAD + b"\r\n") * 2 + HEAD + b"Connection: close\r\n\r\n")
    assert client.received().count(b"0 bytes") == 3


def test_a_websocket_outlives_the_time_for_heads(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/") as line:
        Client(port, HEAD).status()  # by then the time for a head is over
        line.send("still here")
        assert line.recv(20) == "still here"


def flood(send: Callable[[], object]) -> None:
    for _ in range(100_000):
        send()


def test_a_websocket_that_floods_is_closed_and_others_are_served(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/") as line, connect(f"ws://127.0.0.1:{port}/") as other:
        with pytest.raises(ConnectionClosed):
            flood(lambda: line.send("x"))
        other.send("hello")
        assert other.recv(20) == "hello"


def test_a_websocket_that_floods_with_pings_is_closed(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/") as line, pytest.raises(ConnectionClosed):
        flood(line.ping)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        HEAD + b"X-Long: " + b"a" * 20_000 + b"\r\n\r\n",
        HEAD + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 500) for n in range(50)) + b"\r\n",
        HEAD + b"".join(b"X-%d: 1\r\n" % n for n in range(200)) + b"\r\n",
    ],
    ids=["line", "header", "together", "many"],
)
def test_a_head_that_is_too_large_is_answered_431(port: int, head: bytes) -> None:
    assert Client(port, head).status() == 431


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(port: int) -> None:
    client = Client(port, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (LIMIT + 1))
    assert client.status() == 413
    client = Client(port, b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % LIMIT)
    client.send(b"a" * LIMIT)
    assert b"1000000 bytes" in client.answer()


def test_who_sends_all_of_a_large_body_first_reads_the_refusal_too(port: int) -> None:
    head = b"POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n\r\n"
    answer = Client(port, head + b"a" * 10_000_000).received()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert (b"application/problem+json" in head, json.loads(body)["code"]) == (True, "too_large")


def test_nobody_is_told_to_go_on_with_a_body_that_is_too_large(port: int) -> None:
    expects = b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"
    assert Client(port, expects).received().startswith(b"HTTP/1.1 413 ")


def test_a_body_without_a_length_is_refused_unread(port: int) -> None:
    client = Client(port, b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n")
    assert client.status() == 411


def test_many_half_heads_of_one_address_push_out_each_other_and_nobody_else() -> None:
    with served({"HEAD_SECONDS": 600, "HEADS_PER_ADDRESS": 5}) as port:
        elsewhere = Client(port, HEAD, address="127.0.0.3")
        many = [Client(port, HEAD, address="127.0.0.2") for _ in range(8)]
        assert [client.status() for client in many[:3]] == [0] * 3
        assert b"200" in Client(port, HEAD + b"\r\n", address="127.0.0.2").answer()
        for client in (elsewhere, *many[4:]):  # the newest of them had to make room for the request above
            client.send(b"\r\n")
            assert b"200" in client.answer()


def test_incomplete_heads_of_a_named_proxy_are_not_counted() -> None:
    with served({"HEAD_SECONDS": 600, "HEADS_PER_ADDRESS": 5}, TRUSTED_PROXIES="127.0.0.2") as port:
        clients = [Client(port, HEAD, address="127.0.0.2") for _ in range(20)]
        assert b"200" in Client(port, HEAD + b"\r\n").answer()
        for client in clients:
            client.send(b"\r\n")
            assert b"200" in client.answer()


# --- one connection without a socket, on a clock of its own ---------------------------------------------------------


class Line(StringTransport):
    """A connection from an address; what was asked of the application, and what was written to the client."""

    def __init__(self, heads: Heads[channel.Channel], clock: Clock, at_once: bool = False) -> None:
        super().__init__(peerAddress=IPv4Address("TCP", "10.0.0.1", 1))
        self.aborted, self.half_closed, self.asked = False, False, list[http.Request]()
        self.at_once = at_once  # whether a request is answered before the next byte is read
        self.channel = channel.bounded(heads, Proxies())()
        self.channel.factory = http.HTTPFactory(reactor=clock)
        self.channel.timeOut, self.channel.callLater = 60, clock.callLater
        self.channel.requestFactory = self._request
        self.channel.makeConnection(self)

    def _request(self, *arguments: object) -> http.Request:
        request = http.Request(*arguments)
        request.process = lambda: self._process(request)
        return request

    def _process(self, request: http.Request) -> None:
        self.asked.append(request)
        if self.at_once:
            request.finish()

    def abortConnection(self) -> None:
        self.aborted = True
        self.channel.connectionLost(Failure(ConnectionAborted()))

    def loseWriteConnection(self) -> None:
        self.half_closed = True

    def says(self, *data: bytes) -> Line:
        for each in data:
            self.channel.dataReceived(each)
        return self


@pytest.fixture
def heads() -> Heads[channel.Channel]:
    return Heads(5)


WHOLE = HEAD + b"\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


def test_a_request_that_is_being_answered_is_no_incomplete_head(heads: Heads[channel.Channel]) -> None:
    line = Line(heads, Clock()).says(HEAD)
    assert heads.count("10.0.0.1") == 1
    line.says(b"\r\n")
    assert len(line.asked) == 1
    assert heads.count("10.0.0.1") == 0


def test_a_connection_that_was_lost_is_counted_no_more_and_leaves_no_timer(heads: Heads[channel.Channel]) -> None:
    clock = Clock()
    Line(heads, clock).says(HEAD).channel.connectionLost(Failure(ConnectionAborted()))
    assert (len(heads), [call for call in clock.getDelayedCalls() if call.func.__name__ == "_time_is_up"]) == (0, [])


def test_a_refused_connection_is_counted_no_more_and_cut_off_soon(heads: Heads[channel.Channel]) -> None:
    clock = Clock()
    line = Line(heads, clock).says(HEAD + b"X-Long: " + b"a" * 20_000)
    assert (line.value()[:12], len(heads), line.aborted, line.half_closed) == (b"HTTP/1.1 431", 0, False, True)
    assert [call.func.__name__ for call in clock.getDelayedCalls()] == ["_time_is_up"]
    clock.advance(channel.LINGER_SECONDS + 1)
    assert line.aborted


@pytest.mark.parametrize("at_once", [False, True])
def test_a_half_head_in_the_same_bytes_as_a_request_has_a_time_too(
    heads: Heads[channel.Channel], at_once: bool
) -> None:
    clock = Clock()
    line = Line(heads, clock, at_once).says(WHOLE + HEAD)
    if not at_once:
        line.asked[0].finish()
    assert heads.count("10.0.0.1") == 1
    clock.advance(channel.HEAD_SECONDS + 1)
    assert line.aborted or b" 408 " in line.value()


def test_a_slow_answer_to_a_request_with_a_body_is_not_cut(heads: Heads[channel.Channel]) -> None:
    clock = Clock()
    line = Line(heads, clock).says(POST + b"Content-Length: 2\r\n\r\na", b"b")
    clock.advance(3600)
    assert (len(line.asked), line.value(), line.aborted) == (1, b"", False)


@pytest.mark.parametrize(
    "pieces",
    [
        [POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"],
        [POST + b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n"],
        [HEAD + b"".join(b"X-%d: 1\r\n" % n for n in range(200)) + b"\r\n"],
        [HEAD + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 900) for n in range(20)), b"\r\n" + WHOLE],
        [b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n" + WHOLE],
        [HEAD + b"".join(b"X-%d: 1\r\n" % n for n in range(200)), b"a" * 40_000],
    ],
    ids=["chunks", "chunks later", "many", "together", "line", "many and more"],
)
def test_what_follows_a_refusal_reaches_nobody(heads: Heads[channel.Channel], pieces: list[bytes]) -> None:
    line = Line(heads, Clock()).says(*pieces, WHOLE)
    assert line.asked == []
    assert line.value().count(b"HTTP/1.1 ") == 1
    assert b"Cache-Control: no-store" in line.value()


def test_a_websocket_that_floods_is_told_why_dropped_and_heard_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(WebSocketProtocol, "onFrameBegin", lambda self: None)
    monkeypatch.setattr(WebSocketProtocol, "onMessage", lambda self, *message: done.append(message))
    socket_ = sockets.Socket()
    socket_._bucket, socket_._floods = Bucket(sockets.RATE, sockets.BURST, time.monotonic()), False
    socket_.sendCloseFrame = lambda code, reasonUtf8: done.append(code)
    socket_.dropConnection = lambda: done.append("dropped")
    for _ in range(1_000):
        socket_.onFrameBegin()
    socket_.onMessage(b"x", False)
    assert done == [1008, "dropped"]
