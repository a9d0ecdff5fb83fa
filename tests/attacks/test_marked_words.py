"""Attacks on what a running installation keeps: marked words in every field, looked for in every file byte by byte, in
the logs, in Valkey, in a dump of all rows and in the catalog's statistics, before and after the customer's erasure.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests import places
from tests.attacks.client import eventually
from tests.attacks.stack import Stack
from tests.attacks.test_sealed import begun, place
from tests.searching import FIGURE
from tests.shell import marked_world
from tests.shell.marked_world import CORE, CUSTOMER, mark


def found(stack: Stack, *words: str) -> tuple[int, list[str]]:
    """How many places were searched, and those in which one of the words stands in some spelling."""
    where = place(stack)
    told = {f"column {name}": text for name, text in places.columns(where).items()}
    told |= {f"statistics of {name}": text for name, text in places.statistics(where).items()}
    told |= {f"Valkey {number}": text for number, text in enumerate(places.in_valkey(where.cache_url))}
    told["what `up` printed"] = stack.up.said
    at = [name for name, text in told.items() if places.traces(text, *words)]
    read = len(told)
    for word in words:
        files, holding = places.traced(places.files(stack.state), word)
        at, read = at + holding, read + files
    return read, at


@pytest.mark.alone
def test_e13_no_word_that_anybody_typed_is_kept_in_clear_before_or_after_the_erasure(
    stack: Stack, record_property: Any
) -> None:
    roles = {"alice": "supervisor", "bob": "supervisor", "adam": "admin", "petra": "privacy", "paul": "privacy"}
    team = {name: stack.people(f"retail:{role}") for name, role in {**roles, "anna": "auditor"}.items()}
    team["cleo"] = stack.caller
    talk = stack.talk(agent="bank", alias=mark("alias"), topic=mark("topic"))
    stranger = talk.customer["stranger"]
    for text in (f"I must send $700.00 from savings to account {stranger}.", "The rent.", "Yes, go ahead.", "Yes."):
        talk.say(text).must()
        talk.rests()
    ids: dict[str, Any] = {"session": talk.id, "request_id": talk.one_pending().id}
    ids["customer"] = team["alice"].get(f"/sessions/{talk.id}").must()["customer"]
    known = {"{retail}": team["alice"].teams["retail"], "{bob}": team["bob"].id, "{anna}": team["anna"].id}
    known |= {CUSTOMER: talk.customer["id"], '"bob"': f'"{team["bob"].name}"'}
    fields: dict[str, Any] = {}

    def ask(who: str, method: str, path: str, body: Any) -> tuple[bool, Any]:
        answer = team[who]._sent(method, path, body)
        return answer.ok, answer.body

    with stack.frozen_workers():
        marked_world.filled(ids, fields, known, ask)
    places_before, before = found(stack, CORE)
    assert before == []
    team["petra"].delete(f"/holds/{ids['hold']}").must()
    team["paul"].post(f"/erasures/{ids['erasure']}", state="approved").must()
    erasure = team["petra"].get(f"/erasures/{ids['erasure']}").must()["erasure"]
    eventually(lambda: begun(stack, erasure), "the erasure begins")
    eventually(lambda: team["petra"].get(f"/erasures/{ids['erasure']}").must()["erasure"]["destroyed_at"], "destroyed")
    places_after, after = found(stack, CORE)
    assert after == []
    told = f"{len(fields)} fields, {places_before} places before the erasure, {places_after} after it"
    record_property(FIGURE, f"marked words on a running installation: {told}")


@pytest.mark.alone
def test_e13_words_of_a_refused_call_are_kept_nowhere(stack: Stack) -> None:
    """What is refused is written down nowhere: in the address, in the body, in a header, in a form."""
    word = f"Refused{uuid4().hex}"
    alice, talk = stack.supervisor(), stack.talk()
    for path, body in (
        (f"/sessions/{talk.id}/guidance", {"text": word * 9_000}),
        (f"/sessions/{word}/guidance", {"text": word}),
        (f"/sessions/{talk.id}/state", {"seen": word, "changes": [{"path": word, "value": word}]}),
        (f"/plans?{word}=1", {"name": word, "calls": [{word: word}]}),
        ("/exports", {"agent": word, "customer": word}),
        ("/erasures", {"customer": word, "basis": word, "reason": word}),
    ):
        assert not alice.post(path, **body).ok, path
    paths = (f"/sessions/{word}", f"/requests?state={word}", f"/customers/{word}/profile", f"/agents/{word}/schema")
    for path in paths:
        assert alice.get(path).status >= 400, path
    alice.http.get(f"/sessions/{talk.id}", headers={"Authorization": f"Bearer {word}", "X-Forwarded-For": word})
    _, at = found(stack, word)
    assert at == []


@pytest.mark.alone
def test_e13_what_a_reader_searched_for_and_what_was_not_found_are_kept_nowhere(stack: Stack) -> None:
    word = f"Sought{uuid4().hex}"
    sue = stack.supervisor()
    console = stack.browser(sue)
    for page in (f"sessions/?q={word}", f"audit/?q={word}", f"privacy/?customer={word}", f"sessions/{word}/"):
        console.http.get(f"/{page}")
    console.http.post("/sign-in/", data={"username": sue.name, "password": word})
    petra = stack.people("retail:privacy")
    petra.post("/subjects/report", customer=word)
    petra.post("/holds", customer=word, reason=word)
    _, at = found(stack, word)
    assert at == []
