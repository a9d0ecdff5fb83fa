"""Whose turn it is: teams take turns however much one of them has to do, sessions of a team by how long they wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from uuid import UUID, uuid4

import pytest

from agentstate.people.models import Team
from audit import ledger
from sessions.models.sessions import AgentSession, Slot
from sessions.runtime import leases, limits, parked
from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)
COLUMNS = (
    "id, tenant_id, team_id, kid, agent, channel, status, waiting_for, seq, epoch, tier, open_requests,"
    " opened_at, last_at, card, ready_at, fence"
)


def due(team: Team, number: int, *, ago: float = 60.0, agent: str = "bank") -> None:
    """Rows of sessions that have work, the first of them since `ago` seconds. No worker folds them here."""
    ledger.run(
        f"INSERT INTO agent_sessions_agentsession ({COLUMNS}) SELECT gen_random_uuid(), %(tenant)s, %(team)s,"
        " %(team)s, %(agent)s, 'phone', 'executing', 'agent', 1, 0, 0, 0, now(), now(), '',"
        " now() - make_interval(secs => %(ago)s) + n * interval '1 ms', 0 FROM generate_series(1, %(number)s) n",
        {"tenant": team.tenant_id, "team": team.pk, "number": number, "ago": ago, "agent": agent},
    )


def claimed(times: int) -> list[AgentSession]:
    found = [leases.claim() for _ in range(times)]
    return [AgentSession.objects.get(pk=lease.session) for lease in found if lease is not None]


@pytest.fixture(autouse=True)
def _let_go() -> Iterator[None]:
    parked.forget_all()
    yield
    for session, call in list(limits._places._held):
        limits.leave(session, call)


def test_a_team_with_ten_thousand_due_sessions_delays_another_by_one_claim():
    busy, small = cast.retail(), cast.cards()
    due(busy, 10_000, ago=3600)
    due(small, 3, ago=1)
    teams = [session.team_id for session in claimed(6)]
    assert teams.count(small.pk) == 3
    assert teams[0] != teams[1]


def test_within_a_team_who_has_waited_longest_comes_first():
    due(cast.retail(), 5)
    taken = claimed(5)
    assert [session.ready_at for session in taken] == sorted(session.ready_at for session in taken)


def test_a_claim_costs_no_more_beside_ten_thousand_due_sessions():
    """The look into the index of each team: loosely, as the machine is shared."""
    alone, busy = cast.cards(), cast.retail()

    def cost(times: int = 30) -> float:
        took = []
        for _ in range(times):
            began = time.perf_counter()
            lease = leases.claim()
            took.append(time.perf_counter() - began)
            assert lease is not None
        return median(took)

    due(alone, 100)
    before = cost()
    due(busy, 10_000)
    ledger.run("ANALYZE agent_sessions_agentsession", {})
    after = cost()
    print(f"a claim: {before * 1000:.2f} ms, beside 10,000 due sessions {after * 1000:.2f} ms")
    assert after < 10 * before + 0.005


def test_a_session_is_claimed_once_by_many_at_a_time():
    due(cast.retail(), 8)
    taken = [session.pk for session in claimed(12)]
    assert len(taken) == len(set(taken)) == 8


def test_an_agent_at_its_limit_waits_and_others_go_on(settings):
    settings.LIMITS = {"agent:bank": 2}
    due(cast.retail(), 5, ago=60)
    due(cast.retail(), 2, ago=1, agent="other")
    taken = claimed(7)
    assert [session.agent for session in taken].count("bank") == 2
    assert [session.agent for session in taken].count("other") == 2
    assert Slot.objects.count() == 2
    limits.leave(next(session.pk for session in taken if session.agent == "bank"))
    assert [session.agent for session in claimed(3)] == ["bank"]


def test_a_team_at_its_limit_waits_and_others_go_on(settings):
    settings.LIMITS = {"team:retail": 1}
    due(cast.retail(), 5)
    due(cast.cards(), 2)
    teams = [session.team_id for session in claimed(6)]
    assert sorted(map(teams.count, (cast.retail().pk, cast.cards().pk))) == [1, 2]


def test_a_place_of_a_dead_worker_is_free_when_its_time_is_over(settings):
    settings.LIMITS = {"tool:transfer": 1}
    session, other = uuid4(), uuid4()
    assert limits.enter_call(session, "a", "transfer")
    assert not limits.enter_call(other, "b", "transfer")
    ledger.run("UPDATE agent_sessions_slot SET until = now() - interval '1 s'", {})
    assert limits.enter_call(other, "b", "transfer")
    limits.leave(other, "b")


def test_places_are_never_more_than_the_limit_whoever_asks(settings):
    settings.LIMITS = {"tool:transfer": 3}
    sessions: list[UUID] = [uuid4() for _ in range(10)]
    got = [session for session in sessions if limits.enter_call(session, "c", "transfer")]
    assert len(got) == 3
    assert sorted(Slot.objects.values_list("number", flat=True)) == [1, 2, 3]
    assert limits.enter_call(got[0], "c", "transfer"), "the same call keeps its place"
