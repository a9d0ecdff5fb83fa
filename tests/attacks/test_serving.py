"""Rude clients and careless hands against the running console: moved logs, half-open connections, huge requests."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from agentstate.stack.ports import any_free
from tests.attacks.client import eventually
from tests.attacks.rude import HALF, MANY, connections
from tests.attacks.stack import Stack
from tests.processes import ROOT, environment, is_alive


def _asks_for_nothing(stack: Stack) -> None:
    """Asks for a page that does not exist, of which the web process writes a line."""
    assert httpx.get(f"{stack.url}{uuid4().hex}/", trust_env=False).status_code == 404


def _lines(folder: Path) -> int:
    """How many such lines are in the log of the web process; 0 where there is none."""
    with suppress(FileNotFoundError):
        return (folder / "web.log").read_text().count("Not Found: ")
    return 0


@pytest.mark.alone
def test_h3_moved_log_files_are_begun_anew_and_nothing_ends(stack: Stack) -> None:
    before, folder = stack.up.pids(), stack.state / "log"
    for log in folder.glob("*.log"):
        log.rename(log.with_suffix(".moved"))
    _asks_for_nothing(stack)
    eventually(lambda: _lines(folder) > 0, "a new log")
    assert stack.up.process.poll() is None, stack.up.said
    assert stack.up.pids() == before


@pytest.mark.alone
def test_h3_a_moved_log_folder_ends_nothing_and_a_child_without_a_log_comes_back(stack: Stack) -> None:
    folder = stack.state / "log"
    folder.rename(stack.state / "log.moved")
    _asks_for_nothing(stack)
    stack.up.kill("beat")
    (stack.state / "log.moved").rename(folder)
    before = _lines(folder)
    _asks_for_nothing(stack)
    eventually(lambda: _lines(folder) > before, "the log goes on")
    assert "bytes of this log could not be written" in (folder / "web.log").read_text()
    assert stack.up.process.poll() is None, stack.up.said
    assert all(map(is_alive, stack.up.pids().values()))


@pytest.mark.alone
def test_h3_deleted_log_files_are_begun_anew_and_nothing_ends(stack: Stack) -> None:
    folder, before = stack.state / "log", stack.up.pids()
    for log in folder.glob("*.log"):
        log.unlink()
    _asks_for_nothing(stack)
    eventually(lambda: _lines(folder) > 0, "a new log")
    assert stack.up.process.poll() is None, stack.up.said
    assert stack.up.pids() == before


# --- half-open connections and huge requests ----------------------------------------------------------------------


def _reach(stack: Stack, path: str = "sign-in/") -> int:
    return httpx.get(stack.url + path, timeout=20, trust_env=False).status_code


def _descriptors(stack: Stack) -> int:
    return len(list(Path(f"/proc/{stack.up.pid('web')}/fd").iterdir()))


@pytest.mark.alone
def test_h5_half_open_heads_of_one_client_leave_the_console_reachable(stack: Stack) -> None:
    before = _descriptors(stack)
    with connections(stack.port, MANY, HALF) as opened:
        opened[-1].sendall(b"x\r\n\r\n")  # the newest was never in question
        assert opened[-1].recv(20).startswith(b"HTTP/1.1 302")
        assert _reach(stack) == 200
        eventually(lambda: _descriptors(stack) < before + 150, "all but a hundred are closed, long before their time")
    assert _reach(stack, "healthz") == 200


@pytest.mark.alone
def test_h5_half_sent_bodies_of_one_client_leave_the_console_reachable(stack: Stack) -> None:
    half = b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\nname="
    with connections(stack.port, MANY, half) as opened:
        assert _reach(stack) == 200
        assert opened[0].recv(20).startswith(b"HTTP/1.1 408")  # after ten seconds
    assert _reach(stack, "healthz") == 200


NGINX = """
daemon off; pid nginx.pid; error_log error.log; worker_processes 1; worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  map $http_upgrade $connection_upgrade {{ default upgrade; "" ""; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://127.0.0.1:{web}; proxy_http_version 1.1; proxy_request_buffering off;
      proxy_set_header Host 127.0.0.1:{port}; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
    }}
  }}
}}
"""


@contextmanager
def _nginx(stack: Stack) -> Iterator[str]:
    """A real nginx before a web process that names it as its proxy; nginx's port."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed (Debian: nginx-light), so the console behind a proxy is NOT tried")
    folder, port = stack.folder / f"nginx-{uuid4().hex[:8]}", str(any_free())
    folder.mkdir()
    with _second_web(stack, TRUSTED_PROXIES="127.0.0.1") as web:
        (folder / "nginx.conf").write_text(NGINX.format(port=port, web=web))
        command = [program, "-p", str(folder), "-c", "nginx.conf", "-e", "error.log"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
            try:
                eventually(lambda: _listens(port), "nginx")
                yield port
            finally:
                server.terminate()


@pytest.mark.alone
def test_h5_behind_nginx_half_open_clients_leave_the_console_reachable(stack: Stack) -> None:
    cookie = str(stack.browser(stack.supervisor()).http.headers["Cookie"])
    half = b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\nname="
    with _nginx(stack) as port, connections(port, MANY, HALF), connections(port, MANY, half):
        assert httpx.get(f"http://127.0.0.1:{port}/sign-in/", trust_env=False, timeout=20).status_code == 200
        address, origin = f"ws://127.0.0.1:{port}/live/", Origin(f"http://127.0.0.1:{port}")
        with connect(address, origin=origin, additional_headers={"Cookie": cookie}) as line:
            line.send('{"watch": ["wall"], "seen": {}}')
            assert any(json.loads(line.recv(20))["kind"] == "watching" for _ in range(500))  # others' calls go on


def test_m6_a_huge_body_is_refused_before_it_is_read(stack: Stack) -> None:
    head = f"POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {150 * 2**20}\r\n\r\n"
    with connections(stack.port, 1, head.encode()) as (connection,):
        assert b" 413 " in connection.recv(30)


def test_m6_who_pours_a_huge_body_in_fills_no_memory_and_reads_the_refusal(stack: Stack) -> None:
    status = Path(f"/proc/{stack.up.pid('web')}/status")
    body = b"a" * 2**20
    with connections(
        stack.port, 1, b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 157286400\r\n\r\n"
    ) as (connection,):
        before, sent = _resident(status), 0
        with suppress(OSError):  # we are cut off somewhere on the way
            for sent in range(150):
                connection.sendall(body)
                assert _resident(status) < before + 50_000, f"after {sent} MB"
        with suppress(ConnectionResetError):
            assert b" 413 " in connection.recv(30)


def _resident(status: Path) -> int:
    """Kilobytes of a process in memory."""
    return int(status.read_text().partition("VmRSS:")[2].split()[0])


def test_m6_a_huge_head_is_refused_before_it_is_read(stack: Stack) -> None:
    with connections(stack.port, 1, HALF + b"a" * 50_000) as (connection,):
        assert b" 431 " in connection.recv(30)


def test_l1_an_address_with_nul_is_no_error_of_ours(stack: Stack) -> None:
    assert (stack.watcher.get("/plans/%00").status, stack.watcher.get("/plans/%00").code) == (404, "unknown_address")


def test_l1_nul_anywhere_in_any_address_is_no_error_of_ours(stack: Stack) -> None:
    paths = [path for path in stack.watcher.get("/schema").must()["paths"] if "{" in path]
    assert len(paths) > 50
    for path in paths:
        hostile = re.sub(r"\{[^}]*\}", "a%00b", path.removeprefix("/api/v1"))
        assert stack.watcher.get(hostile).status in (404, 405), hostile


def test_l1_nul_in_a_query_a_body_or_a_form_is_no_error_of_ours(stack: Stack) -> None:
    person = stack.supervisor()
    for path in ("/sessions?customer=a%00b", "/sessions?alias=%00", "/requests?tool=a%00b", "/alerts?name=%00"):
        assert person.get(path).status < 500, path
    body = {"customer": "C-1\0", "agent": "hunt", "channel": "phone", "topic": "a\0b"}
    assert 400 <= stack.caller.post("/sessions", **body).status < 500
    browser = stack.browser(person).http
    for path in ("sessions/?q=%00", "decisions/?tool=a%00b", "sign-in/?next=/%00/"):
        assert browser.get(path).status_code < 500, path


def _opens_a_socket(stack: Stack, cookie: str, origin: str) -> bool:
    address = stack.url.replace("http", "ws") + "live/"
    try:
        with connect(address, origin=Origin(origin), additional_headers={"Cookie": cookie}):
            return True
    except InvalidStatus:
        return False


def test_l3_a_page_of_another_port_opens_no_socket(stack: Stack) -> None:
    cookie = str(stack.browser(stack.supervisor()).http.headers["Cookie"])
    assert _opens_a_socket(stack, cookie, stack.url.rstrip("/"))
    assert not _opens_a_socket(stack, cookie, "http://127.0.0.1:9999")


def test_l3_a_page_of_another_scheme_or_of_none_opens_no_socket(stack: Stack) -> None:
    cookie = str(stack.browser(stack.supervisor()).http.headers["Cookie"])
    for origin in ("http://127.0.0.1", f"https://127.0.0.1:{stack.port}", f"http://localhost:{stack.port}", "null"):
        assert not _opens_a_socket(stack, cookie, origin), origin


def test_l3_a_foreign_name_that_was_made_to_lead_here_opens_no_socket(stack: Stack) -> None:
    cookie = str(stack.browser(stack.supervisor()).http.headers["Cookie"])
    foreign = f"rebound.example:{stack.port}"
    with socket.create_connection(("127.0.0.1", int(stack.port)), 20) as connection:
        head = f"GET /live/ HTTP/1.1\r\nHost: {foreign}\r\nOrigin: http://{foreign}\r\nCookie: {cookie}\r\n"
        head += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        connection.sendall(f"{head}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        assert connection.recv(20).split()[1] in (b"400", b"403")


def _is_closed_for(stack: Stack, send: Callable[[ClientConnection], object]) -> bool:
    """Whether a viewer's socket is closed for sending 116,000 frames; the console stays reachable."""
    cookie = str(stack.browser(stack.people("retail:viewer")).http.headers["Cookie"])
    address, origin = stack.url.replace("http", "ws") + "live/", Origin(stack.url.rstrip("/"))
    with connect(address, origin=origin, additional_headers={"Cookie": cookie}) as line:
        try:
            for _ in range(116_000):
                send(line)
        except ConnectionClosed:
            return _reach(stack) == 200
    return False


def test_l4_a_socket_that_floods_is_closed(stack: Stack) -> None:
    assert _is_closed_for(stack, lambda line: line.send('{"watch": ["wall"], "seen": {}}'))


def test_l4_a_socket_that_floods_with_pings_is_closed(stack: Stack) -> None:
    assert _is_closed_for(stack, lambda line: line.ping())


def test_l4_a_socket_that_floods_with_parts_of_one_message_is_closed(stack: Stack) -> None:
    assert _is_closed_for(stack, lambda line: line.send("x" for _ in range(116_000)))


def test_l5_the_form_token_lives_no_longer_than_a_shift(stack: Stack) -> None:
    answer = httpx.get(f"{stack.url}sign-in/", trust_env=False)
    (age,) = re.findall(r"csrftoken=.*?Max-Age=(\d+)", answer.headers["set-cookie"])
    assert int(age) <= 12 * 3600


@contextmanager
def _second_web(stack: Stack, **settings: str) -> Iterator[str]:
    """Another web process of the installation, with these settings; its port."""
    port = str(any_free())
    words = Path(f"/proc/{stack.up.pid('web')}/environ").read_text().strip("\0").split("\0")
    env = environment(**{**dict(word.split("=", 1) for word in words), **settings})
    command = [sys.executable, "-m", "agentstate.serving", "-p", port, "--access-log", os.devnull]
    with subprocess.Popen([*command, "agentstate.asgi:application"], cwd=ROOT, env=env) as server:
        try:
            eventually(lambda: _listens(port), "the server", seconds=120)
            yield port
        finally:
            server.kill()  # asked to stop, it would first finish what it is doing


def test_l5_behind_tls_browsers_are_told_to_stay_there(stack: Stack) -> None:
    with _second_web(stack, BEHIND_TLS="yes", TRUSTED_PROXIES="127.0.0.1") as port:
        told = [
            httpx.get(
                f"http://127.0.0.1:{port}/sign-in/", headers={"X-Forwarded-Proto": scheme}, trust_env=False, timeout=20
            ).headers.get("strict-transport-security")
            for scheme in ("https", "http")
        ]
    assert told == ["max-age=31536000", None]


def test_l5_behind_tls_no_cookie_travels_in_clear(stack: Stack) -> None:
    link = stack.at_the_machine("link", stack.supervisor().name, "")
    with _second_web(stack, BEHIND_TLS="yes", TRUSTED_PROXIES="127.0.0.1") as port:
        headers = {"X-Forwarded-Proto": "https", "Referer": f"https://127.0.0.1:{port}/"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False, timeout=20) as client:
            cookies = [each for path in ("/sign-in/", link) for each in client.get(path).headers.get_list("set-cookie")]
    assert cookies
    assert all("; Secure" in cookie for cookie in cookies), cookies


def _listens(port: str) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", int(port)), 5).close()
        return True
    return False


def _outage(stack: Stack, part: str) -> str:
    """What the worker logs while a server is away for some seconds."""
    log = stack.state / "log" / "worker.log"
    log.touch()  # another attack may have moved it
    before = len(log.read_text())
    os.kill(stack.up.process.pid, signal.SIGSTOP)  # or it would start it again at once
    try:
        os.kill(stack.up.pid(part), signal.SIGKILL)
        time.sleep(6)
    finally:
        os.kill(stack.up.process.pid, signal.SIGCONT)
    eventually(lambda: _reach(stack, "healthz") == 200, f"{part} is back", seconds=90)
    return log.read_text()[before:]


@pytest.mark.alone
def test_l8_an_outage_of_postgresql_is_told_in_few_lines(stack: Stack) -> None:
    talk = stack.talk("two")
    talk.say("check")
    told = _outage(stack, "postgres")
    assert "OperationalError" in told
    assert told.count("Traceback") == 0, told
    assert told.count("\n") < 60, told


@pytest.mark.alone
def test_l8_an_outage_of_valkey_is_told_in_few_lines(stack: Stack) -> None:
    told = _outage(stack, "valkey")
    assert told.count("\n") < 60, told


@pytest.mark.alone
def test_l8_an_outage_of_postgresql_is_told_in_few_lines_by_every_program(stack: Stack) -> None:
    logs = [stack.state / "log" / f"{name}.log" for name in ("beat", "sequencer", "signer", "web")]
    for log in logs:
        log.touch()
    before = {log: len(log.read_text()) for log in logs}
    _outage(stack, "postgres")
    for log, size in before.items():
        told = log.read_text()[size:]
        assert told.count("Traceback") == 0, told
        assert told.count("\n") < 60, told
