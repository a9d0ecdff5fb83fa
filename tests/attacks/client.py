"""People, conversations and the bank as the attacks see them: the shapes of the API stand here and nowhere else."""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx

from tests.live.watcher import signed_in

if TYPE_CHECKING:
    from tests.attacks.stack import Stack

Json = dict[str, Any]
BUSY = ("agent", "retry", "delegate")  # what a session waits for while something is going on
OVER = ("approved", "rejected", "withdrawn", "expired", "superseded", "failed", "edited", "responded", "ignored")
SECONDS = 40.0  # within which whatever is expected must have happened


def eventually(condition: Callable[[], Any], what: str | Callable[[], Any], seconds: float = SECONDS) -> Any:
    """Polls until `condition` gives something true, and returns it. Fails after `seconds`, saying `what`."""
    deadline, pause = time.monotonic() + seconds, 0.05
    while not (found := condition()):
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(pause)
        pause = min(pause * 1.3, 0.4)
    return found


class Answer:
    """What the API answered."""

    def __init__(self, answer: httpx.Response) -> None:
        self.status, self.text = answer.status_code, answer.text
        try:
            self.body: Any = answer.json()
        except ValueError:
            self.body = {}
        self.ok = answer.is_success
        self.code = "" if self.ok or not isinstance(self.body, dict) else self.body.get("code", "")

    def must(self, status: int | None = None) -> Any:
        """The body; fails unless it succeeded."""
        assert self.ok if status is None else self.status == status, f"{self.status} {self.text[:600]}"
        return self.body

    def __repr__(self) -> str:
        return f"<{self.status} {self.text[:300]}>"


class Person:
    """Somebody with a token."""

    def __init__(self, url: str, name: str, made: Json) -> None:
        self.name, self.id, self.teams = name, made["id"], made["teams"]
        self.actor = f"user:{self.id}"
        self.http = httpx.Client(
            base_url=f"{url}api/v1", timeout=60, trust_env=False, headers={"Authorization": f"Bearer {made['token']}"}
        )

    def get(self, path: str) -> Answer:
        """Reads."""
        return self._sent("GET", path, None)

    def post(self, path: str, **body: Any) -> Answer:
        """Commands."""
        return self._sent("POST", path, body)

    def put(self, path: str, **body: Any) -> Answer:
        """Puts something in the place of what is there."""
        return self._sent("PUT", path, body)

    def delete(self, path: str) -> Answer:
        """Takes something away."""
        return self._sent("DELETE", path, None)

    def _sent(self, method: str, path: str, body: Json | None) -> Answer:
        """One try, and another where a server was restarting."""
        for _ in range(60):
            try:
                answer = self.http.request(method, path, json=body)
            except httpx.TransportError:
                time.sleep(0.5)
                continue
            if answer.status_code != 503:
                return Answer(answer)
            time.sleep(0.5)
        raise AssertionError(f"{method} {path}: no answer")


class Browser:
    """Somebody in front of the console, without a script."""

    def __init__(self, url: str, link: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=60, trust_env=False, headers={"Referer": url})
        self.http.headers["Cookie"] = signed_in(link)

    def page(self, path: str) -> str:
        """The page as it was sent."""
        answer = self.http.get(path)
        assert answer.is_success, f"{path}: {answer.status_code}"
        return answer.text

    def submit(self, path: str, action: str, **changed: str) -> str:
        """Sends the form on that page whose address ends so, with these fields filled in; the page that follows."""
        forms = re.findall(r"<form[^>]*>.*?</form>", self.page(path), re.DOTALL)
        form = next(each for each in forms if re.search(rf'(form)?action="[^"]*{re.escape(action)}"', each))
        address = re.search(rf'(?:form)?action="([^"]*{re.escape(action)})"', form)
        assert address
        fields = {}
        for tag in re.findall(r"<input[^>]*>", form):
            name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
            if name and not re.search(r'type="(radio|checkbox|submit)"', tag):
                fields[html.unescape(name[1])] = html.unescape(value[1]) if value else ""
        return self.http.post(address[1], data={**fields, **changed}, follow_redirects=True).text


def words(page: str) -> str:
    """What a page says, without its marks."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


class Request:
    """One approval request, read anew at each look."""

    def __init__(self, talk: Talk, request: str) -> None:
        self.talk, self.id = talk, request

    @property
    def view(self) -> Json:
        return dict(self.talk.stack.watcher.get(f"/requests/{self.id}").must())

    @property
    def state(self) -> str:
        return str(self.view["state"])

    def seen_by(self, person: Person) -> Json:
        """The request as that person reads it."""
        return dict(person.get(f"/requests/{self.id}").must())

    def decide(self, person: Person, decision: str, **more: Any) -> Answer:
        """A decision on what the request shows now."""
        if decision in ("reject", "edit", "escalate"):
            more.setdefault("reason", "for a reason")
        return person.post(f"/requests/{self.id}/decisions", decision=decision, seen=self.view["digest"], **more)

    def approve(self, person: Person, **more: Any) -> Answer:
        """An approval with whatever the terms ask: the value typed again, the first reason code."""
        return self.decide(person, "approve", **{**self.asked(), **more})

    def asked(self) -> Json:
        """What the terms ask of who decides: retyped values and a code."""
        view = self.view
        asked: Json = {}
        if view["terms"]["retype"]:
            typed = {path: _at(view["arguments"], path) for path in view["terms"]["retype"]}
            asked["retyped"] = {path: value for path, value in typed.items() if value is not None}
        if view["terms"]["reasons"]:
            asked["code"] = view["terms"]["reasons"][0]
        return asked

    def edit(self, person: Person, **changed: Any) -> Answer:
        """An edit that changes these arguments and leaves the others."""
        return self.decide(person, "edit", arguments={**self.view["arguments"], **changed})

    def says_not_done(self) -> str:
        """What it says became of a call that was not done; empty while it says that it was approved, and no more."""
        view = self.view
        if view["state"] not in ("approved", "edited"):
            return str(view["state"])
        return f"{view['execution']}: {view['because']}" if view.get("execution") in ("withdrawn", "refused") else ""

    @property
    def ended(self) -> list[Json]:
        """The entries that say how it ended."""
        return [
            each["data"]
            for each in self.talk.entries("request.ended")
            if (each["data"] or {}).get("request") == self.id
        ]


def _at(arguments: Json, path: str) -> Any:
    """The value that the reviewer reads there; None where only a reference stands."""
    value: Any = {"arguments": arguments}
    for step in path.split("."):
        if not isinstance(value, list | dict):
            return None
        value = value[int(step)] if isinstance(value, list) else value.get(step)
    return value


def money(dollars: float) -> Json:
    """An amount of US dollars."""
    return {"minor": round(dollars * 100), "currency": "USD"}


class Talk:
    """One session: what its customer says, what people decide, what the bank has booked for it."""

    def __init__(self, stack: Stack, session: str, customer: Json) -> None:
        self.stack, self.id, self.customer = stack, session, customer
        self.savings, self.checking = customer["savings"], customer["checking"]

    # What happens in it.

    def say(self, text: str, by: Person | None = None) -> Answer:
        """The customer speaks."""
        return (by or self.stack.caller).post(f"/sessions/{self.id}/messages", text=text, idempotency_key=str(uuid4()))

    def wants(self, *calls: Json, by: Person | None = None) -> None:
        """The customer has the agent propose these calls."""
        self.say("do " + json.dumps(calls), by).must()

    def transfer(self, dollars: float, to: str | None = None, **more: Any) -> Json:
        """A call that moves money from the customer's savings, to their checking account unless it is said."""
        return {
            "_tool": "transfer", "from_account": self.savings, "to_account": to or self.checking,
            "amount": money(dollars), "new_payee": False, **more,
        }  # fmt: skip

    def to_stranger(self, dollars: float, **more: Any) -> Json:
        """A call that moves money to somebody else's account."""
        return self.transfer(dollars, to=self.customer["stranger"], new_payee=True, **more)

    def asks_for(self, dollars: float) -> Request:
        """The customer asks for a transfer to their own account, and a person is asked."""
        self.wants(self.transfer(dollars))
        return self.one_pending()

    def propose(self, person: Person, *calls: Json, **more: Any) -> Answer:
        """A plan, handed over by a person or a program."""
        return person.post(f"/sessions/{self.id}/plans", calls=list(calls), **more)

    def post(self, person: Person, what: str, **body: Any) -> Answer:
        """A command on this session."""
        return person.post(f"/sessions/{self.id}/{what}", **body)

    def lend(self, giver: Person, receiver: Person, *permissions: str) -> str:
        """The giver's right to decide, for a day; returns the delegation's id."""
        until = datetime.now(UTC) + timedelta(days=1)
        body = {"receiver": receiver.id, "team": giver.teams["retail"], "until": until.isoformat(), "reason": "holiday"}
        return str(giver.post("/delegations", permissions=list(permissions or ("decide",)), **body).must()["id"])

    def pause(self, person: Person) -> None:
        """Nothing begins until it is resumed."""
        self.post(person, "pause", reason="wait").must()

    def resume(self, person: Person) -> None:
        """It goes on."""
        self.post(person, "resume").must()

    def write(self, person: Person, **values: Any) -> Answer:
        """A person writes below `state`."""
        changes = [{"path": f"state.{name}", "value": value} for name, value in values.items()]
        return self.post(person, "state", seen=self.state()["seq"], changes=changes)

    def edit_plan(self, person: Person, *calls: Json) -> Answer:
        """Another version of the plan in force."""
        return person.put(f"/sessions/{self.id}/plan", calls=list(calls), version=self.plan()["version"])

    def greeted(self) -> Talk:
        """The same, once the customer and the agent have spoken: its chart has begun."""
        self.say("hello").must()
        self.rests()
        return self

    def signal(self, name: str) -> Answer:
        """The session's chart is told something."""
        return self.post(self.stack.watcher, "signals", name=name)

    def chart(self) -> list[str]:
        """The states of its chart that are held, as it was last moved."""
        return list(self.stack.watcher.get(f"/sessions/{self.id}/chart").must()["configuration"])

    def end(self, reason: str = "hung up") -> Answer:
        """The customer hangs up."""
        return self.post(self.stack.caller, "end", reason=reason)

    def roll_back_preview(self, person: Person, to: int) -> Json:
        """What going back would do."""
        return dict(self.post(person, "rollback", to=to).must())

    def settle(self, person: Person, how: str, **more: Any) -> Answer:
        """An intervention on the call that a person must settle."""
        calls = eventually(self.get_stuck, f"{self.id}: there is a call to settle")
        return self.post(
            person, "interventions", call=calls[-1]["call"], how=how, reason="the post office is open", **more
        )

    def get_stuck(self) -> list[Json]:
        """The calls that do not end without a person; not those that have yet to begin."""
        calls = self.stack.watcher.get(f"/sessions/{self.id}/interventions").must()["calls"]
        return [call for call in calls if call["why"] != "waits"]

    def promote(self, person: Person) -> Talk:
        """The fork takes its parent's place."""
        self.post(person, "promote", reason="the better way").must()
        return self

    def task_for(self, person: Person, *calls: Json) -> Json:
        """A reading call whose task a session of its own carries out: these calls, saved as a plan."""
        name = f"task-{uuid4().hex[:12]}"
        person.post("/plans", name=name, team="retail", calls=list(calls)).must()
        return {"_id": "ask", "_tool": "check", "amount": money(1), "_delegate": name, "_scopes": []}

    def roll_back(self, person: Person, to: int) -> Json:
        """Goes back, after the preview; returns the preview."""
        preview = self.post(person, "rollback", to=to).must()
        self.post(person, "rollback", to=to, confirm=preview["digest"], reason="back").must()
        return dict(preview)

    def fork(self, person: Person, seq: int | None = None) -> Talk:
        """A fork of it, from now or from after so many entries."""
        more = {} if seq is None else {"seq": seq}
        made = self.post(person, "fork", reason="another way", **more).must()
        return Talk(self.stack, made["id"], self.customer)

    # What is seen of it.

    @property
    def view(self) -> Json:
        return dict(self.stack.watcher.get(f"/sessions/{self.id}").must())

    @property
    def seq(self) -> int:
        """Entries so far."""
        return int(self.view["seq"])

    def entries(self, kind: str = "") -> list[Json]:
        """Its entries, all or of one kind."""
        found: list[Json] = []
        after: int | None = -1
        while after is not None:
            page = self.stack.watcher.get(f"/sessions/{self.id}/entries?limit=500&after={after}").must()
            found += page["entries"]
            after = page["next"]
        return [each for each in found if kind in ("", each["kind"])]

    @property
    def requests(self) -> list[Request]:
        """Its requests, the oldest first."""
        return [Request(self, each["data"]["request"]) for each in self.entries("approval.requested")]

    @property
    def pending(self) -> list[Request]:
        """Those that wait for a decision or are held."""
        return [each for each in self.requests if each.state not in OVER]

    def one_pending(self, of: str = "") -> Request:
        """The request that waits, once there is one (for that tool)."""

        def found() -> list[Request]:
            return [each for each in self.pending if not of or each.view["tool"] == of]

        return eventually(found, lambda: f"{self.id}: a request {of} waits: {self.view}")[-1]

    def rests(self) -> Json:
        """The session, once nothing goes on in it."""

        def view() -> Json | None:
            seen = self.view
            return seen if seen["waiting_for"] not in BUSY else None

        return dict(eventually(view, lambda: f"{self.id} rests: {self.view}"))

    def is_over(self) -> None:
        """Every delay is over, and nothing goes on."""
        self.rests()
        eventually(lambda: not any(each.view["held_until"] for each in self.pending), f"{self.id}: no delay runs")
        self.rests()

    def plan(self, person: Person | None = None) -> Json:
        """The plan as it stands."""
        return dict((person or self.stack.watcher).get(f"/sessions/{self.id}/plan").must())

    def state(self, person: Person | None = None) -> Json:
        """The scratchpad and its version."""
        return dict((person or self.stack.watcher).get(f"/sessions/{self.id}/state").must())

    def children(self) -> list[Talk]:
        """The sessions that do tasks of this one."""
        found = [each["data"] for each in self.entries("call.delegated")]
        return [Talk(self.stack, each["session"], self.customer) for each in found]

    def child(self) -> Talk:
        """Its delegate, once there is one."""
        return eventually(self.children, lambda: f"{self.id} has a delegate")[-1]

    def alerted(self, name: str) -> bool:
        """Whether an alert of this name was raised about it."""
        alerts = self.stack.watcher.get(f"/alerts?limit=500&session={self.id}").must()["alerts"]
        return any(each["name"] == name for each in alerts)

    # What was done outside.

    def moved(self) -> list[tuple[str, int]]:
        """What the bank booked for this session: account and whole dollars, the oldest first."""
        rows = self.stack.bank(
            "select to_account, amount from core.transfers where reference like %s order by at", f"{self.id}.%"
        )
        return [(account, amount // 100) for account, amount in rows]

    def has_moved(self, *dollars: int) -> None:
        """The bank has booked just these amounts, in whatever order, and the session rests."""
        eventually(
            lambda: sorted(each for _, each in self.moved()) == sorted(dollars),
            f"{self.id} moved {dollars}: {self.moved()}",
        )
        self.rests()

    def effects(self, tool: str = "") -> list[Json]:
        """What the tools of the suite have done for this session."""
        rows = self.stack.bank(
            "select tool, version, key, attempt, arguments from attacks.effects where session = %s order by at", self.id
        )
        names = ("tool", "version", "key", "attempt", "arguments")
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [each for each in found if tool in ("", each["tool"])]

    def story(self) -> str:
        """What happened in it, for a test that failed."""
        told = [f"{each['seq']} {each['kind']} {str(each['data'])[:300]}" for each in self.entries()]
        return "\n".join([str(self.view), *told])
