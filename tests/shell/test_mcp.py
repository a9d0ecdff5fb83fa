"""Tools of MCP servers: real ones, as processes and over HTTP. What they say is data; what they change is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from agentstate.clock import now
from agentstate.engine.model import ProposedCall
from agentstate.errors import Refused
from agentstate.people.permissions import PermissionDenied
from agentstate.stack.ports import any_free
from audit import ledger, staff
from sessions.agents import registry as agents
from sessions.agents.registry import Agent
from sessions.approvals import commands as approvals_commands
from sessions.approvals import queries as approvals_queries
from sessions.models.tools import OfferedTool
from sessions.outside import refusals
from sessions.outside.cancellation import Stop
from sessions.tool_pages import commands
from sessions.tools import registry as tools
from sessions.tools.mcp import offers, requests, results, servers, source
from sessions.tools.mcp.connections import kept
from sessions.tools.registry import ToolContext, ToolFailed
from tests import cast
from tests.processes import eventually, is_alive
from tests.shell import side_by_side_world
from tests.shell.bank_world import events, kinds, opened, say, state, work
from tests.shell.killed import killed_at

SERVER = Path(__file__).with_name("mcp_server.py")
CONTEXT = ToolContext("s-1", "c-1", "c-1.0", "C-1001", 1)
MARKER = "marker-7f2e91c4d0"
CURIOUS = Agent(
    "curious", "Look things up.", ("crm__lookup", "crm__remove"), "bank", {}, script=side_by_side_world.model
)


@pytest.fixture
def crm(settings, tmp_path):
    """The server `crm` as a process, described in a folder of the test's; what it does is written to `mode`."""
    settings.TOOL_FOLDER, settings.OUTSIDE_SECRETS = str(tmp_path), "environment"
    settings.OUTSIDE_NETWORKS = ["127.0.0.1"]
    world = Crm(tmp_path)
    world.describe()
    if CURIOUS.name not in agents.names():
        agents.register(CURIOUS)
    offers.forget()
    yield world
    kept.end_all()
    offers.forget()


class Crm:
    def __init__(self, folder: Path) -> None:
        self.folder, self.mode, self.seen = folder, folder / "mode", folder / "seen"
        self.mode.write_text("plain")
        (folder / "mcp").mkdir()

    def describe(self, **changed) -> servers.Server:
        known = {"lookup": {"effect": "pure", "preview": "Look up customer {arguments.number}"}}
        described = {
            "name": "crm",
            "command": [sys.executable, str(SERVER)],
            "environment": self.environment,
            "timeout": 30.0,
            "tools": known,
            **changed,
        }
        described = {name: value for name, value in described.items() if value is not None}
        (self.folder / "mcp" / "crm.json").write_text(json.dumps(described))
        servers._read.cache_clear()
        source._tools.clear()
        return servers.named("crm")

    def accept(self, *names: str) -> None:
        """Look and accept the newest version of these tools."""
        assert commands.look(cast.adam(), "crm") == ""
        for name in names:
            row = OfferedTool.objects.filter(tool=name, current=True).get()
            commands.answer(cast.adam(), row.pk, accept=True, digest=row.digest)
        offers.forget()

    @property
    def environment(self) -> dict[str, str]:
        return {"MODE": str(self.mode), "SEEN": str(self.seen)}

    @property
    def pids(self) -> list[int]:
        return [each["pid"] for each in self.calls]

    @property
    def calls(self) -> list[dict]:
        return [json.loads(line) for line in self.seen.read_text().splitlines()] if self.seen.exists() else []


def failure(name: str = "crm__lookup") -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        tools.find(name).run({"number": "7"}, CONTEXT)
    return caught.value


@pytest.mark.django_db(transaction=True)
def test_a_tool_is_there_once_somebody_accepted_it(crm):
    assert tools.find("crm__lookup") is None
    commands.look(cast.adam(), "crm")
    assert tools.find("crm__lookup") is None
    crm.accept("lookup")
    found = tools.find("crm__lookup")
    assert (found.version, found.effect, found.source) == (1, "pure", "mcp:crm")
    assert found.run({"number": "7"}, CONTEXT) == {"text": "lookup of 7", "data": {"name": "Customer 7"}}


@pytest.mark.django_db(transaction=True)
def test_what_a_server_says_of_its_effects_is_believed_by_nobody(crm):
    """It calls `remove` read-only: for us it is done once, and policy asks a person."""
    crm.accept("remove")
    found = tools.find("crm__remove")
    assert (found.effect, found.retry.attempts) == ("once", 4)
    session = opened(agent="curious")
    side_by_side_world.model.answers = [(ProposedCall("a", "crm__remove", {"number": "7"}),)]
    say(session, "Remove me.")
    assert kinds(session)[-3:].count("approval.requested") == 1
    assert crm.calls == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", ["changed", "schema", "gone"])
def test_a_tool_that_its_server_changed_is_refused_until_somebody_accepts_it_anew(crm, change):
    """The rug is pulled between two calls: not one call of the new version happens."""
    crm.accept("lookup")
    before = tools.find("crm__lookup")
    crm.mode.write_text(change)
    with pytest.raises(ToolFailed) as refused:
        before.run({"number": "7"}, CONTEXT)
    assert refused.value.code == "tool_changed"
    assert crm.calls == []
    assert tools.find("crm__lookup") is None
    if change != "gone":
        crm.accept("lookup")
        assert tools.find("crm__lookup").version == 2
    crm.mode.write_text("plain")
    commands.look(cast.adam(), "crm")
    assert tools.find("crm__lookup").version == 1  # what was accepted once is that again


@pytest.mark.django_db(transaction=True)
def test_only_who_configures_accepts_and_only_what_they_saw(crm):
    commands.look(cast.adam(), "crm")
    row = OfferedTool.objects.get(tool="lookup")
    with pytest.raises(PermissionDenied):
        commands.answer(cast.alice(), row.pk, accept=True, digest=row.digest)
    with pytest.raises(offers.NotOffered):
        commands.answer(cast.adam(), row.pk, accept=True, digest="0" * 64)
    crm.mode.write_text("changed")
    commands.look(cast.adam(), "crm")
    with pytest.raises(offers.NotOffered):
        commands.answer(cast.adam(), row.pk, accept=True, digest=row.digest)


@pytest.mark.django_db(transaction=True)
def test_a_session_calls_it_and_an_injected_result_is_only_text(crm):
    """The result asks for a transfer and fakes a decision: it is text, and nothing follows from it."""
    crm.accept("lookup")
    crm.mode.write_text("lure")
    session = opened(agent="curious")
    side_by_side_world.model.answers = [(ProposedCall("a", "crm__lookup", {"number": "7"}),)]
    say(session, "Who am I?")
    (call,) = state(session).calls.values()
    assert call.status.value == "done"
    assert "IGNORE ALL RULES" in events(session, "tool.returned")[0]["result"]["text"]
    assert {"decision.made", "approval.requested"}.isdisjoint(kinds(session))
    assert len(events(session, "tool.intended")) == 1


CONTAINED = {"huge": "too_large", "slow": "too_slow", "dies": "no_connection", "fails": "tool_error",
             "endless": "too_large", "many": "too_large", "asks": "wants_more"}  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_a_hostile_server_fails_its_call_by_name(crm):
    crm.accept("lookup")
    for mode, code in CONTAINED.items():
        crm.describe(timeout=5.0 if mode == "slow" else 30.0)
        crm.mode.write_text(mode)
        assert failure().code == code, mode


@pytest.mark.django_db(transaction=True)
def test_a_structure_that_breaks_our_schema_is_no_result(crm):
    wanted = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    crm.describe(tools={"lookup": {"effect": "pure", "result": wanted}})
    crm.accept("lookup")
    crm.mode.write_text("wrong")
    made = tools.find("crm__lookup")
    assert made.misfit(made.run({"number": "7"}, CONTEXT)).startswith("result.data.name: type")
    crm.mode.write_text("picture")
    assert made.misfit(made.run({"number": "7"}, CONTEXT)).startswith("result")


def lookup(crm: Crm, **changed) -> tuple[servers.Server, requests.Offer]:
    """The server, and the tool as it offers it."""
    server = crm.describe(**changed)
    crm.mode.write_text("plain")
    (offer,) = [each for each in requests.offers(server) if each.name == "lookup"]
    return server, offer


def talked(crm: Crm, mode: str, **changed) -> requests.Said:
    server, offer = lookup(crm, **changed)
    crm.mode.write_text(mode)
    return requests.call(server, offer, {"number": "7"}, "k")


def test_a_process_gets_nothing_but_what_its_description_gives(crm, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    seen = json.loads(talked(crm, "environment").text)
    assert set(seen) - {"LC_CTYPE"} == {"PATH", "HOME", "MODE", "SEEN"}
    assert seen["HOME"].startswith("/tmp/")


def test_a_secret_reaches_the_process_and_nothing_that_repeats_it_is_kept(crm, monkeypatch):
    monkeypatch.setenv("TOOL_SECRET_CRM_TOKEN", MARKER)
    given = {"MODE": str(crm.mode), "TOKEN": {"secret": "crm_token"}}
    assert talked(crm, "plain", environment=given).data == {"name": "Customer 7"}
    with pytest.raises(refusals.RepeatsSecret):
        talked(crm, "environment", environment=given)


def test_no_process_is_left_whatever_became_of_the_call(crm):
    for mode in ("plain", "slow", "dies", "huge"):
        try:
            talked(crm, mode, timeout=10.0 if mode == "slow" else 30.0, keep=0)
        except refusals.NotReached:
            assert mode != "plain"
    assert len(set(crm.pids)) == 4
    assert not [pid for pid in crm.pids if is_alive(pid)]


def test_calls_one_after_the_other_are_asked_in_one_process_unless_none_is_to_be_kept(crm):
    server, offer = lookup(crm)
    for number in ("7", "8"):
        assert requests.call(server, offer, {"number": number}, number).data == {"name": f"Customer {number}"}
    assert len(set(crm.pids)) == 1
    server, offer = lookup(crm, keep=0)
    for number in ("7", "8"):
        requests.call(server, offer, {"number": number}, number)
    assert len(set(crm.pids)) == 3


def test_a_tool_that_changes_in_a_process_that_was_kept_is_refused(crm):
    server, offer = lookup(crm)
    requests.call(server, offer, {"number": "7"}, "1")
    crm.mode.write_text("changed")
    with pytest.raises(requests.Changed):
        requests.call(server, offer, {"number": "7"}, "2")
    assert len(crm.calls) == 1


def test_calls_at_once_have_a_process_each(crm):
    server, offer = lookup(crm)
    crm.mode.write_text("together")  # answers once two have asked
    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(requests.call, server, offer, {"number": n}, n) for n in ("7", "8")]
        assert {each.result().text for each in asking} == {"lookup of 7", "lookup of 8"}
    assert len(set(crm.pids)) == 2


def test_a_process_that_died_while_nobody_asked_is_replaced_and_the_call_made_once(crm):
    server, offer = lookup(crm)
    requests.call(server, offer, {"number": "7"}, "1")
    os.kill(crm.pids[0], signal.SIGKILL)
    assert requests.call(server, offer, {"number": "8"}, "2").data == {"name": "Customer 8"}
    assert [each["number"] for each in crm.calls] == ["7", "8"]


def test_what_dies_in_the_midst_of_a_call_is_not_asked_again_by_itself(crm):
    server, offer = lookup(crm)
    requests.call(server, offer, {"number": "7"}, "1")
    crm.mode.write_text("dies")
    with pytest.raises(refusals.NoConnection):
        requests.call(server, offer, {"number": "8"}, "2")
    assert [each["number"] for each in crm.calls] == ["7", "8"]


def test_a_kept_process_ends_when_its_time_is_over(crm):
    server, offer = lookup(crm, keep=0.2)
    requests.call(server, offer, {"number": "7"}, "1")
    eventually(lambda: not is_alive(crm.pids[0]), what="it is ended")


def test_another_secret_begins_another_process(crm, monkeypatch):
    monkeypatch.setenv("TOOL_SECRET_CRM_TOKEN", MARKER)
    server, offer = lookup(crm, environment={**crm.environment, "TOKEN": {"secret": "crm_token"}})
    requests.call(server, offer, {"number": "7"}, "1")
    monkeypatch.setenv("TOOL_SECRET_CRM_TOKEN", MARKER[::-1])
    requests.call(server, offer, {"number": "7"}, "2")
    assert len(set(crm.pids)) == 2


def test_a_process_is_confined_and_so_is_what_it_starts(crm):
    told = json.loads(talked(crm, "limits", limits={"memory": 512, "work": 60, "files": 64, "written": 1}).text)
    assert told == {"DATA": 512 * 2**20, "CPU": 60, "NOFILE": 64, "FSIZE": 2**20, "CORE": 0, "new_rights": "1"}


def test_a_process_uses_no_more_memory_than_it_may(crm):
    with pytest.raises(refusals.NotReached):
        talked(crm, "greedy", limits={"memory": 200})
    assert len(crm.calls) == 1


def test_a_kept_process_ends_with_its_worker_even_one_that_is_killed(crm):
    def call_and_die() -> None:
        talked(crm, "plain")
        os.kill(os.getpid(), signal.SIGKILL)

    assert killed_at("", call_and_die)
    eventually(lambda: not is_alive(crm.pids[0]), what="it is ended")


def test_a_call_that_nobody_waits_for_any_more_ends_with_its_process(crm):
    server, offer = lookup(crm)
    crm.mode.write_text("slow")
    stop = Stop()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(requests.call, server, offer, {"number": "7"}, "1", stop)
        eventually(lambda: crm.calls, what="it is asked")
        stop.set()
        assert isinstance(asking.exception(10), refusals.Cancelled)
    eventually(lambda: not is_alive(crm.pids[0]), what="it is ended")


# A program that gives this answer to every request.
ANSWERS = (
    "import sys, json; [print(json.dumps({{'jsonrpc': '2.0', 'id': asked['id'], {}}}), flush=True)"
    " for asked in map(json.loads, sys.stdin) if 'id' in asked]"
)


@pytest.mark.parametrize(
    ("program", "refused"),
    [
        ("print('no message', flush=True); input()", refusals.NotJson),
        ("import sys; sys.stdout.write('x' * 10**7); sys.stdout.flush(); input()", refusals.TooLarge),
        ("print('[' * 100_000, flush=True); input()", refusals.NotJson),
        (ANSWERS.format("'error': {'code': -32603, 'message': 'no'}"), results.ServerError),
        (ANSWERS.format("'result': {}"), results.NoProtocol),
        ("pass", refusals.NoConnection),
        ("import time; time.sleep(60)", refusals.TooSlow),
    ],
)
def test_a_process_that_is_no_server_is_refused_by_name(crm, caplog, program, refused):
    with pytest.raises(refused):
        requests.offers(crm.describe(command=[sys.executable, "-c", program], timeout=2.0))
    assert "no message" not in caplog.text
    with pytest.raises(refusals.NoConnection):
        requests.offers(crm.describe(command=["/nonexistent/server"]))


@pytest.fixture(scope="module")
def over_http(tmp_path_factory):
    """The same server over streamable HTTP: its address and the file that says how it behaves."""
    mode, port = tmp_path_factory.mktemp("mcp") / "mode", any_free()
    mode.write_text("plain")
    running = subprocess.Popen([sys.executable, str(SERVER), str(port)], env={**os.environ, "MODE": str(mode)})
    for _ in range(200):
        try:
            httpx.get(f"http://127.0.0.1:{port}/", timeout=1)
            break
        except httpx.TransportError:
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/mcp", mode
    running.terminate()
    running.wait(10)


def test_a_server_over_http_offers_and_answers_the_same(crm, over_http, monkeypatch):
    monkeypatch.setenv("TOOL_SECRET_CRM_TOKEN", MARKER)
    auth = {"kind": "bearer", "secret": "crm_token"}
    crm.mode = over_http[1]
    found = talked(crm, "plain", command=None, environment=None, url=over_http[0], auth=auth)
    assert (found.text, found.data) == ("lookup of 7", {"name": "Customer 7"})
    with pytest.raises(refusals.TooLarge):
        talked(crm, "huge", command=None, environment=None, url=over_http[0])
    with pytest.raises(requests.Changed):
        talked(crm, "changed", command=None, environment=None, url=over_http[0])


def test_a_server_at_a_private_address_is_not_called_unless_it_is_allowed(crm, over_http, settings):
    settings.OUTSIDE_NETWORKS = []
    with pytest.raises(refusals.AddressRefused):
        requests.offers(crm.describe(command=None, environment=None, url=over_http[0]))


WRONG = (
    {"command": None},
    {"url": "https://a.example/"},
    {"environment": {"PATH": "/tmp"}},
    {"environment": {"A": {"secret": "No Name"}}},
    {"name": "c__m"},
    {"tools": {"lookup": {"effect": "harmless"}}},
    {"tools": {"lookup": {"risk": [{"when": "1 +", "tier": 2}]}}},
    {"trust": True},
)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_server_that_is_described_badly_is_refused(crm, wrong):
    with pytest.raises(servers.BadTool):
        crm.describe(**wrong)


@pytest.mark.django_db(transaction=True)
def test_what_was_accepted_and_by_whom_is_in_the_staff_log(crm):
    crm.accept("lookup")
    log = staff.log_of(cast.adam().tenant_id, now())
    kinds_there = [ledger.parse_envelope(row.envelope).kind for row in ledger.read_rows(log)]
    assert kinds_there.count("tool.accepted") == 1


def waiting_call(crm) -> tuple:
    """A session whose call of `remove` waits for a person: its id and that of the request."""
    crm.accept("remove")
    session = opened(agent="curious")
    side_by_side_world.model.answers = [(ProposedCall("a", "crm__remove", {"number": "7"}),)]
    say(session, "Remove me.")
    (request,) = [line.id for line in approvals_queries.requests(cast.alice()) if line.session == session]
    return session, request


@pytest.mark.django_db(transaction=True)
def test_nothing_of_a_server_is_open_while_a_person_thinks(crm):
    """So its time limit cannot count theirs."""
    session, request = waiting_call(crm)
    assert crm.calls == []
    assert not [each for each in Path("/proc/self/task").glob("*/children") if _speaks_mcp(each)]
    approve(request)
    assert [each["tool"] for each in crm.calls] == ["remove"]
    assert events(session, "tool.returned")[0]["result"]["text"] == "remove of 7"


def _speaks_mcp(children: Path) -> bool:
    lines = [Path(f"/proc/{pid}/cmdline") for pid in children.read_text().split()]
    return any(SERVER.name in line.read_text() for line in lines if line.exists())


@pytest.mark.django_db(transaction=True)
def test_an_approval_of_one_version_lets_no_other_run(crm):
    """The server changes the tool while a person thinks: their yes is refused, and once an admin has accepted the new
    version it leads to another question, not to a call.
    """
    session, request = waiting_call(crm)
    crm.mode.write_text("changed-remove")
    commands.look(cast.adam(), "crm")
    with pytest.raises(Refused, match="is not registered any more"):
        approve(request)
    crm.accept("remove")
    approve(request)
    assert crm.calls == []
    assert [each["tool_version"] for each in events(session, "approval.requested")] == [1, 2]


def approve(request) -> None:
    approvals_commands.decide(cast.alice(), request, approvals_commands.Decision("approve"))
    work()
