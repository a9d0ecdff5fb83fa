"""Changes of a real session's state, side by side with its agent and each other."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from agentstate.engine.decide.changes import ChangedMeanwhile, OwnCause
from agentstate.engine.merge.three_way import PathChange
from agentstate.engine.schemas import BreaksSchema, NotAWriter
from agentstate.people.permissions import PermissionDenied
from sessions.state import commands as state_commands
from sessions.state import queries as state_queries
from sessions.versions import queries as versions_queries
from sessions.web import rebuild
from tests import cast
from tests.shell.api_world import Api, nothing_written, problem
from tests.shell.bank_world import events, opened, state, work

pytestmark = pytest.mark.django_db(transaction=True)


def answered(bank: Any) -> UUID:
    session = opened()
    work()
    return session


def change(session: UUID, by: Any, seen: int, **values: Any) -> Any:
    wanted = [PathChange(f"state.{path}", value) for path, value in values.items()]
    return state_commands.change_state(by, session, seen=seen, changes=wanted)


def contested(session: UUID) -> state_queries.ConflictLine:
    """Alice and Bob understood the caller differently."""
    seen = state(session).seq
    change(session, cast.alice(), seen, goal="close the account")
    change(session, cast.bob(), seen, goal="order a card")
    return next(line for line in state_queries.conflicts(cast.alice(), session) if line.status == "open")


def test_notes_of_two_colleagues_are_both_kept(bank):
    session = answered(bank)
    seen = state(session).seq
    change(session, cast.alice(), seen, notes=["asked for the branch"])
    change(session, cast.bob(), seen, notes=["sounded hurried"], flags=["hurried"])
    assert sorted(state(session).pad["notes"]) == ["asked for the branch", "sounded hurried"]
    assert state(session).pad["flags"] == ["hurried"]
    assert rebuild.check(session) == []


def test_the_record_of_the_bank_is_not_for_colleagues_to_write(bank):
    session = answered(bank)
    with pytest.raises(NotAWriter, match=r"state\.authorization"), nothing_written():
        change(session, cast.alice(), state(session).seq, authorization={"allowed": True})
    with pytest.raises(BreaksSchema, match=r"state\.goal"), nothing_written():
        change(session, cast.alice(), state(session).seq, goal=7)


def test_a_third_person_settles_what_two_understood_differently(bank):
    session = answered(bank)
    found = contested(session)
    assert state(session).pad["goal"] == "close the account"
    wanted = next(each.id for each in found.proposals if each.value == ["order a card"])
    with pytest.raises(OwnCause), nothing_written():
        state_commands.settle(cast.bob(), session, found.id, proposal=wanted, reason="mine")
    state_commands.settle(cast.alice(), session, found.id, proposal=wanted, reason="listened again")
    assert state(session).pad["goal"] == "order a card"
    assert events(session, "conflict.ended")[0]["lost"][0]["value"] == ["close the account"]


def test_only_who_may_change_state_does(bank):
    session = answered(bank)
    for user in (cast.vera(), cast.cleo(), cast.let_in(cast.anna(), "read"), cast.adam()):
        with pytest.raises(PermissionDenied), nothing_written():
            change(session, user, 1, goal="x")
        with pytest.raises(PermissionDenied), nothing_written():
            state_commands.cast_vote(user, session, "x", proposal="")
        with pytest.raises(PermissionDenied), nothing_written():
            state_commands.settle(user, session, "x", proposal="", reason="x")


def test_over_the_api_a_change_says_how_each_path_was_merged(bank):
    session, api = answered(bank), Api(cast.alice())
    read = api.get(f"/sessions/{session}/state").json()
    change(session, cast.bob(), read["seq"], notes=["sounded hurried"])
    body = {
        "seen": read["seq"],
        "changes": [{"path": "state.notes", "value": ["asked for the branch"]}],
        "idempotency_key": "k1",
    }
    done = api.post(f"/sessions/{session}/state", body).json()
    assert done["written"] == [{"path": "state.notes", "how": "list", "lost": []}]
    again = api.post(f"/sessions/{session}/state", body)
    assert (again.json(), again.headers["Idempotency-Replayed"]) == (done, "true")
    assert len(state(session).pad["notes"]) == 2


def test_over_the_api_a_clash_without_a_rule_is_refused_by_path(bank):
    session, api = answered(bank), Api(cast.alice())
    seen = state(session).seq
    change(session, cast.bob(), seen, mood="hurried")
    body = {"seen": seen, "changes": [{"path": "state.mood", "value": "calm"}]}
    assert problem(api.post(f"/sessions/{session}/state", body), 409, "changed_meanwhile")["paths"] == ["state.mood"]
    problem(api.post(f"/sessions/{session}/state", {**body, "seen": 10_000}), 400, field="seen")
    problem(api.post(f"/sessions/{session}/state", {**body, "changes": []}), 400)
    problem(
        api.post(f"/sessions/{session}/state", {"seen": 1, "changes": [{"path": "x", "value": 1}]}), 400, "bad_path"
    )
    with pytest.raises(ChangedMeanwhile):
        change(session, cast.alice(), seen, mood="calm")


def test_over_the_api_a_conflict_is_voted_on_and_settled(bank):
    session, api = answered(bank), Api(cast.alice())
    found = contested(session)
    path = f"/sessions/{session}/conflicts"
    (listed,) = api.get(path).json()["conflicts"]
    assert (listed["path"], listed["rule"], listed["status"]) == ("state.goal", "arbiter", "open")
    assert api.post(f"{path}/{found.id}/proposals", {"value": "a loan"}).status_code == 201
    assert api.post(f"{path}/{found.id}/votes", {"proposal": ""}).status_code == 201
    problem(api.post(f"{path}/{found.id}/settlement", {"proposal": "", "reason": "x"}), 403, "own_cause")
    problem(api.post(f"{path}/nothing/votes", {"proposal": ""}), 404, "no_such_conflict")
    other = Api(cast.person("sue", cast.Role.SUPERVISOR, cast.retail()))
    assert other.post(f"{path}/{found.id}/settlement", {"proposal": "", "reason": "as it was"}).status_code == 201
    assert api.get(path).json()["conflicts"][0]["status"] == "arbitrated"
    problem(other.post(f"{path}/{found.id}/votes", {"proposal": ""}), 409, "conflict_over")


def test_what_is_private_is_not_read_by_those_who_may_not_unmask(bank):
    session = answered(bank)
    change(session, cast.alice(), state(session).seq, verification={"method": "question", "answer": "Rex"})
    assert "Rex" in str(state_queries.state_line(cast.alice(), session).state)
    assert "Rex" not in str(state_queries.state_line(cast.vera(), session).state)
    assert "Rex" not in str(versions_queries.state_difference(cast.vera(), session, 1, -1))
