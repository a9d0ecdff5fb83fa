"""The API as Daphne serves it: what a socket can carry and Django's test client cannot. Real process, real database."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from agentstate.stack.ports import any_free
from tests import cast
from tests.processes import ROOT, eventually
from tests.shell.api_world import new_session, nothing_written

pytestmark = pytest.mark.django_db(transaction=True)
MEGABYTES = 10_000_000


class Daphne:
    """A Daphne on a free port, spoken to in bytes."""

    def __init__(self) -> None:
        self.port = any_free()
        arguments = (
            "-b",
            "127.0.0.1",
            "-p",
            str(self.port),
            "--access-log",
            "/dev/null",
            "agentstate.asgi:application",
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentstate.serving", *arguments],
            cwd=ROOT,
            env={**os.environ, "LOG_LEVEL": "CRITICAL"},
        )

    def answers(self) -> bool:
        assert self.process.poll() is None
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def send(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer to these bytes, sent over a connection of their own."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as connection:
            connection.sendall(data)
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        return int(lines[0].split()[1]), headers, body

    def ask(self, line: bytes, body: bytes = b"", *headers: bytes, host: bytes = b"localhost") -> dict:
        """The problem document that answers a request, which must be one and tell nothing of our insides."""
        length = [] if any(b"chunked" in header for header in headers) else [b"Content-Length: %d" % len(body)]
        always = [b"Host: " + host, b"Connection: close", b"Content-Type: application/json", *length]
        status, sent, answer = self.send(b"\r\n".join([line + b" HTTP/1.1", *always, *headers, b"", body]))
        document = json.loads(answer)
        assert (sent["content-type"], document["status"]) == ("application/problem+json", status)
        assert not re.search(rb"Traceback|File \"|daphne|twisted|/work|site-packages", answer)
        return document


@pytest.fixture
def daphne(test_database) -> Iterator[Daphne]:
    server = Daphne()
    eventually(server.answers, 30, "Daphne")
    yield server
    server.process.terminate()
    server.process.wait(20)


def test_what_only_a_socket_can_send_is_a_problem_document_too(daphne: Daphne) -> None:
    session, token = new_session(), cast.token(cast.cleo()).encode()
    bearer = b"Authorization: Bearer " + token
    post = f"POST /api/v1/sessions/{session}/messages".encode()
    large = b'{"text": "' + b"a" * MEGABYTES + b'"}'
    chunked = (
        b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (large[:1_000_000], large[1_000_000:])) + b"0\r\n\r\n"
    )
    with nothing_written():
        assert daphne.ask(post, large, bearer)["code"] == "too_large"
        assert daphne.ask(post, chunked, bearer, b"Transfer-Encoding: chunked")["code"] == "length_required"
        assert daphne.ask(post, large)["code"] == "too_large"
        assert daphne.ask(post, b'{"text": "\\ud800"}', bearer)["field"] == "text"
        assert daphne.ask(post, b'{"text": NaN}', bearer)["code"] == "bad_json"
        assert daphne.ask(post, b"\xff\xfe", bearer)["code"] == "bad_json"


def test_addresses_that_are_none_are_problem_documents_through_daphne(daphne: Daphne) -> None:
    bearer = b"Authorization: Bearer " + cast.token(cast.alice()).encode()
    codes = {
        b"/api/v1/nothing": "unknown_address",
        b"/api": "unknown_address",
        b"/api/v1/sessions/": "unknown_address",
        b"/api/v1/sessions/%FF%FE": "unknown_session",
        b"/api/v1/sessions/%00": "unknown_address",
        b"/api/v1/plans/%00": "unknown_address",
        b"/api/v1/requests/x": "unknown_request",
        b"/api/v1/sessions?limit=%FF": "invalid",
    }
    assert {path: daphne.ask(b"GET " + path, b"", bearer)["code"] for path in codes} == codes
    assert daphne.ask(b"GET /api/v1/sessions", b"", bearer, host=b"evil.example")["code"] == "bad_request"
    assert daphne.ask(b"DELETE /api/v1/sessions", b"", bearer)["status"] == 405
    assert daphne.ask(b"BREW /api/v1/sessions", b"", bearer)["status"] == 405
    status, _, answer = daphne.send(
        b"GET /api/v1/sessions/\xff HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    assert (status, answer) == (400, b"")  # no HTTP at all: the server itself says so, and nothing more
    refused = daphne.ask(b"GET /api/v1/sessions", b"", b"Authorization: Bearer \xff\xff")
    assert (refused["status"], refused["code"]) == (401, "token_refused")
