"""What a reader may see of a session: the same at every door, by one table over all fields of all kinds of event."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import msgspec
import pytest

from agentstate.engine import events as ev
from agentstate.engine.merge.three_way import PathChange
from agentstate.people.models import User
from audit import keys, ledger, signer, verify
from audit.proofs.making import NoSuchField
from sessions.conversation import commands as conversation_commands
from sessions.core import entry_lines, session_lines, states, visibility
from sessions.core.account_numbers import shortened
from sessions.core.contents import CONTENTS, Content
from sessions.data import commands as data_commands
from sessions.disclosures import commands as disclosures
from sessions.disclosures.content import What
from sessions.memory import commands as memory
from sessions.models.sessions import AccessLine, ApprovalRequest
from sessions.privacy import subject_report
from sessions.state import commands as state_commands
from sessions.state import queries as state_queries
from sessions.supervision import commands as supervision_commands
from sessions.versions import commands as versions_commands
from sessions.versions import queries as versions_queries
from tests import cast
from tests.shell.api_world import Api, problem
from tests.shell.bank_world import opened, say
from tests.shell.test_proofs import superuser

WHISPER, SUMMARY, SECRET, PIN = "Zqwhisper", "Zqsummary", "Zqanswer", "Zqpin"
FIELDS = {
    str(event.__struct_config__.tag): {"kind", *(field.encode_name for field in msgspec.structs.fields(event))}
    for event in ev.EVENTS
}
NOTES = {"type": "object", "properties": {"pin": {"type": "string", "x-private": True}, "n": {"type": "integer"}}}
pytestmark = pytest.mark.django_db(transaction=True)


def talked() -> UUID:
    """A session with a whisper, a hand-back, a private value of the state and one of a data message."""
    session = opened()
    conversation_commands.say(cast.cleo(), session, "Hello")
    alice = cast.alice()
    supervision_commands.whisper(alice, session, WHISPER)
    supervision_commands.take_over(alice, session, "to help")
    supervision_commands.hand_back(alice, session, SUMMARY)
    seen = state_queries.state_line(alice, session).seq
    verification = {"method": "question", "passed": True, "answer": SECRET}
    state_commands.change_state(alice, session, seen=seen, changes=[PathChange("state.verification", verification)])
    data_commands.add_data(
        alice, session, {"type": "data", "kind": "notes", "schema": NOTES, "data": {"pin": PIN, "n": 1}}
    )
    return session


DOORS = (
    "entries",
    "state",
    "state/kinds",
    "data",
    "memory",
    "conflicts",
    "plan",
    "proofs/complete",
    "proofs/range?first=0&last=5",
    "proofs/entries/3",
    "topics",
)


def reads_of(who: User) -> list[dict[str, Any]]:
    """What this person's access log says that they read."""
    rows = [ledger.open_row(row)[1] for each in {line.log for line in AccessLine.objects.filter(reader=who.actor)}
            for row in ledger.read_rows(each)]  # fmt: skip
    return [read for row in rows for read in json.loads(row).get("reads", ())]


def texts(who: User, session: UUID) -> str:
    """All that this person is told of the session, by API and on pages."""
    told = []
    for door in DOORS:
        path, _, query = f"/sessions/{session}/{door}".partition("?")
        answer = Api(who).get(path, **dict(each.split("=") for each in query.split("&") if query))
        told.append(answer.content.decode())
    pages = (f"/sessions/{session}/", f"/sessions/{session}/audit/", f"/sessions/{session}/state/")
    client = cast.browser(who)
    return "\n".join([*told, *(client.get(page).content.decode() for page in pages)])


def test_every_kind_and_every_field_of_the_vocabulary_has_a_row_and_no_row_is_of_something_else():
    assert {kind: set(fields) for kind, fields in CONTENTS.items()} == FIELDS


def test_a_field_that_may_hold_any_value_is_not_open_unless_it_is_known_why():
    known = {
        ("data.added", "schema"),  # the form of a data message, not a value
        *((kind, "arguments") for kind in CONTENTS),  # no reference reads what is private
        *((kind, "inputs") for kind in CONTENTS),  # what a plan is given
        ("approval.requested", "response_schema"),
        ("plan.committed", "calls"),
        ("plan.proposed", "calls"),
        ("goals.set", "tree"),
        ("chart.moved", "data"),  # a chart's own values
        ("chart.moved", "changed"),
    }
    free = {
        (str(event.__struct_config__.tag), field.encode_name)
        for event in ev.EVENTS
        for field in msgspec.structs.fields(event)
        if "Any" in str(field.type)
    }
    assert {(kind, name) for kind, name in free if CONTENTS[kind][name] is Content.OPEN} - known == set()


def test_a_kind_or_a_field_that_is_not_known_is_withheld_from_those_who_do_not_see_all():
    session = talked()
    seen = visibility.of_outsider(session)
    assert seen.entry("nobody.knows", {"text": SECRET}) == {"text": "(private)"}
    assert seen.entry("message.added", {"text": "Hello", "more": SECRET})["more"] == "(private)"


def test_the_customers_side_is_told_neither_guidance_nor_private_values_at_any_door():
    session = talked()
    told = texts(cast.cleo(), session)
    assert "Hello" in told
    for word in (WHISPER, SUMMARY, SECRET, PIN):
        assert word not in told


def test_a_viewer_is_told_the_guidance_and_no_private_value_at_any_door():
    session = talked()
    told = texts(cast.vera(), session)
    assert WHISPER in told
    for word in (SECRET, PIN):
        assert word not in told


def test_who_may_unmask_is_told_private_values_and_that_is_on_record():
    session = talked()
    answer = Api(cast.alice()).get(f"/sessions/{session}/entries")
    assert SECRET in answer.content.decode()
    assert PIN in answer.content.decode()
    assert "private" in [read["what"] for read in reads_of(cast.alice())]


def test_a_data_message_without_a_schema_of_its_own_is_judged_by_those_before_it():
    session = talked()
    data_commands.add_data(cast.alice(), session, {"type": "data", "kind": "notes", "data": {"pin": "Zqlater"}})
    told = Api(cast.vera()).get(f"/sessions/{session}/entries").content.decode()
    assert "Zqlater" not in told
    assert "Zqlater" in Api(cast.alice()).get(f"/sessions/{session}/entries").content.decode()


def test_a_proof_is_masked_and_gives_no_key_until_it_is_opened_by_those_who_may_export_and_unmask():
    session = talked()
    path = f"/sessions/{session}/proofs/complete"
    for who in (cast.vera(), cast.cleo(), cast.alice()):
        data = Api(who).get(path).content
        assert verify.verify_proof(data, signer.vkey()).ok
        for word in ("Hello", WHISPER, SUMMARY, SECRET, PIN):
            assert word not in data.decode()
        shown = [each["shown"] for each in json.loads(data)["entries"]]
        assert [each for each in shown if "okm" in each and json.loads(each["payload"])["kind"] in WORDY] == []
    for who in (cast.vera(), cast.cleo()):
        problem(Api(who).get(path, content="full"), 403, "permission_denied")
        problem(Api(who).get(f"/sessions/{session}/proofs/entries/1", fields="/text"), 403, "permission_denied")
        problem(
            Api(who).get(f"/sessions/{session}/proofs/range", first=0, last=3, content="full"), 403, "permission_denied"
        )
    full = Api(cast.alice()).get(path, content="full").content
    assert verify.verify_proof(full, signer.vkey()).ok
    assert SECRET in full.decode()
    assert "proof unmasked" in [read["what"] for read in reads_of(cast.alice())]


WORDY = ("message.added", "guidance.given", "session.handed_back", "state.changed", "data.added")


def test_the_verifier_counts_what_a_masked_entry_withholds():
    session = talked()
    verdict = verify.verify_proof(Api(cast.vera()).get(f"/sessions/{session}/proofs/entries/1").content, signer.vkey())
    (entry,) = verdict.proof["entries"]
    assert entry["fields"] == {"/kind": "message.added", "/role": "customer", "/v": 1} | entry["fields"]
    assert entry["withheld"] >= 1
    assert '"withheld": ' in "\n".join(verify.in_words(verdict))


def test_what_is_disclosed_to_somebody_outside_holds_no_guidance_and_no_private_value():
    session = talked()
    made = disclosures.disclose(cast.alice(), session, What.SESSION, reason="asked")
    assert verify.verify_proof(made.document, signer.vkey()).ok
    assert "Hello" in made.document.decode()
    for word in (WHISPER, SUMMARY, SECRET, PIN):
        assert word not in made.document.decode()
    seq = next(line.seq for line in entry_lines.entries(cast.alice(), session) if line.kind == "guidance.given")
    with pytest.raises(NoSuchField):
        disclosures.disclose(cast.alice(), session, What.FIELD, reason="asked", first=seq, pointer="/text")


def test_the_subject_is_not_told_why_colleagues_pinned_a_message_nor_by_the_state_of_a_rollback():
    session = talked()
    memory.pin(cast.alice(), session, 1, why="Wombatlike")
    last = session_lines.session_line(cast.alice(), session).seq
    shown = versions_queries.rollback_preview(cast.alice(), session, last - 1)
    versions_commands.roll_back(cast.alice(), session, last - 1, seen=shown.digest, reason="it misheard")
    assert "Wombatlike" in texts(cast.alice(), session)
    told = json.dumps(subject_report.made(cast.petra(), session=session))
    assert "item.pinned" in told
    assert "session.rolled_back" in told
    assert "Wombatlike" not in told


def test_where_a_session_cannot_be_read_every_value_of_its_state_is_withheld(test_database):
    session = talked()
    with superuser(test_database) as connection:
        connection.execute("UPDATE audit_entry SET envelope = 'x' WHERE log = %s AND seq = 2", [session])
        connection.commit()
    states.forget_all()
    seen = visibility.of_outsider(session)
    added = {"of": "notes", "data": {"n": 1}, "by": "x", "v": 1}
    assert seen.entry("data.added", added)["data"] == "(private)"
    proposed: Any = {"conflict": "c", "proposal": {"id": "p", "by": "x", "value": [SECRET], "reason": ""}}
    assert SECRET not in str(seen.entry("value.proposed", proposed))
    keys.forget_all()


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("to account 7799001122, a new payee", "to account ..1122, a new payee"),
        ("DE89 3704 0044 0532 0130 00", "..3000"),
        ("GB29NWBK60161331926819", "..6819"),
        ("7799 0011 22", "..1122"),
        ("$4,300.00 on 2026-11-23 to ..7328, call 019a2089-e143-75f9-a67d-012345678901", None),
    ],
)
def test_an_account_number_in_a_list_is_its_last_four_digits(text, short):
    assert shortened(text) == (short or text)


@pytest.mark.parametrize("who", [cast.alice, cast.vera, cast.cleo])
def test_a_new_payees_number_is_whole_on_the_decision_card_and_short_in_every_list(bank, who):
    session = opened()
    for text in ("I must send $700.00 from savings to account 7799001122.", "The rent.", "Yes, go ahead.", "Yes."):
        say(session, text)
    request = ApprovalRequest.objects.get(session=session)
    client, api = cast.browser(who()), Api(who())
    lists = [client.get(page).content.decode() for page in ("/", "/sessions/", f"/sessions/{session}/audit/")]
    lists += [api.get(path).content.decode() for path in ("/sessions", "/requests")]
    queue = client.get("/decisions/").content.decode()
    assert all("7799001122" not in page for page in lists)
    assert "..1122" in lists[-1]
    assert "7799001122" not in queue[: queue.find('id="ask"')]
    assert "7799001122" in api.get(f"/requests/{request.pk}").content.decode()
    assert "7799001122" in api.get(f"/sessions/{session}/entries").content.decode()
