"""A session, its customer and its team with a marker word in every field that somebody can fill, and every door.

A mark has a kind, which says who may read it: `words` of the conversation, `guidance` between colleagues, `private`
values of a schema, the `number` of a new payee, and what `privacy` staff write about a data subject.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple
from uuid import UUID

from django.test import Client
from django.urls import reverse

from agentstate.people.models import User
from agentstate.people.roles import Role
from sessions.models import ApprovalRequest
from tests import cast
from tests.shell.api_world import UNKNOWN, V1, Api
from tests.shell.bank_world import work
from tests.shell.test_access_doors import PAGES
from tests.shell.test_api_routes import NAMED, OPERATIONS

Kind = Literal["words", "guidance", "private", "number", "privacy"]
NUMBER = "7799001122"
NOTES = {"type": "object", "properties": {"pin": {"type": "string", "x-private": True}, "n": {"type": "integer"}}}
MARK = re.compile(r"Zq([a-z_]+)(words|guidance|private|privacy)qZ")


def mark(name: str, kind: Kind = "words") -> str:
    """The marker word of a field."""
    return f"Zq{name}{kind}qZ"


def people() -> dict[str, User | None]:
    """The readers, by the role that they show."""
    ines, olivia = (cast.person(name, role, cast.retail()) for name, role in OTHERS.items())
    return {
        "viewer": cast.vera(),
        "supervisor": cast.alice(),
        "colleague": cast.bob(),
        "auditor": cast.let_in(cast.anna(), "see", "read", "export"),
        "unmasking auditor": cast.let_in(cast.person("una", Role.AUDITOR, cast.retail()), "see", "read", "unmask"),
        "admin": cast.adam(),
        "privacy": cast.paul(),
        "privacy officer": olivia,
        "incident manager": ines,
        "program": cast.person("pro", Role.PROGRAM, cast.retail()),
        "caller": cast.cleo(),
        "supervisor of another team": cast.charlie(),
        "nobody": None,
    }


OTHERS = {"ines": Role.INCIDENT_MANAGER, "olivia": Role.PRIVACY_OFFICER}
READERS = {"viewer", "supervisor", "colleague", "auditor", "unmasking auditor", "program", "caller"}
UNMASKING = {"supervisor", "colleague", "unmasking auditor"}
WHERE: dict[Kind, set[str]] = {
    "words": READERS,
    "guidance": READERS - {"caller"},
    "private": UNMASKING,
    "number": READERS,
    "privacy": {"privacy", "supervisor", "colleague"},
}
LISTS = (
    "live/",
    "sessions/",
    "sessions/<uuid:session_id>/audit/",
    "stuck/",
    "alerts/",
    "notices/",
    "handover/",
    "desk/",
)
LISTS += ("GET /sessions", "GET /requests", "GET /desk", "GET /alerts", "GET /notices", "GET /stuck")


class Step(NamedTuple):
    """A call that fills fields: who, where, with what."""

    who: str
    method: str
    path: str
    body: dict[str, Any]


REJECTED = {"decision": "reject", "code": "misheard", "reason": mark("decision")}


def steps() -> Iterator[Step]:
    """The calls of the API that fill the fields of a session, in an order in which all of them are accepted."""
    here = "/sessions/{session}"
    yield Step("cleo", "POST", f"{here}/messages", {"text": f"Hello {mark('message')} {mark('mention')}"})
    yield Step("alice", "POST", f"{here}/guidance", {"text": mark("whisper", "guidance")})
    yield Step("alice", "POST", f"{here}/barging", {"text": mark("barging")})
    yield Step("alice", "POST", f"{here}/takeover", {"reason": mark("takeover")})
    yield Step("alice", "POST", f"{here}/speech", {"text": mark("speech")})
    yield Step("alice", "POST", f"{here}/handback", {"summary": mark("summary", "guidance")})
    yield Step("alice", "POST", f"{here}/takeover", {"reason": mark("takeover_again")})
    yield Step("alice", "POST", f"{here}/passing", {"to": "", "reason": mark("passing")})
    yield Step("alice", "POST", f"{here}/takeover", {"reason": mark("takeover_third")})
    yield Step("alice", "POST", f"{here}/handback", {"summary": mark("summary_again", "guidance"), "speaks": False})
    yield Step("alice", "POST", f"{here}/pause", {"reason": mark("pause")})
    yield Step("alice", "POST", f"{here}/resume", {})
    yield Step("cleo", "POST", f"{here}/person", {"why": mark("person")})
    yield Step("cleo", "POST", f"{here}/person/withdrawal", {"why": mark("settled")})
    goal = {"path": "state.goal", "value": mark("goal")}
    answer = {"method": "question", "passed": True, "answer": mark("answer", "private")}
    kept = {"path": "state.verification", "value": answer}
    yield Step("alice", "POST", f"{here}/state", {"seen": -1, "changes": [goal], "reason": mark("change")})
    yield Step("alice", "POST", f"{here}/state", {"seen": -1, "changes": [kept]})
    notes = {"type": "data", "kind": "notes", "schema": NOTES, "data": {"pin": mark("pin", "private"), "n": 1}}
    yield Step("alice", "POST", f"{here}/data", notes)
    later = {"type": "data", "kind": "notes", "data": {"pin": mark("pin_later", "private")}}
    yield Step("alice", "POST", f"{here}/data", later)
    yield Step("alice", "POST", f"{here}/data", {"type": "data", "kind": "asked", "data": {"for": mark("data")}})
    yield Step("alice", "POST", f"{here}/checkpoints", {"name": mark("checkpoint")})
    yield Step("alice", "POST", f"{here}/topics", {"topic": "loan", "change": "open", "label": mark("label")})
    yield Step("alice", "POST", f"{here}/references", {"seq": -1, "mention": mark("mention"), "entities": []})
    yield Step("alice", "POST", f"{here}/pins", {"seq": -1, "why": mark("pin_why", "guidance")})
    yield Step("alice", "POST", f"{here}/ratings", {"seq": -1, "rating": 1, "why": mark("rating_why", "guidance")})
    yield Step("alice", "POST", f"{here}/timers", {"what": "remind", "after": 86_400, "text": mark("timer")})
    goals = {"tree": {"id": "a", "title": mark("goals")}, "version": 0}
    yield Step("alice", "POST", f"{here}/goals", goals)
    disclosed = {"what": "session", "reason": mark("disclosure"), "days": 7}
    yield Step("alice", "POST", f"{here}/disclosures", disclosed)
    yield Step("alice", "POST", "/requests/{request_id}/decisions", REJECTED)
    yield Step("alice", "POST", f"{here}/fork", {"reason": mark("fork")})
    plan = {"calls": [{"_tool": "load_customer", "customer": "C-1001"}], "inputs": {"note": mark("plan_input")}}
    yield Step("alice", "POST", f"{here}/plans", plan)
    yield Step("alice", "POST", f"{here}/assignments", {"to": "", "why": [mark("assignment")]})
    yield Step("alice", "POST", f"{here}/rollback", {"to": 4, "reason": mark("rollback")})
    yield Step("petra", "POST", "/holds", {"customer": "C-1001", "reason": mark("hold", "privacy")})
    yield Step("cleo", "POST", f"{here}/end", {"reason": mark("end")})


class Marked(NamedTuple):
    """The session, what addresses name, and the marks that were taken."""

    session: UUID
    ids: dict[str, Any]
    fields: dict[str, Kind]
    token: str


def marked() -> Marked:
    """Fill the fields. Fails where one is refused."""
    cleo, alice = Api(cast.cleo()), Api(cast.alice())
    opening = {
        "customer": "C-1001",
        "agent": "bank",
        "channel": "phone",
        "topic": mark("topic"),
        "alias": mark("alias"),
    }
    answer = cleo.post("/sessions", opening)
    session = answer.json()["id"]
    fields: dict[str, Kind] = {}
    _take(fields, opening)
    for text in (f"I must send $700.00 from savings to account {NUMBER}.", "The rent.", "Yes, go ahead.", "Yes."):
        cleo.post(f"/sessions/{session}/messages", {"text": text})
        work()
    request = ApprovalRequest.objects.get(session=session)
    ids = {**NAMED, "session": session, "session_id": session, "request_id": request.pk}
    heard, refused = -1, []
    apis, token = {"cleo": cleo, "alice": alice, "petra": Api(cast.petra())}, ""
    for step in steps():
        body = dict(step.body)
        if body.get("seen") == -1:
            body["seen"] = alice.get(f"/sessions/{session}/state").json()["seq"]
        if body.get("seq") == -1:
            body["seq"] = heard
        if "rollback" in step.path:
            body["confirm"] = alice.post(step.path.format(**ids), {"to": body["to"]}).json()["digest"]
        taken = apis[step.who].ask(step.method, step.path.format(**ids), data=json.dumps(body).encode())
        if taken.status_code >= 300:
            refused.append((step.path, taken.content))
            continue
        _take(fields, step.body)
        heard = taken.json()["first"] if step.path.endswith("/messages") else heard
        if "disclosures" in step.path:
            token = taken.json()["address"].rstrip("/").rpartition("/")[2]
    assert refused == []
    customer = alice.get(f"/sessions/{session}").json()["customer"]
    ids |= {"customer": customer, "customer_id": customer, "token": token or "unknown"}
    return Marked(UUID(session), ids, {**fields, NUMBER: "number"}, token)


def _take(fields: dict[str, Kind], body: Any) -> None:
    for found in MARK.finditer(json.dumps(body)):
        fields[found[0]] = found[2]  # type: ignore[assignment]


class Door(NamedTuple):
    """Something that can be asked for: an operation of the API, or a page."""

    name: str
    method: str
    address: str
    body: dict[str, Any] | None = None
    query: dict[str, Any] = {}


EXTRA = {
    "GET /sessions/{session}/proofs/range": {"first": 0, "last": 12},
    "GET /sessions/{session}/proofs/consistency": {"size": 1},
    "GET /proofs/log-consistency": {"size": 1},
    "GET /sessions/{session}/diff": {"start": 1},
    "GET /customers": {"customer": "C-1001"},
}
READING_POSTS: dict[str, dict[str, Any]] = {
    "/sessions/{session}/replay": {},
    "/sessions/{session}/resolve": {"text": "that one"},
    "/sessions/{session}/plans/check": {"calls": [{"_tool": "load_customer", "customer": "C-1001"}]},
    "/sessions/{session}/rollback": {"to": 1, "dry_run": True},
}


def doors(world: Marked) -> list[Door]:
    """Every operation that reads, every page, exports and full proofs among them."""
    found = []
    for method, path in OPERATIONS:
        address = V1 + re.sub(r"{(\w+)}", lambda name: str(world.ids.get(name[1], "1")), path)
        if method == "GET":
            found.append(Door(f"GET {path}", "GET", address, query=EXTRA.get(f"GET {path}", {})))
        elif method == "POST" and path in READING_POSTS:
            found.append(Door(f"POST {path}", "POST", address, READING_POSTS[path]))
    ids = {**DEFAULTS, **world.ids}
    for route in PAGES:
        address = "/" + re.sub(r"<\w+:(\w+)>", lambda name: str(ids.get(name[1], UNKNOWN)), route)
        query = {"s": world.session} if route == "live/changes/" else {}
        found.append(Door(route, "GET", address, query=query))
    at = f"{V1}/sessions/{world.session}/proofs"
    found += [
        Door(f"full {name}", "GET", f"{at}/{name}", query={"content": "full"}) for name in ("complete", "entries/3")
    ]
    found.append(Door("masked bundle", "POST", reverse("session_export", args=[world.session]), {}))
    seqs = range(4, 44)
    found += [Door(f"proof of entry {seq}", "GET", f"{at}/entries/{seq}") for seq in seqs]
    return found


DEFAULTS = {"name": "bank-transfer", "part": "levels", "path": "0/000", "digest": "0" * 64, "reference": "bank"}


class Person:
    """A reader with a token and a signed-in browser."""

    def __init__(self, user: User | None) -> None:
        self.headers = cast.bearer(user) if user else {}
        self.client = Client(REMOTE_ADDR=cast.address())
        self.browser = cast.browser(user) if user else Client(REMOTE_ADDR=cast.address())

    def read(self, door: Door) -> str:
        """All that the door says, archives unpacked."""
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
        assert answer.status_code < 500 or door.name.startswith("healthz"), (door.name, answer.status_code)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return unpacked(body)


def unpacked(body: bytes) -> str:
    """A body as text; of an archive, all of its files."""
    if not body.startswith(b"PK"):
        return body.decode("utf-8", "replace")
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())


def wrong(world: Marked, role: str, door: Door, text: str) -> list[str]:
    """The marks in the text that this reader may not see there."""
    hidden = door.name == "masked bundle" or "proof" in door.name
    found = []
    for word, kind in world.fields.items():
        if word not in text:
            continue
        if door.name.startswith("shared/"):  # disclosed to whoever has the link, and who makes one may not give more
            found += [f"{role}: {door.name}: {word}"] if kind not in ("words", "number") else []
            continue
        if hidden or role not in WHERE[kind] or (kind == "number" and door.name in LISTS):
            found.append(f"{role}: {door.name}: {word}")
        elif door.name.startswith("full") and role != "supervisor" and role != "colleague":
            found.append(f"{role}: {door.name}: {word} without export and unmask")
    return found
