"""The twelve kinds of caller against the real engine, policy and scripted agent; and who calls when."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from agentstate.engine import events as ev
from demo.bank.people import people
from demo.bank_agent.script.amounts import amounts_in
from demo.bank_agent.script.lines import LINES, say
from demo.callers.api import Refused
from demo.callers.call import Call
from demo.callers.desk import Desk
from demo.callers.former import hang_up_former
from demo.callers.kinds import COMMON, HANG_UP, KINDS, callers_for, cue, reply, story
from demo.callers.wording import in_hundreds, words
from tests.core.bank_world import Supervisor, World, approve, edit_to, expire, nobody, reject, unopposed

SEEDS = range(12)


class Clock:
    """Time that passes only while a caller sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


async def call(kind: str, supervisor: Supervisor, seed: int, patience: int = 3) -> tuple[World, int, str]:
    """One whole call; the world afterwards, the amount the customer meant, and why it ended."""
    dice = Random(seed)
    told = story(KINDS[kind], dice, dice.choice(callers_for(KINDS[kind], ())))
    world = World(told.person, supervisor, patience)
    clock = Clock()
    reason = await Call(world, told, dice, pace=0.0, clock=clock, sleep=clock.sleep).run()
    return world, told.minor, reason


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_small_transfer_goes_through_without_a_person(seed: int) -> None:
    world, minor, reason = await call("small", nobody, seed)
    assert [amount for _, _, amount in world.moved] == [minor]
    assert (world.outcomes(), reason) == ([], "the customer said goodbye")


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_transfer_asked_for_in_writing_is_held_and_goes_through_unopposed(seed: int) -> None:
    world, minor, reason = await call("written", unopposed, seed)
    assert [amount for _, _, amount in world.moved] == [minor]
    assert (world.outcomes(), reason) == (["unopposed"], "the customer said goodbye")


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_large_transfer_waits_for_a_person_and_is_approved(seed: int) -> None:
    world, minor, reason = await call("large", approve, seed)
    assert [amount for _, _, amount in world.moved] == [minor]
    assert (world.outcomes(), reason) == (["approved"], "the customer said goodbye")


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_misheard_amount_is_corrected_by_the_supervisor(seed: int) -> None:
    world, minor, _ = await call("misheard", lambda w, r: edit_to(minor_said(w))(w, r), seed)
    assert [amount for _, _, amount in world.moved] == [minor]
    assert world.outcomes() == ["edited"]
    assert "colleague has corrected" in world.said()
    assert f"${minor / 100 + 500:,.2f} from savings" in world.said()


def minor_said(world: World) -> int:
    """The amount as a supervisor reads it in the customer's words: nothing ends in eight hundred."""
    heard = next(r for r in world.state.requests.values()).asked.arguments["amount"]["minor"]
    assert "three hundred" in world.said("customer").lower()
    return int(heard) - 50_000


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_doubtful_story_is_rejected_and_the_caller_leaves(seed: int) -> None:
    world, _, reason = await call("doubtful", reject, seed)
    assert (world.moved, world.outcomes(), reason) == ([], ["rejected"], "the customer said goodbye")
    request = next(iter(world.state.requests.values())).asked
    assert request.arguments["new_payee"] is True
    assert (request.tier, request.quorum) == (3, 1)


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_check_that_says_no_ends_it_without_a_request(seed: int) -> None:
    world, _, reason = await call("refused_check", approve, seed)
    assert (world.moved, world.outcomes(), reason) == ([], [], "the customer said goodbye")


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_check_that_is_away_and_back_only_delays_the_transfer(seed: int) -> None:
    world, minor, _ = await call("check_away", nobody, seed)
    assert [amount for _, _, amount in world.moved] == [minor]
    assert "security check is not answering" in world.said()


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_balance_question_is_answered_and_nothing_else_happens(seed: int) -> None:
    world, _, reason = await call("balance", approve, seed)
    assert (world.moved, world.checks, reason) == ([], 0, "the customer said goodbye")
    assert f"{world.person.account('savings').balance // 100:,}" in world.said()


@pytest.mark.parametrize("seed", SEEDS)
async def test_second_thoughts_at_confirmation_move_nothing(seed: int) -> None:
    world, _, reason = await call("second_thoughts", approve, seed)
    assert (world.moved, world.outcomes(), reason) == ([], [], "the customer said goodbye")


@pytest.mark.parametrize("seed", SEEDS)
async def test_one_who_hangs_up_takes_the_request_with_them(seed: int) -> None:
    world, _, reason = await call("hangs_up", nobody, seed)
    assert (world.moved, world.outcomes(), reason) == ([], ["withdrawn"], "the customer hung up while waiting")


@pytest.mark.parametrize("seed", SEEDS)
async def test_callers_wait_for_a_decision_until_it_expires_and_then_ask_again(seed: int) -> None:
    def late(world: World, request: object) -> object:
        return expire(world, request) if not world.outcomes() else approve(world, request)  # type: ignore[arg-type]

    world, minor, _ = await call("large", late, seed)
    assert world.outcomes() == ["expired", "approved"]
    assert [amount for _, _, amount in world.moved] == [minor]


async def test_a_wait_so_long_that_the_beginning_is_summarised_ends_as_well_as_a_short_one() -> None:
    world = World(people()[0], nobody)
    await world.open(customer=people()[0].id, agent="bank", channel="phone", topic="")
    for words_said in ("Move $1,200 from savings to checking", "yes", *["Still nothing? Is it $1,200?"] * 40):
        await world.say("session", words_said)
    assert world.state.memory.summaries
    assert [item.calls[0].tool for item in world.state.items if item.calls] == ["transfer"]  # the one that waits
    assert len(world.state.requests) == 1
    world.command(approve(world, next(iter(world.state.requests.values()))))
    world.run()
    assert "$1,200.00 from savings" in world.state.items[-1].text


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_can_answer_whatever_the_agent_wants(kind: str) -> None:
    dice = Random(7)
    told = story(KINDS[kind], dice, callers_for(KINDS[kind], ())[0])
    for wanted in COMMON:
        for _ in range(10):
            said = reply(told, wanted, dice)
            assert "{" not in said
            assert said != HANG_UP or (kind, wanted) == ("hangs_up", "chat")


def test_every_question_of_the_agent_is_understood_by_the_callers() -> None:
    slots = {"amount": "$1.00", "source": "savings ending 2207", "target": "checking ending 9931", "accounts": "two"}
    for name in (name for name in LINES if name.startswith("ask_")):
        assert cue(say(name, 0, **slots)) != "other", name


def test_the_agent_understands_every_amount_a_caller_may_name_in_words() -> None:
    for dollars in range(20, 9999, 7):
        assert amounts_in(f"{words(dollars)} dollars") == [100 * dollars]


def test_the_agent_mishears_exactly_the_amounts_of_the_misheard() -> None:
    low, high, step = KINDS["misheard"].amounts
    for dollars in range(low, high + 1, step):
        assert amounts_in(f"{in_hundreds(dollars)} dollars") == [100 * dollars + 50_000]


def test_the_desk_always_has_callers_with_something_to_decide_but_not_only_them() -> None:
    desk, dice = Desk(8, seed=1), Random(2)
    running, kinds = [desk.next() for _ in range(8)], Counter[str]()
    for _ in range(400):
        deciding = sum(told.kind.decides and told.kind.name != "hangs_up" for told in running)
        assert 3 <= deciding <= 5
        assert sum(told.kind.name == "large" for told in running) >= 2
        assert len({told.person.id for told in running}) == 8
        desk.over(ended := running.pop(dice.randrange(8)))
        kinds[ended.kind.name] += 1
        running.append(desk.next())
    assert set(kinds) == set(KINDS)


def test_the_people_are_many_and_their_accounts_cannot_be_confused() -> None:
    assert len(people()) >= 60
    assert len({person.name for person in people()}) == len(people())
    endings = [account.last4 for person in people() for account in person.accounts]
    assert len(set(endings)) == len(endings)
    assert {person.flag for person in people()} == {"clear", "refuse", "slow", "unsteady"}


@pytest.mark.parametrize("kind", ["wants_person", "upset"])
async def test_who_asks_for_a_person_or_is_upset_is_in_the_queue_of_those_who_ask(kind: str) -> None:
    world, _, _ = await call(kind, nobody, 3)
    wishes = [event for event in world.log if event.__struct_config__.tag == "session.human_requested"]
    assert len(wishes) == 1
    assert "colleague has been asked for" in world.said() or "ask for a colleague" in world.said()


async def test_who_wants_it_no_more_while_a_colleague_decides_has_it_withdrawn() -> None:
    world = World(next(person for person in people() if person.flag == "clear"), nobody)
    await world.open(customer=world.person.id, agent="bank", channel="phone", topic="transfer")
    for said in ("I would like to move $1,300 from savings to checking.", "Yes, that is right."):
        await world.say("session", said)
    assert (world.outcomes(), world.moved) == ([], [])
    await world.say("session", "Stop, I do not want it any more")
    assert (world.outcomes(), world.moved) == (["withdrawn"], [])
    answers = [event.text for event in world.log if isinstance(event, ev.MessageAdded) and event.role == "agent"]
    assert "Nothing has been moved" in answers[-1]


class Switchboard:
    """The sessions of a former life, and which were ended."""

    def __init__(self, *sessions: dict[str, Any]) -> None:
        usual = {"agent": "bank", "ended_at": None, "parent": None, "fork_of": None}
        self.held = [usual | {"id": str(number)} | each for number, each in enumerate(sessions)]
        self.ended: list[str] = []

    async def sessions(self) -> list[dict[str, Any]]:
        return self.held

    async def end(self, session: str, reason: str) -> None:
        if session == "0":
            raise Refused(409, "it has ended")
        self.ended.append(session)


async def test_former_callers_hang_up_and_nobody_elses_session_ends():
    others = {"agent": "clerk"}, {"ended_at": "2026-01-01T00:00:00Z"}, {"parent": "1"}, {"fork_of": "1"}
    line = Switchboard({}, {}, *others, {})
    assert await hang_up_former(line) == 2
    assert line.ended == ["1", "6"]
