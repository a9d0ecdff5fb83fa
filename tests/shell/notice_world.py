"""The outside of notifications: a mail server and an HTTP endpoint, both real sockets, both as bad as they are told."""

from __future__ import annotations

import base64
import email
import email.policy
import socket
import threading
from contextlib import suppress
from datetime import timedelta
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

from standardwebhooks.webhooks import Webhook

from audit.server_clock import now
from sessions import tasks
from sessions.automation.notifications import delivery, dispatch
from sessions.automation.notifications import repository as keeping
from sessions.core import announcements
from sessions.models.notifications import Notice, NoticeDelivery, NoticeEndpoint, NoticeRule
from tests import cast

SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"o" * 32).decode()
SUPERVISORS = {"to": ["role:supervisor"], "by": ["in_app"]}


def rule(name: str = "requests", kinds: tuple[str, ...] = ("session.opened",), **more: Any) -> NoticeRule:
    """A rule of the team Retail; of every opened session, to the supervisors in the app, unless told otherwise."""
    team = cast.retail()
    data = {"on": {"kinds": list(kinds)}, "steps": [SUPERVISORS], **more}
    return keeping.keep(team.tenant_id, team.pk, cast.adam().actor, name, data)


def take_in() -> None:
    """What the sweeper does once commits are old enough."""
    announcements.drain_outbox(older_than=0.0, first=tasks.followed)


def tell() -> int:
    """Take in and tell."""
    take_in()
    return dispatch.tell_due()


def send() -> int:
    """Send what is due."""
    return delivery.send_due()


def later(seconds: float) -> None:
    """Let so much time pass for all that waits: every instant of ours moves into the past."""
    span = timedelta(seconds=seconds)
    for table, names in ((Notice, ("at", "next_at")), (NoticeDelivery, ("at", "due_at"))):
        for row in table.objects.all():
            moved = {name: getattr(row, name) - span for name in names if getattr(row, name) is not None}
            table.objects.filter(pk=row.pk).update(lease_until=None, **moved)
    for endpoint in NoticeEndpoint.objects.exclude(failing_since=None):
        NoticeEndpoint.objects.filter(pk=endpoint.pk).update(failing_since=endpoint.failing_since - span)


def due() -> None:
    """The pauses of all that failed are over, also by a server whose clock is behind what this process knows of it."""
    NoticeDelivery.objects.filter(state="due").update(due_at=now() - timedelta(seconds=1), lease_until=None)


def shown_to(user: Any) -> list[UUID]:
    """The sessions of which this person was told in the app."""
    rows = NoticeDelivery.objects.filter(person=user.pk, way="in_app").order_by("at")
    about = dict(Notice.objects.values_list("pk", "about"))
    return [about[row.notice] for row in rows]


class MailServer:
    """SMTP as RFC 5321 has it, as far as a client needs it. `answers` says by recipient what is answered to RCPT."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.answers: dict[str, bytes] = {}
        self.down = False
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                if self.down:
                    connection.close()
                    continue
                threading.Thread(target=self._speak, args=(connection,), daemon=True).start()

    def _speak(self, connection: socket.socket) -> None:
        with connection, suppress(OSError), connection.makefile("rwb") as stream:

            def say(line: bytes) -> None:
                stream.write(line + b"\r\n")
                stream.flush()

            say(b"220 tests")
            for line in stream:
                verb = line[:4].upper()
                if verb == b"DATA":
                    say(b"354 go on")
                    self._take(stream)
                    say(b"250 taken")
                elif verb == b"RCPT":
                    to = line.partition(b"<")[2].partition(b">")[0].decode()
                    say(self.answers.get(to, b"250 well"))
                elif verb == b"QUIT":
                    say(b"221 bye")
                    return
                else:
                    say(b"250 well")

    def _take(self, stream: Any) -> None:
        lines = []
        for line in stream:
            if line == b".\r\n":
                break
            lines.append(line[1:] if line.startswith(b".") else line)
        self.mails.append(email.message_from_bytes(b"".join(lines), policy=email.policy.default))


class Receiver:
    """An HTTP endpoint that remembers what it was sent and answers with `status`."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.status, self.headers, self.body = 200, dict[str, str](), b"ok"
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(receiver.status)
                for name, value in {**receiver.headers, "Content-Length": str(len(receiver.body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(receiver.body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def genuine(self, number: int = -1, secret: str = SECRET) -> Any:
        """The payload of one message, checked by the published library. Raises its WebhookVerificationError."""
        headers, body = self.requests[number]
        return Webhook(secret).verify(body, headers)


def since(seconds: float) -> Any:
    """An instant so long ago."""
    return now() - timedelta(seconds=seconds)
