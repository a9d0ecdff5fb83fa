"""A page's socket, as the browser keeps it: signed in by a link, connecting again when lost, saying what it saw."""

from __future__ import annotations

import json
import re
import threading
import time

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect


def signed_in(link: str) -> str:
    """The Cookie header of whoever opens this sign-in link."""
    with httpx.Client(trust_env=False, timeout=20) as browser:
        form = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(link).text)
        assert form, "the link shows its form"
        answer = browser.post(link, data={"csrfmiddlewaretoken": form[1]}, headers={"Referer": link})
        assert answer.status_code == 302, answer.text
        return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())


class Watcher:
    """Follows one session. `seen`: the newest seq it was told; `lines`: how often it connected."""

    def __init__(self, url: str, cookie: str, session: str) -> None:
        self.url, self.cookie, self.session = url, cookie, session
        self.seen, self.lines = -1, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._over.set()
        self._thread.join(20)

    def _follow(self) -> None:
        headers = {"Cookie": self.cookie, "Origin": self.url.rstrip("/")}
        while not self._over.is_set():
            try:
                with connect(
                    f"{self.url.replace('http', 'ws')}live/", additional_headers=headers, proxy=None, open_timeout=20
                ) as line:
                    self._hear(line)
            except (OSError, WebSocketException):
                time.sleep(0.3)

    def _hear(self, line: ClientConnection) -> None:
        self.lines += 1
        seen = {self.session: self.seen} if self.seen >= 0 else {}
        line.send(json.dumps({"watch": [f"session:{self.session}"], "seen": seen}))
        while not self._over.is_set():
            try:
                frame = json.loads(line.recv(timeout=1))
            except TimeoutError:
                continue
            if frame["kind"] == "changed":
                self.seen = max(self.seen, frame["seq"])
