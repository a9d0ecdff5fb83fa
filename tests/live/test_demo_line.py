"""The callers' line to the product: it outlives restarts, and repeats no act."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from demo.callers import api as line
from demo.callers.api import Api, Refused


class Product(ThreadingHTTPServer):
    """Answers with the statuses it was given, one after another, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self, *statuses: int, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Door)
        self.statuses = list(statuses)
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Door(BaseHTTPRequestHandler):
    server: Product

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        self.send_response(self.server.statuses.pop(0))
        self.end_headers()
        self.wfile.write(b'{"id": "7"}')

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "LONGEST_PAUSE", 0.5)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("secret\n")
    return path


@contextmanager
def serving(product: Product) -> Iterator[Product]:
    threading.Thread(target=product.serve_forever, daemon=True).start()
    try:
        yield product
    finally:
        product.shutdown()
        product.server_close()


async def test_a_product_that_is_busy_or_restarting_is_asked_again_under_the_same_key(token: Path) -> None:
    with serving(Product(503, 429, 502, 201)) as product:
        api = Api(product.url, token)
        assert await api.open(customer="C-1042", agent="bank", channel="phone") == {"id": "7"}
        await api.close()
    assert [path for path, _, _ in product.asked] == ["/api/v1/sessions"] * 4
    assert len({body["idempotency_key"] for _, _, body in product.asked}) == 1
    assert product.asked[0][1] == "Bearer secret"


async def test_a_product_that_is_not_there_yet_is_waited_for(token: Path) -> None:
    unborn = Product(201)
    port = unborn.server_port
    unborn.server_close()
    api = Api(unborn.url, token)
    threading.Timer(0.6, lambda: Product(201, port=port).handle_request()).start()
    await api.say("7", "hello")
    await api.close()


async def test_what_is_refused_for_good_is_not_asked_again(token: Path) -> None:
    with serving(Product(404)) as product:
        api = Api(product.url, token)
        with pytest.raises(Refused, match="404"):
            await api.say("7", "hello")
        await api.close()
    assert len(product.asked) == 1


async def test_a_token_that_was_replaced_is_read_anew(token: Path) -> None:
    with serving(Product(401, 200)) as product:
        api = Api(product.url, token)
        threading.Timer(0.1, lambda: token.write_text("fresh")).start()
        await api.end("7", "bye")
        await api.close()
    assert [header for _, header, _ in product.asked] == ["Bearer secret", "Bearer fresh"]
