"""A marker word in every field that anybody can fill; every door by every role and every place where something is kept,
before and after the erasure of the customer: a word stands nowhere but where it is meant for the reader.

`make test` asks a share of the doors, drawn from their names; `FULL=1` asks all of them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.conf import settings as stack_settings
from django.contrib.auth.models import AnonymousUser

from agentstate.people.models import User
from sessions import consumers
from sessions.agents import registry
from sessions.core import partial_answers, states
from tests import cast, places
from tests.attacks.share import is_drawn
from tests.searching import FIGURE, FULL
from tests.shell import marked_doors, marked_world
from tests.shell.api_world import document
from tests.shell.marked_doors import Door, Person
from tests.shell.marked_world import CORE, IDS, NOT_FILLED, NUMBER, Marked, Outside, mark

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
SHARE = 5  # in a hundred doors of each role
DRAFT = mark("draft")
db = sync_to_async
# The walk's own reads push this off the newest page of the access log before the admin's turn.
PUSHED_OFF = {mark("export", "staff")}


@pytest.fixture
def outside(settings, monkeypatch) -> Iterator[Outside]:
    """Where mails and webhooks go."""
    made = Outside(settings, monkeypatch)
    yield made
    made.stop()


def drawn(doors: list[Door], role: str) -> list[Door]:
    """The doors that this run asks as this role."""
    return [door for door in doors if FULL or is_drawn(f"{role} {door.name}", "", SHARE)]


def walked(world: Marked, people: dict[str, Person], *, erased: bool) -> tuple[int, list[str], set[str]]:
    """How many doors were asked; every mark that stood where it may not; every mark that somebody was shown."""
    asked, wrong, shown = 0, list[str](), set[str]()
    doors = marked_doors.doors(world)
    for role, reader in people.items():
        for door in drawn(doors, role):
            found = marked_doors.marks(world, reader.read(door))
            wrong += [f"{role}: {door.name}: {word}" for word in found
                      if not marked_doors.may_read(door, role, world.fields.get(word), erased=erased)]  # fmt: skip
            shown |= found
            asked += 1
    return asked, wrong, shown


def kept_in_clear(world: Marked) -> tuple[int, list[str]]:
    """How many places were searched: columns, their statistics, keys of Valkey, files; and where a mark stood."""
    stack = stack_settings.STACK
    told = {f"column {name}": text for name, text in places.columns(stack).items()}
    told |= {f"statistics of {name}": text for name, text in places.statistics(stack).items()}
    told |= {f"Valkey {number}": text for number, text in enumerate(places.in_valkey(stack.cache_url))}
    found = [name for name, text in told.items() if places.traces(text, CORE, NUMBER)]
    read, in_files = places.traced(places.files(stack.state_dir), CORE)
    return len(told) + read, found + in_files


@pytest.fixture
def _entities(monkeypatch) -> Iterator[None]:
    """Results with marked entities, which are written to private places."""
    marked_world.deploys_entities(monkeypatch)
    yield
    monkeypatch.undo()
    for cached in (registry.ontology_for, registry._fixed_facts):
        cached.cache_clear()


@pytest.mark.usefixtures("_entities")
def test_no_marked_word_stands_where_it_is_not_meant_to(bank, outside, caplog, record_property):
    caplog.set_level(logging.INFO)
    people = {role: Person(user) for role, user in marked_world.people().items()}
    world = marked_world.marked(*marked_world.begun())
    sent = outside.sent()
    figures = [f"{len(world.fields)} fields, {len(marked_doors.doors(world))} doors, {len(people)} roles"]
    for erased in (False, True):
        if erased:
            marked_world.erase(world)
        asked, wrong, shown = walked(world, people, erased=erased)
        searched, kept = kept_in_clear(world)
        figures.append(f"{'after' if erased else 'before'} the erasure {asked} answers and {searched} places")
        assert wrong + kept == []
        if FULL and not erased:
            assert set(world.fields) - shown <= PUSHED_OFF
    sent = outside.sent()
    assert places.traces("\n".join(sent) + caplog.text, CORE, NUMBER) == []
    figures.append(f"{len(sent)} mails and webhooks")
    record_property(FIGURE, f"marked words: {'; '.join(figures)}")


def test_every_free_text_of_an_operation_is_filled_or_named():
    """A new field of text has to be filled in `marked_world.steps`, or named in NOT_FILLED with the reason."""
    filled = {(step.path, name) for step in marked_world.steps() for name in step.body} | {("/sessions", "alias")}
    components = document()["components"]["schemas"]
    free = set()
    for path, methods in document()["paths"].items():
        for operation in methods.values():
            if "requestBody" not in operation or {*path.split("/")[-2:]} & NOT_FILLED.keys():
                continue
            schema = next(iter(operation["requestBody"]["content"].values()))["schema"]
            schema = components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
            free |= {
                (path.removeprefix("/api/v1"), name)
                for name, each in schema.get("properties", {}).items()
                if each.get("type") == "string" and not {"enum", "format"} & set(each) and name not in IDS
            }
    assert free - filled == set()


async def test_no_frame_of_a_socket_holds_a_marked_word_but_what_the_agent_writes_for_readers(bank):
    """Each role watches all that it may while the fields are filled, and again after the erasure."""
    assert [str(route.pattern) for route in consumers.routes] == ["live/"], "a new socket is watched by nobody here"
    users = await db(marked_world.people)()
    session, fields = await db(marked_world.begun)()
    topics = ("wall", f"session:{session}", f"writing:{session}")
    sockets = {role: WebsocketCommunicator(URLRouter(consumers.routes), "/live/") for role in users}
    for role, user in users.items():
        sockets[role].scope["user"] = user or AnonymousUser()
        await sockets[role].connect(timeout=20)
        if user is not None:
            await db(looks_at)(user, session)
        await sockets[role].send_json_to({"watch": topics, "seen": {}})
    await frames(sockets)
    await db(hears)(session)
    drafts = await frames(sockets, DRAFT, marked_world.READERS)
    world = await db(marked_world.marked)(session, fields)
    before = await frames(sockets)
    await db(marked_world.erase)(world)
    after = await frames(sockets)
    for socket in sockets.values():
        with suppress(BaseException):
            await socket.disconnect()
    assert {role for role, said in drafts.items() if DRAFT in said} == marked_world.READERS
    assert sum(said.count("changed") for said in before.values()) > len(users)
    told = "".join(drafts.values()).replace(DRAFT, "") + "".join([*before.values(), *after.values()])
    assert places.traces(told, CORE, NUMBER) == []


def looks_at(user: User, session: UUID) -> None:
    """Opens the live view of the access log, without which a socket shows no text."""
    cast.browser(user).get(f"/sessions/{session}/")


def hears(session: UUID) -> None:
    """The agent begins to write an answer."""
    loaded = states.load(session)
    partial_answers.Writing(loaded.place, "step-1", loaded.head.size).hear(DRAFT)


async def frames(
    sockets: dict[str, WebsocketCommunicator], awaited: str = "", by: Iterable[str] = ()
) -> dict[str, str]:
    """All frames that have come to each, once none follows to any but beats, and what is awaited has come to these or
    does not come within a minute.
    """
    found, quiet, until = dict.fromkeys(sockets, ""), False, time.monotonic() + 60
    while not quiet or (time.monotonic() < until and not all(awaited in found[role] for role in by)):
        quiet = True
        for role, socket in sockets.items():
            while not await socket.receive_nothing(timeout=0.2):
                frame = str(await socket.receive_output())
                found[role] += f"{frame}\n"
                quiet = quiet and '"beat"' in frame
    return found
