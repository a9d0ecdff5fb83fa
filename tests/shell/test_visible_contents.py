"""What is hidden of each sort of content and of each part of a state, without a database: by kind of reader."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from agentstate.engine import events as ev
from agentstate.engine.conversation import Item, ItemCall
from agentstate.engine.events.scratchpad import Proposal
from agentstate.engine.memory.pins import Pin
from agentstate.engine.memory.summaries import Summary
from agentstate.engine.merge.kept import Conflict
from agentstate.engine.scratchpad.messages import Held
from agentstate.engine.state.rounds import Instance
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.supervision import BACK, GUIDANCE
from agentstate.engine.understanding.entities import Entity
from agentstate.engine.understanding.held import Mention, Reference, Talk
from agentstate.people.permissions import PermissionDenied
from sessions.agents import registry
from sessions.core import slots, visibility
from sessions.core.account_numbers import shortened_in
from sessions.core.visibility import Visibility, of_outsider, of_subject

WHISPER, SUMMARY, SECRET, PIN = "Zqwhisper", "Zqsummary", "Zqanswer", "Zqpin"
NOTES = {"type": "object", "properties": {"pin": {"type": "string", "x-private": True}, "n": {"type": "integer"}}}
SESSION = uuid4()
OF_STATE: Any = slots.Places.__dict__["_of_state"]  # what the fixture replaces


@pytest.fixture(autouse=True)
def bank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Private are the bank's `state.verification` and the `pin` of notes. The session has no conflict any more."""
    catalogue = registry.schemas_for(registry.find("bank").schema)
    assert catalogue is not None
    monkeypatch.setattr(slots.Places, "_of_state", tuple(catalogue.versions.values()))
    monkeypatch.setattr(slots.states, "load", lambda session: SimpleNamespace(state=with_notes()))


def with_notes(of: str = "notes") -> SessionState:
    """A state to which a data message of this kind has brought a schema with private fields."""
    plans = msgspec.structs.replace(SessionState().plans, own=Instance(private_schemas={of: (NOTES,)}))
    return msgspec.structs.replace(SessionState(), plans=plans)


def outsider() -> Visibility:
    return of_outsider(SESSION)


def subject() -> Visibility:
    """Somebody who may see private values, and no guidance."""
    return of_subject(SESSION)


def all_seeing() -> Visibility:
    return Visibility(SESSION, guidance=lambda: True, private=lambda: True)


SUMMED = Summary(seq=1, first=1, last=2, kept=(), count=1, covers="x", method="rules/1", text=SUMMARY)
PLACE = "state.verification.answer"
OPEN = {"path": "state.customer.name", "value": "Ada"}
PROPOSED = {"id": "p", "by": "x", "value": [SECRET], "reason": "why"}
NOTHING = {**PROPOSED, "value": []}
SNAPSHOT = {
    "items": [
        {"role": "note", "text": GUIDANCE + WHISPER},
        {"role": "note", "text": f"{BACK} {SUMMARY}"},
        {"role": "customer", "text": "Hello"},
    ],
    "memory": {"summaries": [{"covers": "x", "text": SUMMARY}]},
    "pad": {"verification": {"answer": SECRET}},
}
#: each sort of content: an entry in which it holds a private value or guidance, and a word of it that stays
HELD: list[tuple[str, dict[str, Any], str]] = [
    ("tool.returned", {"result": {"answer": SECRET}, "output_path": "state.verification", "call": "c"}, "c"),
    ("tool.returned", {"result": {"verification": 1, "more": "m"}, "output_path": None}, "more"),
    ("tool.returned", {"result": SECRET, "output_path": "no path", "call": "c"}, "c"),
    ("value.proved", {"path": PLACE, "value": SECRET}, PLACE),
    ("value.proved", {"value": SECRET, "state": "s"}, "s"),
    ("state.changed", {"writes": [{"path": PLACE, "value": SECRET, "marks": []}, {**OPEN, "marks": []}]}, "Ada"),
    ("state.changed", {"writes": [{"path": PLACE, "value": None, "lost": [SECRET], "marks": []}]}, PLACE),
    ("state.changed", {"writes": [{"path": PLACE, "value": SECRET, "marks": [SECRET]}]}, PLACE),
    ("approval.requested", {"basis": [{"path": PLACE, "value": SECRET}, OPEN]}, "Ada"),
    ("decision.made", {"shown": {"data": {"evidence": [{"path": PLACE, "value": SECRET}, OPEN], "x": 1}}}, "Ada"),
    ("decision.made", {"shown": None, "by": "user:x"}, "user:x"),
    ("state.migrated", {"put": {"verification": {"answer": SECRET}, "intent": "open"}}, "open"),
    ("data.added", {"of": "notes", "data": {"pin": PIN, "n": 17}}, "17"),
    (
        "conflict.opened",
        {"path": PLACE, "base": [SECRET], "standing": [], "proposal": NOTHING},
        "why",
    ),
    (
        "conflict.opened",
        {"path": PLACE, "base": [], "standing": [SECRET], "proposal": NOTHING},
        "why",
    ),
    ("conflict.opened", {"path": PLACE, "base": [], "standing": [], "proposal": PROPOSED}, "why"),
    ("conflict.ended", {"conflict": "gone", "value": [SECRET], "lost": [], "outcome": "chosen"}, "chosen"),
    ("conflict.ended", {"conflict": "gone", "value": [], "lost": [PROPOSED], "outcome": "chosen"}, "why"),
    ("value.proposed", {"conflict": "gone", "proposal": PROPOSED}, "why"),
    ("session.forked", {"restored": SNAPSHOT, "by": "user:x"}, "user:x"),
    ("session.handed_back", {"summary": SUMMARY, "opening": "", "by": "user:x"}, "user:x"),
]


def test_each_sort_of_content_is_shown_without_what_is_private_in_it_and_whole_to_those_who_may_see_it():
    for kind, data, stays in HELD:
        told = json.dumps(outsider().entry(kind, data))
        assert stays in told, (kind, told)
        for word in (SECRET, PIN, WHISPER, SUMMARY):
            assert word not in told, (kind, data)
        whole = all_seeing()
        assert whole.entry(kind, data) == data
        assert whole.used_unmask == any(word in json.dumps(data) for word in (SECRET, PIN))


def test_a_state_in_an_entry_is_without_guidance_also_for_those_who_may_see_private_values():
    seen = subject()
    for told in (seen.entry("session.forked", {"restored": SNAPSHOT}), seen.entry("not.known", {"x": SNAPSHOT})):
        assert SECRET in json.dumps(told)
        assert "Hello" in json.dumps(told)
        for word in (WHISPER, SUMMARY):
            assert word not in json.dumps(told)
    assert seen.entry("session.handed_back", {"summary": ""}) == {"summary": ""}  # nothing is withheld of nothing


def full_of_secrets() -> SessionState:
    """The session's state, with private values and guidance wherever a state can have them."""
    state, part = SessionState(), Instance(pad={"verification": {"answer": SECRET}})
    part = msgspec.structs.replace(part, data={"notes": Held({"pin": PIN, "n": 1}, NOTES)})
    conflict = Conflict(
        "c", 1, "", PLACE, "vote", 1, PLACE, (SECRET,), (SECRET,), (Proposal("p", "x", (SECRET,)),)
    )  # fmt: skip
    answer = json.dumps({"result": {"answer": SECRET}})
    items = (
        Item(88, "note", GUIDANCE + WHISPER),
        Item(89, "tool", answer, call="c8"),
        Item(90, "agent", "", calls=(ItemCall("c9", "check", {}, "state.verification"),)),
        Item(91, "tool", answer, call="c9"),
        Item(92, "tool", f"cut {SECRET}", call="c9"),
        Item(93, "tool", '{"error": "no such customer"}', call="c9"),
    )
    replace = msgspec.structs.replace
    memory = replace(
        state.memory,
        summaries=(SUMMED,),
        pins=(Pin(1, "person", "x", why=WHISPER),),
    )
    return replace(
        state, items=items, memory=memory, pad=part.pad,
        calls={"c8": SimpleNamespace(id="c8", output_path="state.verification")},
        changes=replace(state.changes, conflicts={"c": conflict}),
        plans=replace(state.plans, own=part, instances={"other": part}),
    )  # fmt: skip


def test_a_state_is_shown_without_guidance_and_private_values_wherever_it_has_them():
    full = full_of_secrets()
    told = repr(outsider().state(full))
    for word in (SECRET, PIN, WHISPER, SUMMARY):
        assert word not in told
    assert "no such customer" in told
    assert "'n': 1" in told
    assert repr(subject().state(full)).count(SECRET) == repr(full).count(SECRET)
    for only in ("summaries", "pins"):  # each by itself, in a state without a whisper
        memory = msgspec.structs.replace(full.memory, **{only: ()})
        assert WHISPER not in (told := repr(outsider().state(
            msgspec.structs.replace(full, items=(), memory=memory))))  # fmt: skip
        assert SUMMARY not in told


def test_what_a_model_was_shown_is_refused_whole_where_it_holds_guidance():
    whisper = Item(1, "note", GUIDANCE + WHISPER)
    for items, summaries in (([whisper], ()), ([], [SUMMED]), ([Item(1, "note", BACK)], ())):
        with pytest.raises(PermissionDenied):
            outsider().must_see_all(items, summaries)
        all_seeing().must_see_all(items, summaries)
    outsider().must_see_all([Item(1, "customer", GUIDANCE)])  # their own words


def test_what_a_request_rests_on_is_withheld_by_path():
    basis = [ev.Evidence(path=PLACE, value=SECRET), ev.Evidence(path="state.customer.name", value="Ada")]
    shown, withheld = outsider().basis(basis)
    assert (dict(shown)["state.customer.name"], withheld) == ("Ada", [PLACE])
    assert SECRET not in repr(shown)
    assert subject().basis(basis)[1] == []


def test_a_value_of_a_conflict_is_judged_by_the_path_that_is_contested(monkeypatch: pytest.MonkeyPatch):
    def told(path: str) -> str:
        held = Conflict("c", 1, "", path, "vote", 1, path, (), (), ())
        state = msgspec.structs.replace(
            SessionState(), changes=msgspec.structs.replace(SessionState().changes, conflicts={"c": held})
        )
        monkeypatch.setattr(slots.states, "load", lambda session: SimpleNamespace(state=state))
        return json.dumps(outsider().entry("value.proposed", {"conflict": "c", "proposal": PROPOSED}))

    assert SECRET not in told(PLACE)
    assert SECRET in told("state.customer.name")

    def unreadable(session: UUID) -> None:
        raise slots.AgentStateError("altered")

    monkeypatch.setattr(slots.states, "load", unreadable)
    shown = json.dumps(outsider().entry("value.proposed", {"conflict": "c", "proposal": PROPOSED}))
    assert SECRET not in shown
    assert "why" in shown


def test_where_the_schemas_of_the_state_cannot_be_read_everything_is_private(monkeypatch: pytest.MonkeyPatch):
    def unreadable(places: slots.Places) -> None:
        raise LookupError

    monkeypatch.setattr(slots.Places, "_of_state", property(unreadable))
    assert outsider().entry("value.proved", {"path": "state.customer.name", "value": "Ada"})["value"] == "(private)"
    gone = outsider().entry("conflict.ended", {"conflict": "gone", "value": ["Ada"]})
    assert gone["value"] == ["(private)"]
    assert outsider().entry("tool.failed", {"result": "Ada"})["result"] == "(private)"
    assert outsider().state(talking()).talk == Talk()


def test_where_the_state_cannot_be_read_everything_of_data_messages_is_private(monkeypatch: pytest.MonkeyPatch):
    def unreadable(session: UUID) -> None:
        raise LookupError

    monkeypatch.setattr(slots.states, "load", unreadable)
    assert outsider().entry("value.proved", {"path": "notes.n", "value": 1})["value"] == "(private)"
    assert outsider().entry("reference.corrected", {"entities": ["one"]})["entities"] == "(private)"
    assert outsider().state(talking()).talk == Talk()


def talking() -> SessionState:
    """A state whose talk knows an entity of a private place of a data message, one of an open place, and names a third
    that it does not know.
    """
    entities = (Entity("a", "account", SECRET, {"n": PIN}, "notes.pin"), Entity("b", "account", "open", {}, "notes.n"))
    heard = tuple(Reference(each, (each,), "model") for each in "abc")
    mentions = tuple(Mention(each, 1, 1) for each in "abc")
    talk = Talk(entities=entities, heard=heard, mentions=mentions, shown=("a", "b", "c"))
    return msgspec.structs.replace(SessionState(), talk=talk)


def test_an_entity_of_a_private_place_of_a_data_message_shows_its_type_alone():
    shown = outsider().state(talking()).talk
    assert [(each.type, each.label) for each in shown.entities] == [("account", "(private)"), ("account", "open")]
    assert SECRET not in str(shown)
    assert PIN not in str(shown)
    assert all_seeing().state(talking()).talk == talking().talk


def test_an_entity_that_the_talk_does_not_know_is_named_nowhere():
    shown = outsider().state(talking()).talk
    assert [each.entities for each in shown.heard] == [("b",)]
    assert "c" not in {*(each.entity for each in shown.mentions), *shown.shown}


def test_an_entry_names_entities_of_private_places_by_no_id(monkeypatch: pytest.MonkeyPatch):
    state = msgspec.structs.replace(with_notes(), talk=talking().talk)
    monkeypatch.setattr(slots.states, "load", lambda session: SimpleNamespace(state=state))
    shown = outsider().entry("reference.corrected", {"entities": ["a", "b", "c"]})
    assert shown["entities"] == ["(private)", "b", "(private)"]


def test_a_result_that_was_not_taken_is_private_where_anything_is():
    assert outsider().entry("tool.failed", {"result": SECRET, "call": "c"}) == {"result": "(private)", "call": "c"}
    assert all_seeing().entry("tool.failed", {"result": SECRET})["result"] == SECRET


@pytest.mark.parametrize("text", ['{{"result":"{0}"}}', '{{"later":{{"call":"c","result":"{0}"}}}}', "{0}"])
def test_what_is_told_of_a_result_in_a_private_place_of_a_data_message_is_private(text: str):
    for role in ("tool", "note"):
        item = Item(1, role, text.format(SECRET), call="c", place="state.open || notes.pin")  # type: ignore[arg-type]
        state = msgspec.structs.replace(SessionState(), items=(item,))
        assert SECRET not in outsider().state(state).items[0].text
        assert all_seeing().state(state) == state


def test_private_places_of_the_state_are_those_of_every_version_of_its_schema(monkeypatch: pytest.MonkeyPatch):
    class Rows:
        filter = values_list = staticmethod(lambda *_, **__: Rows)
        first = staticmethod(lambda: "bank")

    monkeypatch.setattr(slots, "AgentSession", SimpleNamespace(objects=Rows))
    catalogue = registry.schemas_for(registry.find("bank").schema)
    assert catalogue is not None
    assert len(OF_STATE.func(slots.Places(SESSION))) == len(catalogue.versions) > 1


def test_a_proof_shows_the_fields_alone_that_are_shown_whole():
    data = {
        "kind": "state.changed",
        "by": "user:x",
        "a/b": 1,
        "writes": [{"path": PLACE, "value": SECRET, "marks": []}],
    }
    shows = outsider().fields_shown("state.changed", json.dumps(data).encode())
    assert shows("/by", b'"user:x"')
    assert not shows("/by", b'"user:y"')
    assert not shows("/writes", json.dumps(data["writes"]).encode())
    assert not shows("/reason", b"null")  # what is not there is not shown
    assert not shows("/by/deeper", b"null")
    odd = outsider().fields_shown("value.proved", b'{"path": "state.customer.name", "value": {"a/b~": 1}}')
    assert odd("/value/a~1b~0", b"1")


@pytest.mark.parametrize(
    ("permissions", "side"),
    [("speak_as_customer", True), ("speak_as_customer whisper", False), ("whisper", False), ("", False)],
)
def test_whoever_speaks_as_the_customer_and_may_not_whisper_is_on_the_customers_side(
    permissions: str, side: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(visibility, "can", lambda user, permission, team: permission.value in permissions.split())
    reader: Any = SimpleNamespace()
    assert visibility.is_customers_side(reader, SESSION) == side
    assert visibility.of_reader(reader, SESSION, SESSION).sees_guidance != side
    if side:
        with pytest.raises(PermissionDenied):
            visibility.must_see_guidance(reader, SESSION)
    else:
        visibility.must_see_guidance(reader, SESSION)


@pytest.mark.parametrize("missing", ["see", "export", "unmask", "whisper", ""])
def test_all_of_a_session_is_taken_out_by_those_who_may_export_unmask_and_see_guidance(
    missing: str, monkeypatch: pytest.MonkeyPatch
):
    team: UUID | None = uuid4()

    class Rows:
        filter = values_list = staticmethod(lambda *_, **__: Rows)
        first = staticmethod(lambda: team)

    monkeypatch.setattr(visibility, "AgentSession", SimpleNamespace(objects=Rows))
    monkeypatch.setattr(visibility, "can", lambda user, permission, team: permission.value != missing)
    monkeypatch.setattr(visibility.access, "may", lambda user, permission, session, team: permission.value != missing)
    reader: Any = SimpleNamespace()
    if missing in ("see", "export"):
        with pytest.raises(visibility.states.UnknownSession if missing == "see" else PermissionDenied):
            visibility.may_export(reader, SESSION)
    else:
        assert visibility.may_export(reader, SESSION) == team
    if missing:
        with pytest.raises(visibility.states.UnknownSession if missing == "see" else PermissionDenied):
            visibility.may_open(reader, SESSION)
    else:
        assert visibility.may_open(reader, SESSION) == team
        team = None
        with pytest.raises(visibility.states.UnknownSession):
            visibility.may_export(reader, SESSION)


def test_private_values_that_were_shown_are_noted_once_they_were(monkeypatch: pytest.MonkeyPatch):
    noted: list[str] = []
    monkeypatch.setattr(visibility.access, "note", lambda user, what, seen: noted.append(what))
    may = [False]
    monkeypatch.setattr(visibility.access, "may", lambda *_: may[0])
    monkeypatch.setattr(visibility, "can", lambda *_: True)
    reader: Any = SimpleNamespace()
    for may[0], state, expected in (
        (True, SessionState(), []),
        (False, full_of_secrets(), []),
        (True, full_of_secrets(), ["private"]),
    ):
        noted.clear()
        visibility.shown_state(reader, SESSION, SESSION, state)
        assert noted == expected


def test_account_numbers_are_short_wherever_they_are_in_a_value():
    value = {"to": "account 7799001122", "more": [("7799001122",), {"minor": 7799001122, "none": None}]}
    assert shortened_in(value) == {"to": "account ..1122", "more": [["..1122"], {"minor": 7799001122, "none": None}]}
