"""A session, its customer and its team with a marker word in every field that somebody can fill; who may read each.

A mark has a kind: `words` of the conversation, `guidance` between colleagues, `private` values of a schema, the
`number` of a new payee, what `privacy` staff write about a data subject, `staff` about their own
work, and a `plan` of the team.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Literal, NamedTuple
from unittest import mock
from uuid import UUID

import msgspec

from agentstate.clock import now
from agentstate.engine.migrating import catalogue
from agentstate.engine.schemas import declare
from agentstate.engine.understanding.ontology import Source
from agentstate.people.models import User
from agentstate.people.roles import Role
from audit import keys
from sessions import tasks
from sessions.agents import registry
from sessions.automation.notifications import definition, endpoints, preferences
from sessions.core import states
from sessions.exports import builder
from sessions.library import state_schemas
from sessions.models.sessions import ApprovalRequest
from sessions.tools.registry import Arguments, ToolContext, tool
from tests import cast
from tests.shell import notice_world as notices
from tests.shell.api_operations import NAMED
from tests.shell.api_world import Api
from tests.shell.bank_world import CUSTOMER, work
from tests.shell.schema_world import deploy

Kind = Literal["words", "guidance", "private", "number", "privacy", "staff", "plan"]
NUMBER = "7799001122"
NOTES = {"type": "object", "properties": {"pin": {"type": "string", "x-private": True}, "n": {"type": "integer"}}}
CORE = "Zqmarkedword"  # in every mark
MARK = re.compile(CORE + r"([a-z_]+?)_(words|guidance|private|privacy|staff|plan)qZ")


def mark(name: str, kind: Kind = "words") -> str:
    """The marker word of a field."""
    return f"{CORE}{name}_{kind}qZ"


# --- Who may read what --------------------------------------------------------------------------------------------

READERS = {"viewer", "supervisor", "colleague", "auditor", "unmasking auditor", "program", "caller"}
COLLEAGUES = (READERS - {"caller"}) | {"admin", "incident manager"}
UNMASKING = {"supervisor", "colleague", "unmasking auditor"}
PRIVACY = {"privacy", "other privacy", "privacy officer"}
WHERE: dict[Kind, set[str]] = {
    "words": READERS,
    "guidance": READERS - {"caller"},
    "private": UNMASKING,
    "number": READERS,
    "privacy": PRIVACY | {"supervisor", "colleague"},
    "staff": COLLEAGUES | PRIVACY,
    "plan": READERS,
}
OUTLIVES: set[Kind] = {"staff", "plan"}  # an erasure, as docs/erasure.md says under "What erasure cannot reach"
REPORT: set[Kind] = {"words", "private", "number", "privacy"}  # what the subject is told by privacy staff
LISTS = ("live/", "sessions/", "sessions/<uuid:session_id>/audit/", "stuck/", "alerts/", "notices/", "handover/")
LISTS += ("desk/", "GET /sessions", "GET /requests", "GET /desk", "GET /alerts", "GET /notices", "GET /stuck")


def people() -> dict[str, User | None]:
    """The readers, by the role that they show."""
    found = {
        "viewer": cast.vera(),
        "supervisor": cast.alice(),
        "colleague": cast.bob(),
        "auditor": cast.let_in(cast.anna(), "see", "read", "export"),
        "unmasking auditor": cast.let_in(cast.person("una", Role.AUDITOR, cast.retail()), "see", "read", "unmask"),
        "auditor without access": cast.person("ann", Role.AUDITOR, cast.retail()),
        "admin": cast.adam(),
        "privacy": cast.paul(),
        "other privacy": cast.petra(),
        "privacy officer": cast.person("olivia", Role.PRIVACY_OFFICER, cast.retail()),
        "incident manager": cast.person("ines", Role.INCIDENT_MANAGER, cast.retail()),
        "program": cast.person("pro", Role.PROGRAM, cast.retail()),
        "caller": cast.cleo(),
        "supervisor of another team": cast.charlie(),
        "viewer of another team": cast.person("viola", Role.VIEWER, cast.cards()),
    }
    shown = {role for user in found.values() for role in user.memberships.values_list("role", flat=True)}
    assert shown == set(Role), "a role that nobody shows"
    return {**found, "nobody": None}


# --- The fields ---------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """A call that fills fields: who, where, with what; and the name under which its answer's id is kept."""

    who: str
    method: str
    path: str
    body: dict[str, Any]
    keep: str = ""


REJECTED = {"decision": "reject", "code": "misheard", "reason": mark("decision")}
LOOK = {"_tool": "load_customer", "customer": CUSTOMER}
SAVED = {"name": "look", "calls": [{**LOOK, "customer": "†input.c"}], "about": mark("about", "plan")}
SAVED |= {"inputs": {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]}}


HERE = "/sessions/{session}"


def steps() -> Iterator[Step]:
    """The calls of the API that fill the fields, in an order in which all of them are accepted."""
    yield from talk()
    yield from takeovers()
    yield from pauses()
    yield from values()
    yield from notes()
    yield from decisions()
    yield from profile_and_plan()
    yield from reasons_of_staff()
    yield from endings()


def talk() -> Iterator[Step]:
    """Messages, and guidance of colleagues."""
    yield Step("cleo", "POST", f"{HERE}/messages", {"text": f"Hello {mark('message')} {mark('mention')}"})
    yield Step("alice", "POST", f"{HERE}/guidance", {"text": mark("whisper", "guidance")})
    yield Step("alice", "POST", f"{HERE}/barging", {"text": mark("barging")})


def takeovers() -> Iterator[Step]:
    """Takeovers, hand-backs and a handover of the desk."""
    yield Step("alice", "POST", f"{HERE}/takeover", {"reason": mark("takeover")})
    yield Step("alice", "POST", f"{HERE}/speech", {"text": mark("speech")})
    yield Step("alice", "POST", f"{HERE}/handback", {"summary": mark("summary", "guidance")})
    yield Step("alice", "POST", f"{HERE}/takeover", {"reason": mark("takeover_again")})
    yield Step("alice", "POST", f"{HERE}/passing", {"to": "", "reason": mark("passing")})
    yield Step("alice", "POST", f"{HERE}/takeover", {"reason": mark("takeover_third")})
    yield Step("alice", "POST", "/desk/handover", {"to": "bob", "reason": mark("handover")})
    yield Step("bob", "POST", f"{HERE}/handback", {"summary": mark("summary_again", "guidance"), "speaks": False})


def pauses() -> Iterator[Step]:
    """A pause, and a request for a person that is withdrawn."""
    yield Step("alice", "POST", f"{HERE}/pause", {"reason": mark("pause")})
    yield Step("alice", "POST", f"{HERE}/resume", {})
    yield Step("cleo", "POST", f"{HERE}/person", {"why": mark("person")})
    yield Step("cleo", "POST", f"{HERE}/person/withdrawal", {"why": mark("settled")})


def values() -> Iterator[Step]:
    """Values of the state and data messages."""
    goal = {"path": "state.goal", "value": mark("goal")}
    answer = {"method": "question", "passed": True, "answer": mark("answer", "private")}
    kept = {"path": "state.verification", "value": answer}
    yield Step("alice", "POST", f"{HERE}/state", {"seen": -1, "changes": [goal], "reason": mark("change")})
    yield Step("alice", "POST", f"{HERE}/state", {"seen": -1, "changes": [kept]})
    notes = {"type": "data", "kind": "notes", "schema": NOTES, "data": {"pin": mark("pin", "private"), "n": 1}}
    yield Step("alice", "POST", f"{HERE}/data", notes)
    later = {"type": "data", "kind": "notes", "data": {"pin": mark("pin_later", "private")}}
    yield Step("alice", "POST", f"{HERE}/data", later)
    yield Step("alice", "POST", f"{HERE}/data", {"type": "data", "kind": "asked", "data": {"for": mark("data")}})


def notes() -> Iterator[Step]:
    """What colleagues note about the session and its entries."""
    yield Step("alice", "POST", f"{HERE}/checkpoints", {"name": mark("checkpoint")})
    yield Step("alice", "POST", f"{HERE}/topics", {"topic": "loan", "change": "open", "label": mark("label")})
    yield Step("alice", "POST", f"{HERE}/references", {"seq": -1, "mention": mark("mention"), "entities": []})
    yield Step("alice", "POST", f"{HERE}/pins", {"seq": -1, "why": mark("pin_why", "guidance")})
    yield Step("alice", "POST", f"{HERE}/ratings", {"seq": -1, "rating": 1, "why": mark("rating_why", "guidance")})
    yield Step("alice", "POST", f"{HERE}/timers", {"what": "remind", "after": 86_400, "text": mark("timer")})
    yield Step("alice", "POST", f"{HERE}/goals", {"tree": {"id": "a", "title": mark("goals")}, "version": 0})
    disclosed = {"what": "session", "reason": mark("disclosure"), "days": 7}
    yield Step("alice", "POST", f"{HERE}/disclosures", disclosed, "disclosure")


def decisions() -> Iterator[Step]:
    """A decision, a fork, a plan, an assignment and a rollback."""
    yield Step("alice", "POST", "/requests/{request_id}/decisions", REJECTED)
    yield Step("alice", "POST", f"{HERE}/fork", {"reason": mark("fork")}, "fork")
    yield Step("alice", "POST", f"{HERE}/plans", {"calls": [LOOK], "inputs": {"note": mark("plan_input")}})
    yield Step("alice", "POST", f"{HERE}/assignments", {"to": "bob", "why": [mark("assignment")]})
    yield Step("alice", "POST", f"{HERE}/rollback", {"to": 4, "reason": mark("rollback")})


def profile_and_plan() -> Iterator[Step]:
    """The customer's profile, and a saved plan of the team."""
    profile = "/customers/{customer}/profile"
    agreed = {"purpose": "personalisation", "agreed": True, "note": mark("consent")}
    yield Step("alice", "POST", f"{profile}/consent", agreed)
    yield Step("alice", "POST", f"{profile}/settings", {"preference": "answers", "value": "brief"})
    yield Step("alice", "POST", "/plans", SAVED)


def reasons_of_staff() -> Iterator[Step]:
    """A delegation, an audit access, a stop and a legal hold, each with a reason."""
    until = (now() + timedelta(days=1)).isoformat()
    lent = {"receiver": "{bob}", "team": "{retail}", "until": until, "permissions": ["decide"]}
    yield Step("alice", "POST", "/delegations", {**lent, "reason": mark("delegation", "staff")}, "delegation")
    opens = {"user": "{anna}", "team": "{retail}", "until": until, "kinds": ["see"], "reason": mark("grant", "staff")}
    yield Step("adam", "POST", "/audit/grants", opens, "audit/grants:grant")
    stop = {"scope": "tool", "value": "load_customer", "reason": mark("stop", "staff")}
    yield Step("alice", "POST", "/stops", stop, "stop")
    yield Step("alice", "POST", "/stops/{stop}/lift", {"why": mark("lift", "staff")})
    yield Step("petra", "POST", "/holds", {"customer": CUSTOMER, "reason": mark("hold", "privacy")}, "hold")


def endings() -> Iterator[Step]:
    """The end of the session, exports and an erasure."""
    yield Step("cleo", "POST", f"{HERE}/end", {"reason": mark("end")})
    yield Step("alice", "POST", "/exports", {"agent": "bank"}, "export")
    whole = {"agent": "bank", "unmask": True, "reason": mark("export", "staff")}
    yield Step("alice", "POST", "/exports", whole, "whole export")
    erased = {"customer": CUSTOMER, "basis": "objection", "reason": mark("erasure", "privacy")}
    yield Step("petra", "POST", "/erasures", erased, "erasure")


# --- Entities of private results ------------------------------------------------------------------------------------

WHICH = {"type": "object", "properties": {"which": {"type": "string"}}, "required": ["which"]}
FILES = {"type": "object", "properties": {"found": {"x-private": True}, "pin": {"type": "string", "x-private": True}}}
STRICT = {"type": "object", "properties": {"found": {"type": "integer", "x-private": True}}}
RESULTS = {"state": "state.found", "data": "files.found", "refused": "strict.found", "received": "files.open"}
ACCOUNT = Source(type="account", id="{id}", label="{label}", attributes={"last4": "digits"})


@tool(
    name="marked_account",
    version=1,
    description="Gives an account with marks in it.",
    effect="pure",
    arguments=WHICH,
    entities=(ACCOUNT,),
    receives=("files.pin",),
)
def marked_account(arguments: Arguments, context: ToolContext) -> dict[str, Any]:
    """An account; its label is what the tool received, where that is asked for."""
    which = arguments["which"]
    held = context.view.get("files", {}).get("pin", "")
    label = held if which == "received" else mark(f"entity_label_{which}", "private")
    digits = "" if which == "received" else mark(f"entity_value_{which}", "private")
    return {"id": f"{which} {label}", "label": label, "digits": digits}


def deploys_entities(monkeypatch: Any) -> None:
    """The bank's agent has a tool that gives marked accounts, and its state a private place for one of them."""
    bank = state_schemas.named("bank")
    schema = msgspec.json.decode(bank.current.source)
    schema["properties"]["found"] = {"type": "object", "x-private": True, "x-writers": ["tool:marked_account"]}
    changed = declare("bank", bank.current.version, schema)
    others = (each for each in bank.versions.values() if each.version != changed.version)
    deploy(monkeypatch, catalogue((*others, changed), tuple(bank.migrations.values())))
    agent = registry.find("bank")
    private = (*agent.memory.private, "state.found")
    more = msgspec.structs.replace(
        agent,
        chart="",
        tools=(*agent.tools, "marked_account"),
        memory=msgspec.structs.replace(agent.memory, private=private),
    )
    monkeypatch.setitem(registry._registry, "bank", more)
    for cached in (registry.ontology_for, registry._fixed_facts):
        cached.cache_clear()


def entities(session: UUID) -> dict[str, Kind]:
    """Results with entities are written to private places of the state and of data messages, one of which is private no
    longer; one result fits nowhere, and one repeats a private value. The customer speaks of them. Returns the marks.
    """
    alice, cleo = Api(cast.alice()), Api(cast.cleo())
    here, fields = f"/sessions/{session}", dict[str, Kind]()
    pin = {"pin": mark("received", "private")}
    for kind, schema, data in (("files", FILES, pin), ("files", {"type": "object"}, {}), ("strict", STRICT, {})):
        body = {"type": "data", "kind": kind, "schema": schema, "data": data}
        assert alice.post(f"{here}/data", body).status_code == 201
        _take(fields, body)
    calls = [{"_tool": "marked_account", "_id": name, "which": name, "_outputPath": path}
             for name, path in RESULTS.items()]  # fmt: skip
    answer = alice.post(f"{here}/plans", {"calls": calls})
    assert answer.status_code == 201, answer.json()
    work()
    assert cleo.post(f"{here}/messages", {"text": "What about my account?"}).status_code == 201
    work()
    for name in ("state", "data", "refused"):
        _take(fields, [mark(f"entity_label_{name}", "private"), mark(f"entity_value_{name}", "private")])
    return fields


# What stays empty, and why. Names of the house's own settings are in clear by design (`tests/shell/plain_columns.py`).
SETTING, READS, SAME = "a setting of the house", "it stores nothing", "held as another field is that is filled"
NOT_FILLED = {
    "alert-rules": SETTING, "notice-rules": SETTING, "notice-endpoints": SETTING, "triggers": SETTING,
    "wanted": SETTING, "skills": SETTING, "notice-quiet": SETTING, "shipped": SETTING, "wishes": SETTING,
    "retention": SETTING, "dry-run": READS, "check": READS, "simulate": READS, "report": READS,
    "values": READS,
    "close": "the bank raises no alert", "undo": "decided at once", "answers": SAME, "answer": SETTING,
    "corrections": SAME, "feedback": SAME, "refusals": SAME, "forget": SAME, "settings": "one of a few words",
    "cancel": SAME, "grant": SAME, "grants": SAME, "retry": SAME, "revoke": SAME, "withdrawals": SAME, "promote": SAME,
    "interventions": SAME, "compensation": SAME, "votes": SAME, "settlement": SAME, "proposals": SAME, "signals": SAME,
    "migration": SAME, "pruning": SAME, "seal": SAME, "claim": SAME,
}  # fmt: skip
IDS = {
    "idempotency_key",
    "holder",
    "to",
    "of",
    "confirm",
    "topic",
    "pointer",
    "kind",
    "type",
    "_instance",
    "saved",
    "task",
}
IDS |= {"team", "value", "purpose", "preference", "agent", "customer", "name", "seen", "code", "response"}


Ask = Callable[[str, str, str, Any], tuple[bool, Any]]


class Marked(NamedTuple):
    """The session, what addresses name and the marks that were taken."""

    session: UUID
    ids: dict[str, Any]
    fields: dict[str, Kind]


def begun() -> tuple[UUID, dict[str, Kind]]:
    """The session, with a transfer that waits for a decision."""
    cleo = Api(cast.cleo())
    opening = {
        "customer": CUSTOMER,
        "agent": "bank",
        "channel": "phone",
        "topic": mark("topic"),
        "alias": mark("alias"),
    }
    session = cleo.post("/sessions", opening).json()["id"]
    fields = entities(UUID(session)) if "marked_account" in registry.find("bank").tools else {}
    for text in (f"I must send $700.00 from savings to account {NUMBER}.", "The rent.", "Yes, go ahead.", "Yes."):
        cleo.post(f"/sessions/{session}/messages", {"text": text})
        work()
    fields[NUMBER] = "number"
    _take(fields, opening)
    return UUID(session), fields


def marked(session: UUID, fields: dict[str, Kind]) -> Marked:
    """Fill all other fields. Fails where one is refused."""
    apis = {user.username: Api(user) for user in (cast.cleo(), cast.alice(), cast.petra(), cast.adam(), cast.bob())}
    request = ApprovalRequest.objects.get(session=session)
    customer = apis["alice"].get(f"/sessions/{session}").json()["customer"]
    ids = {**NAMED, "session": session, "session_id": session, "request_id": request.pk}
    ids |= {"customer": customer, "customer_id": customer}
    known = {"{retail}": str(cast.retail().pk), "{bob}": str(cast.bob().pk), "{anna}": str(cast.anna().pk)}

    def ask(who: str, method: str, path: str, body: Any) -> tuple[bool, Any]:
        answer = apis[who].ask(method, path, data=json.dumps(body).encode() if body is not None else b"")
        return answer.status_code < 300, answer.json()

    filled(ids, fields, known, ask)
    while builder.build_due():
        pass
    return Marked(session, ids, fields)


def filled(ids: dict[str, Any], fields: dict[str, Kind], known: dict[str, str], ask: Ask) -> None:
    """Take all steps, and add what came out to `ids` and `fields`. `known` stands for what steps name in braces; `ask`
    sends a call in somebody's name, and says whether it was accepted and what was answered.
    """
    heard, refused = -1, list[Any]()
    for step in steps():
        path, body = step.path.format(**ids), json.loads(_known(json.dumps(step.body), known))
        if body.get("seen") == -1:
            body["seen"] = ask("alice", "GET", f"/sessions/{ids['session']}/state", None)[1]["seq"]
        if body.get("seq") == -1:
            body["seq"] = heard
        if "rollback" in path:
            body["confirm"] = ask("alice", "POST", path, {"to": body["to"]})[1]["digest"]
        accepted, said = ask(step.who, step.method, path, body)
        if not accepted:
            refused.append((path, said))
            continue
        _take(fields, step.body)
        heard = said["first"] if path.endswith("/messages") else heard
        if step.keep == "disclosure":
            ids["token"], said = said["address"].rstrip("/").rpartition("/")[2], said["disclosure"]
        if step.keep:
            ids[step.keep] = ids[f"{step.keep}_id"] = said["stops"][0]["id"] if step.keep == "stop" else said["id"]
    assert refused == []


def _known(text: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(name, value)
    return text


def _take(fields: dict[str, Kind], body: Any) -> None:
    for found in MARK.finditer(json.dumps(body)):
        fields[found[0]] = found[2]  # type: ignore[assignment]


def erase(world: Marked) -> None:
    """The hold ends, the erasure is approved and carried out, and swept once more when no process knows the key."""
    petra, paul = Api(cast.petra()), Api(cast.paul())
    assert petra.ask("DELETE", f"/holds/{world.ids['hold']}").status_code < 300
    assert paul.post(f"/erasures/{world.ids['erasure']}", {"state": "approved"}).status_code < 300
    tasks.erase()
    with mock.patch.object(keys, "CACHE_SECONDS", 0.0):
        tasks.erase()
    keys.forget_all()
    states.forget_all()
    done = paul.get(f"/erasures/{world.ids['erasure']}").json()["erasure"]
    assert done["done_at"], done


class Outside:
    """A mail server, and an endpoint of the team, which are told of all that happens."""

    def __init__(self, settings: Any, monkeypatch: Any) -> None:
        self.mails, self.hooks = notices.MailServer(), notices.Receiver()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", self.mails.port
        settings.OUTSIDE_NETWORKS, settings.OUTSIDE_SECRETS = ["127.0.0.1"], "environment"
        settings.SITE_URL = "https://desk.example.com/"
        monkeypatch.setenv("TOOL_SECRET_DESK", notices.SECRET)
        team = cast.retail()
        endpoints.keep(team.tenant_id, team.pk, cast.adam().actor, "desk", self.hooks.url, "desk", seen=0)
        for user in (cast.alice(), cast.bob(), cast.vera()):
            preferences.keep(user, email=f"{user.username}@example.com", off=[])
        to = [f"user:{name}" for name in ("alice", "bob", "vera")]
        steps = [{"to": to, "by": ["in_app", "email", "webhook:desk"]}]
        kinds = sorted(definition.HEARD)
        for at in range(0, len(kinds), definition.MAX_NAMES):
            some = tuple(kinds[at : at + definition.MAX_NAMES])
            notices.rule(f"all-{at}", some, severity="critical", steps=steps)

    def sent(self) -> list[str]:
        """What mails and webhooks say by now."""
        for _ in range(4):
            notices.tell()
            notices.send()
        mails = [mail.as_string() + "".join(part.get_content() for part in mail.walk() if not part.is_multipart())
                 for mail in self.mails.mails]  # fmt: skip
        return mails + [f"{headers} {body!r}" for headers, body in self.hooks.requests]

    def stop(self) -> None:
        """End both."""
        self.mails.stop()
        self.hooks.stop()
