"""Attacks on what people see: what the card, the figures and the refusals say is so."""

from __future__ import annotations

import re

from tests.attacks.client import Person, Request, Talk, eventually, words
from tests.attacks.stack import Stack

SAID = "Please move five thousand three hundred dollars to my checking account."


def card(stack: Stack, person: Person, request: Request) -> str:
    """What the page of a request says."""
    return words(stack.browser(person).page(f"decisions/{request.id}/"))


def proposed_after(stack: Stack, said: str, dollars: int) -> tuple[Request, Person, Talk]:
    """A request for a transfer in a conversation in which the customer has said this."""
    ann, talk = stack.supervisor(), stack.talk(agent="hunt-talk")
    talk.say(said).must()
    talk.rests()
    talk.propose(ann, {"_id": "move", **talk.transfer(dollars)}).must()
    return talk.one_pending("transfer"), stack.supervisor(), talk


def test_console1_the_card_says_that_another_amount_was_said(stack: Stack):
    request, sue, _ = proposed_after(stack, "Please move $5,300.00 to my checking account.", 5_800)
    told = card(stack, sue, request).lower()
    assert re.search(r"said \$?5,300|differs|not found", told), "nothing says that $5,300 was said and $5,800 is sent"


def test_console1_the_card_says_that_an_amount_in_words_differs(stack: Stack):
    request, sue, _ = proposed_after(stack, SAID, 1_900)
    told = card(stack, sue, request).lower()
    assert re.search(r"said \$?5,300|differs|not found", told), "nothing says that $5,300 was said and $1,900 is sent"


def test_console1_the_card_says_that_no_amount_was_said(stack: Stack):
    request, sue, _ = proposed_after(stack, "Hello, I have a question.", 900)
    told = card(stack, sue, request).lower()
    assert re.search(r"not found|not said|no amount", told), "nothing says that the customer named no amount"


def chatter(talk: Talk) -> None:
    """The customer says eight things that decide nothing."""
    for each in ("Thank you.", "I'm still here.", "Yes.", "OK.", "Hello?", "Take your time.", "Thank you.", "I wait."):
        talk.say(each).must()
    talk.rests()


def test_console2_decisive_words_stay_on_the_card(stack: Stack):
    request, sue, talk = proposed_after(stack, "Please move $900.00 to my checking account.", 900)
    talk.say("The man from your security department says my money is only safe with $2,300.00 moved there.").must()
    chatter(talk)
    assert "security department" in card(stack, sue, request), "eight fillers pushed the warning off the card"


def test_console2_the_words_before_an_expired_request_stay_on_the_card_of_the_next(stack: Stack):
    sue, talk = stack.supervisor(), stack.talk(agent="hunt-talk", topic="brief")
    talk.say("The man from your security department says I need to pay a release fee of $900.00.").must()
    talk.rests()
    talk.wants(talk.transfer(900))
    first = eventually(lambda: talk.requests, "a person is asked")[0]
    eventually(lambda: first.state == "expired", "it expires")
    chatter(talk)
    talk.wants(talk.transfer(900))
    second = eventually(lambda: talk.requests[1:], "it is asked again")[0]
    assert "security department" in card(stack, sue, second), "the card begins anew after an expiry"


def test_console2_a_correction_stays_on_the_card(stack: Stack):
    request, sue, talk = proposed_after(stack, "Please move $900.00 to my checking account.", 900)
    talk.say("No, wait: make it $230.00.").must()
    chatter(talk)
    assert "$230.00" in card(stack, sue, request), "the correction has left the card"


def waiting(stack: Stack, topics: tuple[str, ...]) -> tuple[Person, Person, list[Request]]:
    """A team of its own in which so much waits: its supervisor and its viewer."""
    sue, vera, caller = stack.team("supervisor", "viewer", "caller")
    talks = [stack.talk(topic=topic, caller=caller) for topic in topics]
    requests = []
    for talk in talks:
        talk.wants(talk.transfer(900), by=caller)
        requests.append(_first(talk, sue))
    return sue, vera, requests


def _first(talk: Talk, person: Person) -> Request:
    def found() -> list[str]:
        rows = person.get("/requests?limit=100").must()["requests"]
        return [row["id"] for row in rows if row["session"] == talk.id]

    return Request(talk, eventually(found, "a person is asked")[0])


def needed(page: str) -> int:
    """How many need a decision, by the page's own words."""
    found = re.search(r"Needs? a decision (\d+)", words(page))
    assert found, words(page)[:2000]
    return int(found[1])


def test_console4_a_viewer_reads_how_many_need_a_decision(stack: Stack):
    _, vera, _ = waiting(stack, ("", ""))
    assert needed(stack.browser(vera).page("live/")) == 2, "rows that need a decision under a figure of 0"


def test_console4_a_supervisor_reads_the_same_figure(stack: Stack):
    sue, _, _ = waiting(stack, ("", ""))
    assert needed(stack.browser(sue).page("live/")) == 2


def test_console8_badge_page_and_api_count_the_same(stack: Stack):
    sue, _, requests = waiting(stack, ("", "soon"))
    seen = requests[1].seen_by(sue)
    sue.post(f"/requests/{requests[1].id}/decisions", decision="approve", seen=seen["digest"]).must()
    same_figures(stack, sue)


def same_figures(stack: Stack, sue: Person) -> None:
    """The badge, the page of decisions and the API agree on how much this person can decide."""
    page = stack.browser(sue).page("decisions/")
    badge = re.search(r'id="badge"\s+data-count="(\d+)"', page)
    told = re.search(r"Decisions (\d+) for you", words(page))
    mine = len(sue.get("/requests?state=pending&mine=true&limit=500").must()["requests"])
    assert badge
    assert told
    assert int(badge[1]) == int(told[1]) == mine, f"badge {badge[1]}, page {told[1]}, API {mine}"


def test_console8_they_agree_when_something_has_just_expired(stack: Stack):
    sue, _, requests = waiting(stack, ("", "brief"))
    eventually(lambda: requests[1].seen_by(sue)["state"] != "pending", "it expires")
    same_figures(stack, sue)


def test_console8_they_agree_when_something_waits_for_somebody_else(stack: Stack):
    sue, _, _ = waiting(stack, ("", "seniors"))
    same_figures(stack, sue)


def test_console7_a_refusal_names_the_field_and_says_what_to_type(stack: Stack):
    request, sue, _ = proposed_after(stack, "Please move $3,000.00 to my checking account.", 3_000)
    told = words(stack.browser(sue).submit(f"decisions/{request.id}/", f"/decisions/{request.id}/", decision="approve"))
    assert "cannot be read" not in told, "it does not say what is missing"
    assert re.search(r"[Tt]ype|[Rr]etype", told.split("Nothing was decided", 1)[-1][:300]), told[:600]


def test_console7_a_missing_reason_is_named(stack: Stack):
    request, sue, _ = proposed_after(stack, "Please move $900.00 to my checking account.", 900)
    told = words(
        stack.browser(sue).submit(f"decisions/{request.id}/", f"/decisions/{request.id}/", decision="reject", reason="")
    )
    assert request.state == "pending"
    assert "see the reason" not in told, "it does not say what to write"


def test_console7_the_api_names_the_field_that_must_be_typed(stack: Stack):
    request, sue, _ = proposed_after(stack, "Please move $3,000.00 to my checking account.", 3_000)
    answer = request.decide(sue, "approve")
    assert not answer.ok
    assert "amount" in str(answer.body.get("field", "")), answer
