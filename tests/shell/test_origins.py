"""A socket is opened by pages of our own alone, to the port and the scheme."""

from __future__ import annotations

import pytest
from django.test import override_settings

from agentstate.origins import is_same_origin


def scope(origin: str | None, host: str = "127.0.0.1:8000", scheme: str = "ws") -> dict[str, object]:
    headers = [(b"host", host.encode())] + ([(b"origin", origin.encode("latin1"))] if origin is not None else [])
    return {"type": "websocket", "path": "/live/", "scheme": scheme, "headers": headers, "query_string": b""}


@pytest.mark.parametrize(
    ("origin", "host", "scheme"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", "ws"),
        ("http://localhost", "localhost", "ws"),
        ("https://localhost", "localhost", "wss"),
        ("https://console.example", "127.0.0.1:8000", "ws"),
        ("https://a.sub.example", "127.0.0.1:8000", "ws"),
    ],
)
def test_our_own_pages_and_trusted_origins_open_a_socket(origin: str, host: str, scheme: str) -> None:
    with override_settings(CSRF_TRUSTED_ORIGINS=["https://console.example", "https://*.sub.example"]):
        assert is_same_origin(scope(origin, host, scheme))


@pytest.mark.parametrize(
    ("origin", "host", "scheme"),
    [
        ("http://127.0.0.1:9999", "127.0.0.1:8000", "ws"),
        ("http://127.0.0.1", "127.0.0.1:8000", "ws"),
        ("https://127.0.0.1:8000", "127.0.0.1:8000", "ws"),
        ("http://localhost", "localhost", "wss"),
        ("http://localhost:8000", "127.0.0.1:8000", "ws"),
        ("http://evil.example", "evil.example", "ws"),
        ("http://[", "127.0.0.1:8000", "ws"),
        ("null", "127.0.0.1:8000", "ws"),
        ("", "127.0.0.1:8000", "ws"),
        (None, "127.0.0.1:8000", "ws"),
        ("\xff", "127.0.0.1:8000", "ws"),
    ],
)
def test_no_other_page_does(origin: str | None, host: str, scheme: str) -> None:
    assert not is_same_origin(scope(origin, host, scheme))
