"""Marker words in the fields of a session, and every door by every role: none is shown to whom it is not for.

`make test` asks a share of the doors, always the same; `FULL=1` asks all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentstate.people.models import User
from tests.attacks.share import is_drawn
from tests.searching import FIGURE, FULL
from tests.shell import marked_world as world_of
from tests.shell.api_world import document
from tests.shell.marked_world import Door, Marked, Person

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "erase"])
SHARE, SEED = 12, ""  # in a hundred doors
# Fields of a session that stay empty: what fills them is not there, or they hold the same as another one.
NOT_FILLED = {
    "cancel", "grant", "grants", "retry", "withdrawals", "interventions", "compensation", "promote", "proposals",
    "votes", "settlement", "revoke", "signals", "migration", "pruning", "seal", "resolve", "values", "check",
}  # fmt: skip
IDS = {"idempotency_key", "holder", "to", "confirm", "topic", "pointer", "kind", "type", "_instance", "saved", "task"}


@pytest.fixture
def world(bank, settings) -> Marked:
    """The marks, in every field."""
    return world_of.marked()


def drawn(doors: list[Door], role: str) -> Iterator[Door]:
    """The doors that this run asks as this role."""
    return (door for door in doors if FULL or is_drawn(f"{role} {door.name}", SEED, SHARE))


def walk(world: Marked, people: dict[str, User | None]) -> tuple[int, list[str]]:
    """How many doors were asked, and every mark that stood where it may not."""
    asked, found, doors = 0, list[str](), world_of.doors(world)
    for role, user in people.items():
        reader = Person(user)
        for door in drawn(doors, role):
            found += world_of.wrong(world, role, door, reader.read(door))
            asked += 1
    return asked, found


def test_every_free_text_of_a_session_is_filled_or_named():
    """A new field of text in an operation on a session has to be filled above, or named in NOT_FILLED."""
    filled = {(step.path, name) for step in world_of.steps() for name in step.body}
    free = set()
    for path, methods in document()["paths"].items():
        for operation in methods.values():
            if "{session}" not in path or "requestBody" not in operation or path.rpartition("/")[2] in NOT_FILLED:
                continue
            schema = next(iter(operation["requestBody"]["content"].values()))["schema"]
            schema = (
                document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
            )
            free |= {
                (path.removeprefix("/api/v1"), name)
                for name, each in schema.get("properties", {}).items()
                if each.get("type") == "string" and not {"enum", "format"} & set(each) and name not in IDS
            }
    assert free - filled == set()


def test_no_reader_is_shown_a_marked_word_that_is_not_for_them(world, record_property):
    people = world_of.people()
    asked, found = walk(world, people)
    record_property(FIGURE, f"marked words: {len(world.fields)} fields, {len(world_of.doors(world))} doors, "
                    f"{len(people)} roles; {asked} answers read, {len(found)} marks where they may not be")  # fmt: skip
    assert found == []
