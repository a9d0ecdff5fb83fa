"""Whose address the staff log and the limits see behind a proxy: real sockets, the proxy played and real."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentstate.clock import now
from agentstate.people.trail import KINDS
from agentstate.stack.ports import any_free
from audit import ledger, staff
from tests import cast
from tests.processes import ROOT, eventually

pytestmark = pytest.mark.django_db(transaction=True)
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
UPGRADE = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip
CONF = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://unix:{behind}:;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection upgrade;
    }}
  }}
}}
"""


class Web:
    """The web server on a port and on a Unix socket. `local` is the address that a connection to it comes from."""

    def __init__(self, folder: Path, trusted: str) -> None:
        self.port, self.path = any_free(), folder / "web.sock"
        arguments = ("-b", "127.0.0.1", "-p", str(self.port), "-u", str(self.path), "--access-log", "/dev/null")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentstate.serving", *arguments, "agentstate.asgi:application"],
            cwd=ROOT, env={**os.environ, "LOG_LEVEL": "CRITICAL", "TRUSTED_PROXIES": trusted},
        )  # fmt: skip

    def ready(self) -> None:
        eventually(lambda: listens(("127.0.0.1", self.port)) and self.path.exists(), 120, "the web server")

    def tcp(self, local: str = "127.0.0.1", port: int = 0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port or self.port), 20, source_address=(local, 0))

    def unix(self) -> socket.socket:
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(20)
        line.connect(str(self.path))
        return line


def listens(where: tuple[str, int]) -> bool:
    try:
        socket.create_connection(where, 1).close()
    except OSError:
        return False
    return True


@contextmanager
def serving(folder: Path, trusted: str) -> Iterator[Web]:
    web = Web(folder, trusted)
    try:
        web.ready()
        yield web
    finally:
        web.process.terminate()
        web.process.wait(20)


@pytest.fixture
def web(test_database, tmp_path) -> Iterator[Web]:
    with serving(tmp_path, "127.0.0.1, unix") as held:
        yield held


def sent(line: socket.socket, request: str, body: str = "", **headers: str) -> tuple[int, str]:
    """Status and whole answer of one request."""
    always = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(body)), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in always.items())
    with line:
        line.sendall(f"{request} HTTP/1.1\r\n{head}\r\n{body}".encode())
        received = b""
        while chunk := line.recv(65536):
            received += chunk
            if request.endswith("/live/"):
                break
    text = received.decode("latin-1")
    return int(text.split()[1]), text


def signs_in(line: socket.socket, password: str, **headers: str) -> int:
    """The status that a sign-in as Alice is answered with. The form's token is its cookie's."""
    token = "a" * 32
    body = f"username=alice&password={password}&csrfmiddlewaretoken={token}"
    form = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": f"csrftoken={token}"}
    return sent(line, "POST /sign-in/", body, **form, **headers)[0]


def addresses() -> list[str]:
    """The addresses of sign-ins and failures in the staff log, in order."""
    log = staff.log_of(cast.tenant().pk, now())
    rows = ledger.open_rows(ledger.read_rows(log))
    named = [payload or b"" for envelope, payload in rows if envelope.kind in KINDS and "sign" in envelope.kind]
    return [found[1].decode() for payload in named if (found := re.search(rb'"address":"([^"]*)"', payload))]


def test_the_staff_log_names_the_caller_and_not_the_proxy(web):
    cast.with_password(cast.alice())
    forged = {"X_Forwarded_For": "192.0.2.1, 198.51.100.7"}
    assert signs_in(web.tcp(), "wrong", **forged) == 422
    assert signs_in(web.unix(), "wrong", X_Forwarded_For="203.0.113.9") == 422
    assert signs_in(web.tcp(), cast.PASSWORD, X_Forwarded_For="2001:db8::7") == 302
    assert addresses() == ["198.51.100.7", "203.0.113.9", "2001:db8::7"]


def test_a_peer_that_is_no_proxy_writes_no_address_of_its_choice(web):
    cast.with_password(cast.alice())
    assert signs_in(web.tcp("127.0.0.2"), "wrong", X_Forwarded_For="198.51.100.7") == 422
    assert addresses() == ["127.0.0.2"]


def test_without_a_named_proxy_no_socket_is_believed(test_database, tmp_path):
    cast.with_password(cast.alice())
    with serving(tmp_path, "") as web:
        assert signs_in(web.tcp(), "wrong", X_Forwarded_For="198.51.100.7") == 422
        assert signs_in(web.unix(), "wrong", X_Forwarded_For="198.51.100.7") == 422
    assert addresses() == ["127.0.0.1", ""]


def test_only_a_proxys_word_makes_a_request_secure(web):
    """A secure request needs a Referer of its own host before a form is taken (Django's CSRF check)."""
    cast.with_password(cast.alice())
    assert signs_in(web.tcp(), "wrong", X_Forwarded_Proto="https") == 403
    assert signs_in(web.tcp(), "wrong", X_Forwarded_Proto="https", Referer="https://localhost/sign-in/") == 422
    assert signs_in(web.tcp("127.0.0.2"), "wrong", X_Forwarded_Proto="https") == 422


def test_a_socket_is_secure_by_a_proxys_word_only(web):
    """A socket opens for pages of its own scheme: a secure page for one that came by TLS."""
    secure = {**UPGRADE, "X_Forwarded_Proto": "https", "Origin": "https://localhost"}
    assert sent(web.tcp(), "GET /live/", **secure)[0] == 101
    assert sent(web.unix(), "GET /live/", **secure)[0] == 101
    assert sent(web.tcp("127.0.0.2"), "GET /live/", **secure)[0] == 403


def test_through_a_real_nginx_the_caller_is_named_and_a_forged_header_is_not_believed(web, tmp_path):
    if NGINX is None:
        pytest.skip("NGINX IS NOT INSTALLED: the same is tried above over sockets alone")
    cast.with_password(cast.alice())
    port = any_free()
    conf = tmp_path / "nginx.conf"
    conf.write_text(CONF.format(folder=tmp_path, port=port, behind=web.path))
    nginx = subprocess.Popen([NGINX, "-p", str(tmp_path), "-c", str(conf), "-e", str(tmp_path / "error.log")])
    try:
        eventually(lambda: listens(("127.0.0.1", port)), 10, "nginx")
        assert signs_in(web.tcp("127.0.0.5", port), "wrong", X_Forwarded_For="198.51.100.7") == 422
        assert signs_in(web.tcp("127.0.0.6", port), cast.PASSWORD) == 302
        assert addresses() == ["127.0.0.5", "127.0.0.6"]
        assert sent(web.tcp(port=port), "GET /live/", **UPGRADE, Origin="http://localhost")[0] == 101
    finally:
        nginx.terminate()
        nginx.wait(10)
