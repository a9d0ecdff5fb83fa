"""A session's alias: sealed with the card, found by a keyed token, shown to readers only, gone with the customer."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from agentstate.clock import now
from agentstate.people.models import User
from audit import erasure, keys
from sessions.core import access, session_lines
from sessions.models.sessions import AgentSession
from sessions.privacy import commands as privacy
from sessions.privacy.stores import STORES
from tests import cast
from tests.shell.api_world import Api
from tests.shell.bank_world import opened

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner", "erase"])
ALIAS = "Numbat-4711"


def found_by(user: User, reference: str = ALIAS) -> list[UUID]:
    return [line.id for line in session_lines.sessions(user, reference=reference)]


@pytest.mark.parametrize("reader", ["adam", "petra"])
def test_who_may_see_a_session_and_not_read_it_is_shown_no_alias_and_finds_none(reader):
    session, user = opened(alias=ALIAS), getattr(cast, reader)()
    api = Api(user)
    (line,) = api.get("/sessions").json()["sessions"]
    assert (line["id"], line["alias"]) == (str(session), "")
    assert api.get(f"/sessions/{session}").json()["alias"] == ""
    assert found_by(user) == []
    assert found_by(cast.vera()) == [session]
    assert Api(cast.vera()).get(f"/sessions/{session}").json()["alias"] == ALIAS


def test_a_grant_on_some_sessions_finds_these_by_their_alias_and_no_other():
    session, auditor = opened(alias=ALIAS), cast.anna()
    other = opened(alias=ALIAS)
    assert found_by(auditor) == []
    until = now() + timedelta(hours=1)
    cast.grants.give(auditor, cast.retail(), until=until, reason="audit", by=None, sessions=[session])
    assert found_by(auditor) == [session]
    assert set(found_by(cast.alice())) == {session, other}


def test_two_readers_and_two_days_make_different_tokens_of_one_search(monkeypatch):
    alice, bob = cast.alice(), cast.bob()
    today = access.searched(alice, "C-1001")
    assert access.searched(alice, "C-1001") == today
    tomorrow = now() + timedelta(days=1)
    monkeypatch.setattr(access, "now", lambda: tomorrow)
    assert len({today, access.searched(alice, "C-1001"), access.searched(bob, "C-1001")}) == 3
    assert access.searched(alice, "C-1002") != access.searched(alice, "C-1001")


def test_the_alias_finds_nothing_once_the_erasure_has_begun_although_no_sweep_has_run():
    session = opened(alias=ALIAS)
    kid = AgentSession.objects.get(pk=session).kid
    request = privacy.ask_erasure(cast.petra(), basis="objection", reason="letter", session=session)
    assert erasure.close(request)
    assert keys.remembered([kid])
    assert AgentSession.objects.get(pk=session).alias_token is not None
    assert found_by(cast.alice()) == []


def test_a_sweep_takes_alias_and_token():
    session = opened(alias=ALIAS)
    row = AgentSession.objects.get(pk=session)
    AgentSession.objects.filter(pk=session).update(card=b"")  # the token alone counts as something that is left
    (store,) = [store for store in STORES if store.name == "sessions"]
    assert (store.count(row.kid), store.sweep(row.kid), store.count(row.kid)) == (1, 1, 0)
    assert AgentSession.objects.get(pk=session).alias_token is None


def test_the_catalog_keeps_no_statistics_of_the_token(test_database):
    for number in range(3):
        opened(f"C-100{number}", alias=ALIAS)
    with test_database.administrator(test_database.name) as owner:
        owner.execute("ANALYZE agent_sessions_agentsession")
        kept = "SELECT attname FROM pg_stats WHERE tablename = 'agent_sessions_agentsession'"
        columns = {name for (name,) in owner.execute(kept)}
    assert "agent" in columns
    assert "alias_token" not in columns
