"""The policy of scripts that run as workers: a worker has that of its own file, not that of its page."""

from __future__ import annotations

from wsgiref.headers import Headers

POLICY = "default-src 'none'; script-src 'self'"


def add_policy(headers: Headers, _path: str, url: str) -> None:
    """Let a worker load our modules and do nothing else; WhiteNoise calls this for every static file."""
    if url.endswith("/worker.js"):
        headers["Content-Security-Policy"] = POLICY
