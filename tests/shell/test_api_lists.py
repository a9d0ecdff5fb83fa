"""Lists: pages that neither skip nor repeat, a bounded number of queries, and numbers that keep their digits."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentstate.engine.model import ModelAnswer, ModelRequest, ProposedCall
from agentstate.ids import new_id
from audit import keys
from sessions.approvals import queries as approvals_queries
from sessions.conversation import commands as conversation_commands
from sessions.core import projections, session_lines, states
from sessions.http.rendering import encode
from sessions.models.sessions import AgentSession, ApprovalRequest
from tests import cast
from tests.shell.api_world import Api, waiting_request
from tests.shell.bank_world import opened, work

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)
MANY = 40


def pages(api: Api, path: str, name: str, **query: object) -> list[list[str]]:
    """The ids of every page, following `next` to the end."""
    found = []
    while True:
        page = api.get(path, **query).json()
        found.append([line["id"] for line in page[name]])
        if page["next"] is None:
            return found
        query["after"] = page["next"]


def test_sessions_are_paged_newest_first_without_a_gap_even_among_those_of_one_instant() -> None:
    ids = [str(opened(customer=f"C-{number}")) for number in range(1, 8)]
    AgentSession.objects.update(opened_at=datetime(2026, 11, 21, tzinfo=UTC))
    found = pages(Api(cast.alice()), "/sessions", "sessions", limit=3)
    assert [len(page) for page in found] == [3, 3, 1]
    assert [each for page in found for each in page] == sorted(ids, reverse=True)


def test_a_page_goes_on_where_the_last_one_ended_although_sessions_were_opened_since() -> None:
    ids = [str(opened()) for _ in range(4)]
    alice = Api(cast.alice())
    first = alice.get("/sessions", limit=2).json()
    opened()
    second = alice.get("/sessions", limit=2, after=first["next"]).json()
    assert [line["id"] for page in (first, second) for line in page["sessions"]] == ids[::-1]


def test_the_last_full_page_is_followed_by_an_empty_one() -> None:
    for _ in range(4):
        opened()
    assert [len(page) for page in pages(Api(cast.alice()), "/sessions", "sessions", limit=2)] == [2, 2, 0]


def test_a_page_cannot_go_on_from_a_row_of_another_team() -> None:
    theirs = opened(by=cast.person("carl", cast.Role.CALLER, cast.cards()))
    assert Api(cast.alice()).get("/sessions", after=str(theirs)).json()["field"] == "after"


@committed
def test_requests_are_paged_worst_first(bank) -> None:
    ids = [waiting_request(f"$1,{amount}00.00") for amount in (1, 2, 3)]
    ApprovalRequest.objects.filter(pk=ids[1]).update(tier=3)
    ApprovalRequest.objects.filter(pk__in=ids[::2]).update(expires_at=ApprovalRequest.objects.get(pk=ids[0]).expires_at)
    alice = Api(cast.alice())
    for query in ({"state": "pending"}, {"mine": "true"}):
        found = pages(alice, "/requests", "requests", limit=1, **query)
        assert [each for page in found for each in page] == [ids[1], *sorted(ids[::2])]
    newest = pages(alice, "/requests", "requests", limit=2)
    assert [each for page in newest for each in page] == ids[::-1]


def test_entries_are_paged_oldest_first() -> None:
    session, cleo = opened(), Api(cast.cleo())
    for number in range(6):
        conversation_commands.say(cast.cleo(), session, f"message {number}")
    seqs, after = [], -1
    while after is not None:
        page = cleo.get(f"/sessions/{session}/entries", after=after, limit=3).json()
        seqs.append([entry["seq"] for entry in page["entries"]])
        after = page["next"]
    assert seqs == [[0, 1, 2], [3, 4, 5], [6, 7]]  # the opening, six messages, the chart's first move


def cost(api: Api, path: str, **query: object) -> int:
    """How many queries one call takes when this process remembers no key and no state."""
    keys.forget_all()
    states.forget_all()
    with CaptureQueriesContext(connection) as captured:
        api.get(path, **query)
    return len(captured)


def test_a_list_of_many_customers_costs_as_many_queries_as_one_of_two() -> None:
    alice = Api(cast.alice())
    alice.get("/sessions")
    for number in range(MANY):
        opened(customer=f"C-{number}")
    alice.get("/sessions", limit=1)  # the day's first entry of her access log begins it
    assert cost(alice, "/sessions", limit=2) == cost(alice, "/sessions", limit=MANY) <= 10


@committed
def test_a_list_of_many_requests_costs_as_many_queries_as_one_of_two(bank) -> None:
    request = ApprovalRequest.objects.get(pk=waiting_request())
    line = approvals_queries.request_line(cast.alice(), request.pk)
    for number in range(MANY):  # rows like it, each of another session and customer
        session = AgentSession.objects.get(pk=opened(customer=f"C-{number}"))
        _copy(request, session, line)
    alice = Api(cast.alice())
    alice.get("/requests")
    few, many = (cost(alice, "/requests", state="pending", limit=limit) for limit in (2, MANY))
    assert few == many <= 15  # too few people may approve these: two are for the deputies


def _copy(request: ApprovalRequest, session: AgentSession, line: approvals_queries.RequestLine) -> None:
    request.pk, request.session = new_id(), session
    card = projections.RequestCard(line.name, line.preview, line.arguments, line.why)
    request.card = projections.sealed(session.kid, request.pk, card)
    request.save(force_insert=True)


def test_reading_and_writing_cost_a_bounded_number_of_queries() -> None:
    session, alice, cleo = opened(), Api(cast.alice()), Api(cast.cleo())
    for api in (alice, cleo):
        api.get("/sessions")
    assert cost(alice, f"/sessions/{session}") <= 9
    assert cost(alice, f"/sessions/{session}/entries") <= 9
    with CaptureQueriesContext(connection) as captured:
        cleo.post(f"/sessions/{session}/messages", {"text": "hello"})
    assert len(captured) <= 8


class Precise:
    """A model that proposes, once, a call with numbers which no float can hold."""

    name = "precise"

    def answer(self, request: ModelRequest, *, on_text: object = None) -> ModelAnswer:
        if any(message.calls for message in request.messages):
            return ModelAnswer(text="I could not do that.", model=self.name)
        return ModelAnswer(text="", calls=(ProposedCall("c1", "transfer", EXACT),), model=self.name)


EXACT = {"rate": Decimal("0.10"), "huge": Decimal("1E+400"), "long": Decimal("3.14159265358979323846264338327950")}


@committed
def test_numbers_leave_with_the_digits_in_which_they_came(bank, monkeypatch) -> None:
    monkeypatch.setattr("sessions.agents.model_choice.model_for", lambda agent: Precise())
    session, cleo = opened(), Api(cast.cleo())
    conversation_commands.say(cast.cleo(), session, "hello")
    work()
    sent = cleo.get(f"/sessions/{session}/entries", limit=500).content.decode()
    assert '{"rate":0.10,"huge":1E+400,"long":3.14159265358979323846264338327950}' in sent


def test_the_arguments_of_a_request_keep_their_digits_too() -> None:
    card = projections.RequestCard("", "", EXACT, "")
    row, kid = new_id(), keys.subject_kid(cast.tenant().pk, "C-1001")
    shown = projections.open_request_card(kid, row, projections.sealed(kid, row, card))
    assert encode(shown.arguments) == b'{"rate":0.10,"huge":1E+400,"long":3.14159265358979323846264338327950}'


def test_a_customer_is_found_by_reference_by_those_who_may_read_and_by_nobody_else():
    ours, other = opened("C-1001"), opened("C-1002")
    assert [line.id for line in session_lines.sessions(cast.alice(), reference="C-1001")] == [ours]
    assert [line.id for line in session_lines.sessions(cast.alice(), reference="C-1002")] == [other]
    assert session_lines.sessions(cast.alice(), reference="C-100") == []
    assert session_lines.sessions(cast.charlie(), reference="C-1001") == []  # of another team
    assert session_lines.sessions(cast.adam(), reference="C-1001") == []  # sees sessions, reads none
