"""Rail, page, figures and API give the same numbers to every role; the live board holds the most urgent sessions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from agentstate.ids import new_id
from sessions.approvals import counts as approvals_counts
from sessions.approvals.counts import first_asked
from sessions.conversation import commands as conversation_commands
from sessions.core import session_lines
from sessions.models.sessions import AgentSession, ApprovalRequest
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import opened, say, work
from tests.shell.pages import read
from tests.shell.test_pages import paused

pytestmark = pytest.mark.django_db(transaction=True)
ROLES = (cast.alice, cast.vera, cast.anna, cast.adam)


def numbers(user) -> dict[str, int]:
    """Every number of decisions that one person is shown."""
    client = cast.browser(user)
    page = read(client.get(reverse("decisions")).content)
    figure = read(client.get(reverse("live")).content).id("figures").text()
    mine = Api(user).get("/requests", mine="true", state="pending").json()["requests"]
    return {
        "rail": int(page.id("badge").attrs["data-count"]),
        "page": int(page.id("queue").text().split(" for you")[0].split()[-1]),
        "figure": int(figure.split("Need a decision ")[1].split(" for you")[0].split()[1]),
        "api": len(mine),
    }


def test_rail_page_figure_and_api_agree_for_every_role(bank):
    _, plain = paused()
    _, held = paused("$1,300.00")
    _, over = paused("$1,400.00")
    rows = ApprovalRequest.objects
    rows.filter(pk=held.id).update(held_until=now() + timedelta(minutes=5))
    rows.filter(pk=over.id).update(expires_at=now() - timedelta(seconds=1))  # just over, and not swept yet
    sees = {cast.alice: 1, cast.vera: 1, cast.anna: 0, cast.adam: 1}  # an auditor sees sessions that a grant opens
    for role, count in zip(ROLES, (1, 0, 0, 0), strict=True):
        assert numbers(role()) == dict.fromkeys(("rail", "page", "figure", "api"), count), role.__name__
        counts = approvals_counts.wall_counts(role())
        assert counts.waiting == sees[role], role.__name__  # who decides none is told that one waits
        assert counts.oldest == (rows.get(pk=plain.id).asked_at if sees[role] else None)


def test_the_longest_wait_counts_who_asks_for_a_person(bank):
    session = opened("C-1001")
    work()
    say(session, "Let me speak to a human being, please.")
    wanted = AgentSession.objects.get(pk=session).wanted_at
    paused()
    counts = approvals_counts.wall_counts(cast.alice())
    assert (counts.oldest, counts.for_person) == (wanted, True)
    assert "for a person" in read(cast.browser(cast.vera()).get(reverse("live")).content).id("figures").text()


def test_what_ended_undecided_today_is_on_the_figures(bank):
    session, _ = paused()
    _, other = paused("$1,300.00")
    ApprovalRequest.objects.filter(pk=other.id).update(state="expired", ended_at=now())
    conversation_commands.end(cast.cleo(), session, "hung up")
    counts = approvals_counts.wall_counts(cast.vera())
    assert (counts.expired, counts.withdrawn) == (1, 1)
    text = read(cast.browser(cast.vera()).get(reverse("live")).content).id("figures").text()
    assert "Expired today 1 1 withdrawn" in text


AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
ONE = UUID(int=1)


def asked(state: str, start: float, end: float | None, tool: str = "transfer", session: UUID = ONE):
    ended = None if end is None else AT + timedelta(minutes=end)
    return session, tool, state, AT + timedelta(minutes=start), ended


@pytest.mark.parametrize(
    ("rows", "since"),
    [
        ([], None),
        ([asked("pending", 5, None)], 5),
        ([asked("expired", 0, 10), asked("pending", 12, None)], 0),  # asked again: it waits since it was asked first
        ([asked("expired", 0, 10), asked("expired", 11, 21), asked("pending", 22, None)], 0),
        ([asked("rejected", 0, 10), asked("pending", 12, None)], 12),  # that one was decided
        ([asked("expired", 0, 10), asked("pending", 26, None)], 26),  # much later: another matter
        ([asked("expired", 0, 10, "refund"), asked("pending", 12, None)], 12),
        ([asked("expired", 0, 10), asked("pending", 12, None, session=uuid4())], 12),
        ([asked("expired", 0, 10), asked("approved", 11, 12), asked("pending", 13, None)], 13),
    ],
)
def test_the_longest_wait_does_not_begin_anew_when_it_is_asked_again(rows, since):
    assert first_asked(rows) == (None if since is None else AT + timedelta(minutes=since))


def crowd(count: int, like: AgentSession, **fields: object) -> None:
    """So many more live sessions like one, older than it; an admin sees them, and reads no words."""
    values = {name: getattr(like, name) for name in ("tenant_id", "team_id", "kid", "agent", "channel", "seq", "card")}
    old = like.opened_at - timedelta(days=1)
    values |= {"status": "idle", "opened_at": old, "last_at": old, **fields}
    AgentSession.objects.bulk_create([AgentSession(id=new_id(), **values) for _ in range(count)])


def test_the_board_holds_the_most_urgent_of_all_sessions_and_not_of_the_first_500(bank):
    session, _ = paused()
    row = AgentSession.objects.get(pk=session)
    crowd(520, row)
    failed, wanting = opened("C-1001"), opened("C-1001")
    AgentSession.objects.filter(pk=failed).update(status="failed")
    AgentSession.objects.filter(pk=wanting).update(wanted_at=now())
    shown = [line.id for line in session_lines.live_sessions(cast.adam())]
    assert len(shown) == 500
    assert shown[:3] == [session, failed, wanting]
    page = read(cast.browser(cast.adam()).get(reverse("live")).content)
    assert "The most urgent 500 of 523" in page.id("wall-note").text()


def test_among_many_that_need_a_person_the_nearest_deadline_is_first_and_an_index_serves_it(bank):
    session, _ = paused()
    row = AgentSession.objects.get(pk=session)
    crowd(510, row, open_requests=1, tier=row.tier)  # older ones without a deadline of their own
    crowd(2000, row)
    assert session_lines.live_sessions(cast.adam())[0].id == session
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE agent_sessions_agentsession")
    with CaptureQueriesContext(
        connection,
    ) as asked_for:
        session_lines.live_sessions(cast.adam())
    urgent = next(each["sql"] for each in asked_for if "open_requests" in each["sql"] and "due" in each["sql"])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {urgent}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "session_urgent" in plan, plan
