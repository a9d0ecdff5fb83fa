"""Every door by the site's own lists of addresses: what it answers to a reader, and which marks may stand there."""

from __future__ import annotations

import io
import json
import re
import zipfile
from typing import Any, NamedTuple

from asgiref.sync import async_to_sync
from django.db import transaction
from django.test import Client

from agentstate.people.models import User
from sessions.core import states
from tests import cast
from tests.shell import marked_world as world_of
from tests.shell.api_operations import body_for
from tests.shell.api_world import UNKNOWN, V1, document
from tests.shell.marked_world import Marked
from tests.shell.test_access_doors import routes

DEFAULTS = {"name": "bank-transfer", "part": "levels", "path": "0/000", "digest": "0" * 64, "reference": "bank"}
DEFAULTS |= {"token": "unknown", "seq": "3", "plans:name": "look"}
QUERIES: dict[str, dict[str, Any]] = {
    "GET /sessions/{session}/proofs/range": {"first": 0, "last": 12},
    "GET /sessions/{session}/proofs/consistency": {"size": 1},
    "GET /proofs/log-consistency": {"size": 1},
    "GET /sessions/{session}/diff": {"from": 1},
    "GET /customers": {"customer": "C-1001"},
    "sessions/": {"q": "C-1001"},
    "privacy/": {"customer": "C-1001"},
}
BODIES = {
    "/sessions/{session}/rollback": {"to": 1, "dry_run": True},
    "sessions/<uuid:session_id>/export/": {},
    "privacy/<str:act>/": {"customer": "C-1001"},
}
BROKEN = "this door is broken:"
SIGNS_OUT = {"sign-out/"}  # the reader of the doors after it would be another
OPENS = ("full complete", "full entries/3", "whole export", "whole bundle")  # for `export` and `unmask` alone


class Door(NamedTuple):
    """Something that can be asked for: an operation of the API, or a page."""

    name: str
    method: str
    address: str
    body: dict[str, Any] | None = None
    query: dict[str, Any] = {}


def doors(world: Marked) -> list[Door]:
    """Every operation and every page, for reading and for writing, exports and full proofs among them."""
    found = []
    for path, methods in document()["paths"].items():
        for method in map(str.upper, methods):
            name = f"{method} {path.removeprefix(V1)}"
            body = None if method == "GET" else BODIES.get(path.removeprefix(V1), body_for(path, method))
            found.append(Door(name, method, _named(world, path, r"{(\w+)}"), body, QUERIES.get(name, {})))
    for route in sorted(routes() - SIGNS_OUT):
        address = _named(world, "/" + route, r"<\w+:(\w+)>")
        query = {"s": world.session} if route == "live/changes/" else QUERIES.get(route, {})
        found += [
            Door(route, "GET", address, None, query),
            Door(f"POST {route}", "POST", address, BODIES.get(route, {})),
        ]
    report = "/privacy/report/"
    found.append(Door("POST privacy/report/", "POST", report, {"customer": "C-1001"}))
    here = f"{V1}/sessions/{world.session}"
    found += [Door(f"full {name}", "GET", f"{here}/proofs/{name}", None, {"content": "full"})
              for name in ("complete", "entries/3")]  # fmt: skip
    found += [Door(f"proof of entry {seq}", "GET", f"{here}/proofs/entries/{seq}") for seq in range(4, 50)]
    export = f"/sessions/{world.session}/export/"
    found.append(Door("whole bundle", "POST", export, {"unmask": "on", "reason": "so", "content": "full"}))
    found.append(Door("whole export", "GET", f"{V1}/exports/{world.ids['whole export']}/archive"))
    download = f"/audit/exports/{world.ids['whole export']}/download/"
    found.append(Door("whole export by the page", "POST", download, {}))
    fork = f"{V1}/sessions/{world.ids['fork']}"
    found += [Door(f"fork {name}", "GET", f"{fork}/{name}") for name in ("entries", "state", "state/kinds", "memory")]
    found.append(Door("fork page", "GET", f"/sessions/{world.ids['fork']}/"))
    return found


def _named(world: Marked, path: str, names: str) -> str:
    """The address of a pattern, with the ids of the world; by part of the site where a name has several meanings."""
    part = next((each for each in ("audit/grants", "plans") if f"/{each}/" in path), "")
    ids = {**DEFAULTS, **world.ids}
    return re.sub(names, lambda name: str(ids.get(f"{part}:{name[1]}", ids.get(name[1], UNKNOWN))), path)


class Person:
    """A reader with a token and a signed-in browser."""

    def __init__(self, user: User | None) -> None:
        self.headers = cast.bearer(user) if user else {}
        self.client = Client(REMOTE_ADDR=cast.address(), raise_request_exception=False)
        self.browser = cast.browser(user) if user else Client(REMOTE_ADDR=cast.address())

    def read(self, door: Door) -> str:
        """All that the door says, archives unpacked. What it writes is rolled back."""
        if door.method == "GET":
            return self._asked(door)
        around = transaction.atomic()
        around._from_testcase = True  # type: ignore[attr-defined] # as Django marks its own
        with around:
            said = self._asked(door)
            transaction.set_rollback(True)
        states.forget_all()
        return said

    def _asked(self, door: Door) -> str:
        api = door.address.startswith(V1)
        client = self.client if api else self.browser
        more: dict[str, Any] = {"headers": self.headers} if api else {}
        if door.method == "GET":
            answer = client.get(door.address, door.query, **more)
        elif api:
            data = json.dumps(door.body).encode()
            answer = client.generic(door.method, door.address, data, content_type="application/json", **more)
        else:
            answer = client.post(door.address, door.body)
        if answer.status_code >= 500 and "healthz" not in door.name:
            return f"{BROKEN} {answer.status_code}"
        return unpacked(body_of(answer))


def body_of(answer: Any) -> bytes:
    """The whole body, also one that is streamed."""

    async def pieces() -> list[bytes]:
        return [piece async for piece in answer.streaming_content]

    if not answer.streaming:
        return bytes(answer.content)
    return b"".join(async_to_sync(pieces)() if answer.is_async else answer.streaming_content)


def unpacked(body: bytes) -> str:
    """A body as text; of an archive, all of its files."""
    if not body.startswith(b"PK"):
        return body.decode("utf-8", "replace")
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return "\n".join(unpacked(archive.read(name)) for name in archive.namelist())


def may_read(door: Door, role: str, kind: world_of.Kind | None, *, erased: bool) -> bool:
    """Whether the reader of this role may be shown marks of this kind there; never what is no mark."""
    if kind is None:
        return False
    if erased and kind not in world_of.OUTLIVES:
        return False
    if "shared/" in door.name and "disclosures" not in door.name and "<uuid:session_id>" not in door.name:
        return kind in ("words", "number")  # to whoever has the link: who makes one may not give more
    if "report" in door.name and kind in world_of.REPORT and role in world_of.PRIVACY:
        return True
    if door.name.startswith("whole export"):
        return role == "supervisor"  # who asked for it
    if door.name.startswith(OPENS):
        return role in ("supervisor", "colleague")
    if ("proof" in door.name and door.method == "GET") or ("export" in door.name and "<uuid:session_id>" in door.name):
        return False
    return role in world_of.WHERE[kind] and not (kind == "number" and door.name in world_of.LISTS)


def marks(world: Marked, text: str) -> set[str]:
    """The marks that stand in a text; all of it where the door is broken."""
    return {text} if text.startswith(BROKEN) else {word for word in world.fields if word in text}
