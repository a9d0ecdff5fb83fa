"""The few requests a caller makes of the product, each tried until it is answered.

A restart of the product is nothing to a caller: transport errors, 429 and 5xx are tried again with growing pauses,
under the same idempotency key. What the product refuses for good is `Refused`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from random import random
from typing import Any
from uuid import uuid4

import httpx

LONGEST_PAUSE = 8.0


PAGE = 100  # sessions of one answer


class Refused(Exception):
    """The product said no to this request, and will again."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:200]}")
        self.status = status


class Api:
    """A client of the public API with the callers' token. The token is read anew when it is not accepted."""

    def __init__(self, url: str, token_file: Path) -> None:
        self._token_file = token_file
        self._client = httpx.AsyncClient(base_url=f"{url.rstrip('/')}/api/v1", timeout=15.0, trust_env=False)

    async def close(self) -> None:
        """Hang the line up for good."""
        await self._client.aclose()

    async def open(self, **wanted: str) -> dict[str, Any]:
        """Open a session; its JSON."""
        return await self._ask("POST", "/sessions", {**wanted, "idempotency_key": str(uuid4())})

    async def say(self, session: str, text: str) -> None:
        """Post a message of the customer."""
        await self._ask("POST", f"/sessions/{session}/messages", {"text": text, "idempotency_key": str(uuid4())})

    async def end(self, session: str, reason: str) -> None:
        """Hang up."""
        await self._ask("POST", f"/sessions/{session}/end", {"reason": reason, "idempotency_key": str(uuid4())})

    async def session(self, session: str) -> dict[str, Any]:
        """The session's JSON: status, waiting_for, seq."""
        return await self._ask("GET", f"/sessions/{session}")

    async def sessions(self) -> list[dict[str, Any]]:
        """Every session of the teams, the newest first."""
        found: list[dict[str, Any]] = []
        after = ""
        while True:
            page = await self._ask("GET", f"/sessions?limit={PAGE}{after}")
            found += page["sessions"]
            if page["next"] is None:
                return found
            after = f"&after={page['next']}"

    async def entries(self, session: str, after: int) -> list[dict[str, Any]]:
        """Entries with seq above `after`."""
        page = await self._ask("GET", f"/sessions/{session}/entries?after={after}")
        return list(page["entries"])

    async def _ask(self, method: str, path: str, body: dict[str, str] | None = None) -> dict[str, Any]:
        pause = 0.5
        while True:
            problem = ""
            try:
                answer = await self._client.request(method, path, json=body, headers=self._headers())
                if answer.is_success:
                    return dict(answer.json())
                problem = f"{answer.status_code} " + " ".join(answer.text.split())[:120]
                if answer.status_code not in (401, 429) and answer.status_code < 500:
                    raise Refused(answer.status_code, answer.text)
            except (httpx.TransportError, OSError, ValueError) as error:
                problem = f"{type(error).__name__}: {error}"
            if pause >= LONGEST_PAUSE:
                print(f"callers: {method} {path}: {problem}; trying again", file=sys.stderr, flush=True)
            await asyncio.sleep(pause * (0.5 + random()))
            pause = min(LONGEST_PAUSE, pause * 2)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token_file.read_text().strip()}"}
