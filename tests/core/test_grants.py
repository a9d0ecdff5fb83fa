"""Grants for what follows: only by who approved, only as far as the rule offers, and never beyond their scope."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.decide.commands.approvals import Authority, GrantSame, RevokeGrant
from agentstate.engine.decide.context import Giver
from agentstate.engine.decide.grants import MAX_REASON, GrantOver, NoGrantOffered, UnknownGrant, counted, offered
from agentstate.engine.decide.verdicts import grants_for, policy_on
from agentstate.engine.decide.versions import consequences
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus
from agentstate.engine.policy.rules import Step
from agentstate.engine.state.evolution import evolve, fold
from agentstate.engine.state.rollback import carried
from agentstate.engine.state.session import SessionState
from agentstate.engine.state.standing_approvals import KEPT_GRANTS, grant_given
from agentstate.engine.versions.effects import Since, given_since
from agentstate.errors import Invalid, Refused
from tests.core import worlds
from tests.core.test_forks import fork
from tests.core.worlds import MAY, World, decision, transfer

LIMIT = "arguments.amount.minor <= granted.amount.minor"
OFFER = pol.Sticky("session", 3600, 2, LIMIT)
ASKS = pol.Rule("transfer.asked", ("transfer",), "true", 2, "approve", "Money.", sticky=OFFER)
FREE = pol.Rule("rest", ("authorize", "load_customer"), "true", 0, "allow", "Reads.")


def approved(*rules: pol.Rule, by: str = "sue", minor: int = 900) -> World:
    """A transfer that was approved and ran."""
    world = worlds.opened().with_rules(*(rules or (ASKS, FREE))).asked(transfer(minor))
    world = world.after(decision(world, "approve", by))
    return world.ran(world.call("transfer"), {"receipt": 1})


def grant(world: World, by: str = "sue", **more: Any) -> GrantSame:
    (request,) = {event.request for event in world.events(ev.RequestEnded) if event.outcome == "approved"}
    return GrantSame(request, by, MAY[by], **more)


def granted(**more: Any) -> World:
    world = approved()
    return world.after(grant(world, **more))


def again(world: World, minor: int = 900, **more: Any) -> World:
    """Another transfer is proposed."""
    return world.asked(transfer(minor, **more))


def status(world: World) -> CallStatus:
    return world.call("transfer").status


def test_the_same_goes_on_and_its_entry_says_by_which_grant():
    world = again(granted())
    (given,) = world.events(ev.GrantGiven)
    allowed = world.events(ev.CallAllowed)[-1]
    assert allowed.rule == f"grant:{given.grant}"
    assert (allowed.tier, given.uses, given.limit, given.by) == (2, 2, LIMIT, "sue")
    assert world.state.grants[given.grant].used == 1
    world = world.ran(world.call("transfer"), {"receipt": 2})
    assert world.events(ev.ToolIntended)[-1].rule == allowed.rule
    assert world.state.grants[given.grant].used == 1  # its execution is no second use


def test_it_is_used_as_often_as_was_granted_and_then_a_person_is_asked():
    world = granted(uses=1)
    world = again(world)
    world = world.ran(world.call("transfer"), {})
    assert status(again(world)) is CallStatus.WAITING


def test_above_its_limit_a_person_is_asked():
    assert status(again(granted(), 901)) is CallStatus.WAITING
    assert status(again(granted(), 899)) is CallStatus.READY


def test_a_limit_that_cannot_be_read_asks_a_person():
    world = granted()
    odd = ev.CallProposed("c", "transfer", {"amount": {"minor": "9", "currency": "USD"}}, None)
    assert world.asked(odd).events(ev.CallRefused) or status(world.asked(odd)) is CallStatus.WAITING


def test_after_its_end_a_person_is_asked():
    world = granted(seconds=60)
    assert status(again(replace(world, seconds=world.seconds + 61))) is CallStatus.WAITING
    assert status(again(replace(world, seconds=world.seconds + 30))) is CallStatus.READY


def test_who_takes_it_back_stops_even_what_was_let_through_and_has_not_begun():
    world = again(granted())
    assert status(world) is CallStatus.READY
    (key,) = world.state.grants
    world = world.after(RevokeGrant(key, "bob", MAY["bob"], "not today"))
    world = world.after(core.Begin(world.call("transfer").id))
    assert status(world) is CallStatus.WAITING
    with pytest.raises(GrantOver):
        world.after(RevokeGrant(key, "bob", MAY["bob"]))
    with pytest.raises(UnknownGrant):
        world.after(RevokeGrant("other", "bob", MAY["bob"]))


def test_of_standing_approvals_only_those_in_force_are_looked_at():
    world = granted(seconds=60)
    (key,) = world.state.grants
    assert [each.id for each in grants_for(world.state, world.given)] == [key]
    assert grants_for(world.state, replace(world, seconds=world.seconds + 60).given) == []
    revoked = world.after(RevokeGrant(key, "bob", MAY["bob"]))
    assert grants_for(revoked.state, revoked.given) == []


def test_it_is_judged_anew_when_the_call_begins():
    world = again(granted())
    stricter = msgspec.structs.replace(ASKS, tier=3)
    silent = msgspec.structs.replace(ASKS, sticky=None)
    for rule in (stricter, silent):
        then = world.with_rules(rule, FREE)
        then = then.after(core.Begin(then.call("transfer").id))
        assert status(then) is CallStatus.WAITING


@pytest.mark.parametrize(
    "changes",
    [
        {"tier": 3},
        {"quorum": 2, "sticky": None},
        {"four_eyes": True},
        {"reviewers": ("role:supervisor",)},
        {"retype": ("arguments.amount.minor",)},
        {"hold": 5},
        {"reasons": ("asked",)},
        {"chain": (Step(60, ("role:senior",)),)},
        {"sticky": None},
    ],
)
def test_a_rule_that_asks_for_more_than_was_passed_is_asked_about(changes):
    world = granted().with_rules(msgspec.structs.replace(ASKS, **changes), FREE)
    assert status(again(world)) is CallStatus.WAITING


def test_a_grant_of_an_older_form_covers_no_more_than_it_says_it_met():
    world = granted()
    (key,) = world.state.grants
    older = msgspec.structs.replace(world.state.grants[key], met=None)
    world = replace(world, state=msgspec.structs.replace(world.state, grants={key: older}))
    assert status(again(world)) is CallStatus.READY
    for changes in ({"hold": 5}, {"reasons": ("asked",)}, {"tier": 3}):
        stricter = world.with_rules(msgspec.structs.replace(ASKS, **changes), FREE)
        assert status(again(stricter)) is CallStatus.WAITING


def test_only_somebody_with_the_right_of_the_rules_reviewers_gives_a_standing_approval():
    """Bob approves on what sue lent him; on his own authority he may give nothing."""
    senior = msgspec.structs.replace(ASKS, reviewers=("role:senior",))
    names = {"bob": frozenset({"role:supervisor"}), "sue": frozenset({"role:senior"})}
    lent = (Authority(MAY["sue"], names["sue"], "sue"),)
    world = worlds.opened().with_rules(senior, FREE).asked(transfer(900))
    world = world.after(decision(world, "approve", "bob", names=names["bob"], lent=lent))
    world = world.ran(world.call("transfer"), {"receipt": 1})
    with pytest.raises(core.DecisionNotAllowed, match="role:senior"):
        world.after(grant(world, by="bob", names=names["bob"]))
    world = world.after(grant(world, by="bob", names=names["bob"], lent=lent))
    (given,) = world.events(ev.GrantGiven)
    assert (given.by, given.under) == ("bob", "sue")
    (held,) = world.state.grants.values()
    assert held.under == "sue"

    def standing(**givers: tuple[Authority, ...]) -> CallStatus:
        return with_givers(world, **{by: Giver(authorities) for by, authorities in givers.items()})

    assert standing(bob=(Authority(MAY["bob"], names["bob"]), *lent)) is CallStatus.READY
    assert standing(bob=(Authority(MAY["bob"], names["bob"]),)) is CallStatus.WAITING  # the lending has ended
    assert standing() is CallStatus.WAITING
    lost = Authority(frozenset(), names["sue"], "sue")
    assert standing(bob=(lost,)) is CallStatus.WAITING
    junior = Authority(MAY["sue"], names["bob"], "sue")
    assert standing(bob=(junior,)) is CallStatus.WAITING


def test_a_standing_approval_covers_nothing_in_which_its_giver_had_a_part():
    world = granted()
    barged = world.after(core.BargeIn("One moment.", "sue"))
    assert status(again(barged)) is CallStatus.WAITING
    spoke = world.after(core.Say("customer", "Again.", "sue"))
    assert status(again(spoke)) is CallStatus.WAITING
    assert status(again(world.after(core.BargeIn("One moment.", "ann")))) is CallStatus.READY


def test_who_had_a_part_since_gives_no_standing_approval():
    world = approved().after(core.BargeIn("One moment.", "sue"))
    with pytest.raises(core.DecisionNotAllowed, match="you spoke to the customer for the agent"):
        world.after(grant(world))


def with_givers(world: World, **givers: Giver) -> CallStatus:
    """What becomes of another transfer when this is known of those who gave standing approvals."""
    state, given = world.state, msgspec.structs.replace(world.given, givers=givers)
    for command in (core.Ask("s", "m", 0, 0, ("transfer",), "d"), core.Answer("s", "m", "", (transfer(900),))):
        for event in core.decide(command, state, given):
            state = evolve(state, event, stamp(given.at))
    return list(state.calls.values())[-1].status


def test_a_standing_approval_covers_nothing_in_which_a_colleague_who_shares_its_givers_right_had_a_part():
    """Whether ann lent her right to sue, or sue hers to ann: the two count as one person."""
    world = granted()
    barged = world.after(core.BargeIn("One moment.", "ann"))
    own = (Authority(MAY["sue"]),)
    assert with_givers(barged, sue=Giver(own, frozenset({"ann"}))) is CallStatus.WAITING
    assert with_givers(barged, sue=Giver(own, frozenset({"bob"}))) is CallStatus.READY
    (held,) = own
    through_ann = (msgspec.structs.replace(held, shares=frozenset({"ann"})),)
    assert with_givers(barged, sue=Giver(through_ann)) is CallStatus.WAITING
    assert with_givers(world, sue=Giver(own, frozenset({"ann"}))) is CallStatus.READY


def test_who_shares_a_right_with_somebody_who_had_a_part_gives_no_standing_approval():
    world = approved().after(core.BargeIn("One moment.", "ann"))
    with pytest.raises(core.DecisionNotAllowed, match="a colleague with whom you share a right spoke"):
        world.after(grant(world, sharing=frozenset({"ann"})))
    assert world.after(grant(world, sharing=frozenset({"bob"}))).state.grants


def test_a_rule_beside_it_that_offers_none_asks():
    beside = pol.Rule("new.payee", ("transfer",), "has(arguments.new_payee)", 2, "approve", "New.")
    world = granted().with_rules(ASKS, beside, FREE)
    assert status(again(world, new_payee=True)) is CallStatus.WAITING
    assert status(again(world)) is CallStatus.READY


def test_only_who_approved_may_grant_and_only_once():
    world = approved()
    with pytest.raises(core.DecisionNotAllowed):
        world.after(grant(world, by="bob"))
    with pytest.raises(core.DecisionNotAllowed):
        world.after(GrantSame(grant(world).request, "sue", frozenset()))
    world = world.after(grant(world))
    with pytest.raises(NoGrantOffered):
        world.after(grant(world))


def test_what_is_not_offered_is_not_granted():
    world = approved(msgspec.structs.replace(ASKS, sticky=None), FREE)
    with pytest.raises(NoGrantOffered):
        world.after(grant(world))
    today = approved().with_rules(msgspec.structs.replace(ASKS, sticky=None), FREE)
    with pytest.raises(NoGrantOffered):
        today.after(grant(today))


@pytest.mark.parametrize("more", [{"uses": 3}, {"uses": 0}, {"seconds": 3601}, {"seconds": 0}, {"reason": "x" * 2001}])
def test_no_more_is_granted_than_is_offered(more):
    world = approved()
    with pytest.raises(Invalid):
        world.after(grant(world, **more))


def test_a_rollback_ends_every_grant_of_its_session_alone():
    world = granted()
    at = stamp(world.given.at)
    for older in (world.state, fold(world.history[:-1])):
        rolled = ev.SessionRolledBack(older.seq, world.state.epoch + 1, "sue", "wrong", "", carried(older))
        assert evolve(world.state, rolled, at).grants == {}


def test_a_rollback_ends_by_name_the_standing_approvals_that_were_given_since_and_hold_beyond_the_session():
    customer = msgspec.structs.replace(ASKS, sticky=msgspec.structs.replace(OFFER, scope="customer"))
    world = approved(customer, FREE)
    older = world.state
    world = world.after(grant(world))
    stored = [(seq, event) for seq, (event, _) in enumerate(world.history)]
    assert given_since(stored[older.seq :]) == tuple(world.state.grants)
    assert given_since(stored[: older.seq]) == ()
    since = Since(approvals=given_since(stored))
    shown = consequences(world.state, older, since)
    world = world.after(core.Rollback(older.seq, "sue", "wrong", shown.digest, older, since))
    (ended,) = world.events(ev.GrantRevoked)
    assert (ended.grant, ended.by, ended.reason) == (*since.approvals, "sue", "taken back by a rollback")
    (given,) = world.events(ev.GrantGiven)
    assert given_since([(0, msgspec.structs.replace(given, scope="session"))]) == ()


def test_a_fork_does_not_have_the_grants_of_its_parent():
    world = granted()
    forked = ev.SessionForked("parent", world.state.seq, "", carried(world.state), "sue")
    fork = evolve(worlds.opened().state, forked, stamp(world.given.at))
    assert world.state.grants
    assert fork.grants == {}


def test_a_request_is_granted_from_only_in_the_epoch_in_which_it_stands():
    world = worlds.opened().with_rules(ASKS, FREE).asked(transfer(900))
    with pytest.raises(core.DecisionNotAllowed):
        world.after(GrantSame(world.request.asked.request, "sue", MAY["sue"]))


def test_the_state_is_bounded_and_the_oldest_that_ended_go_first():
    world = granted()
    (event,) = world.events(ev.GrantGiven)
    state = world.state
    for number in range(KEPT_GRANTS + 5):
        state = grant_given(state, msgspec.structs.replace(event, grant=f"g{number}"), "2026-11-21T03:00:00.000000Z")
    assert len(state.grants) == KEPT_GRANTS


MOVED = "'transfer' in history.today.moved && history.today.moved.transfer.USD + arguments.amount.minor > 1500"
SMALL = pol.Rule("small", ("transfer",), "true", 1, "allow", "Small.")
FIFTEEN_A_DAY = pol.Rule("day", ("transfer",), MOVED, 2, "approve", "More than $15 today.")


def test_what_was_set_going_today_is_read_by_rules():
    world = worlds.opened().with_rules(SMALL, FIFTEEN_A_DAY, FREE).asked(transfer(900))
    world = world.ran(world.call("transfer"), {})
    assert status(again(world, 600)) is CallStatus.READY
    assert status(again(world, 601)) is CallStatus.WAITING
    tomorrow = replace(world, seconds=world.seconds + 24 * 3600)
    assert status(again(tomorrow, 601)) is CallStatus.READY


def test_a_call_that_is_tried_again_counts_once_for_the_day_and_other_arguments_of_it_count_as_well():
    world = worlds.opened().with_rules(SMALL, FIFTEEN_A_DAY, FREE).asked(transfer(900))
    call = world.call("transfer").id
    world = world.after(core.Begin(call), core.Begin(call))
    assert (world.call("transfer").attempt, world.state.tally.moved) == (2, {"transfer": {"USD": 900}})
    failed = world.after(core.Fail(call, 2, "down", True))
    assert failed.after(core.Begin(call)).call("transfer").status is CallStatus.RUNNING
    asked = failed.with_rules(msgspec.structs.replace(SMALL, gate="approve"), FREE).after(core.Begin(call))
    edited = asked.after(worlds.decision(asked, "edit", "sue", arguments=transfer(700).arguments))
    edited = edited.after(worlds.decision(edited, "approve", "zoe"), core.Begin(call))
    assert edited.state.tally.moved == {"transfer": {"USD": 1600}}


def test_an_amount_that_cannot_be_read_asks_a_person_for_the_rest_of_the_day():
    odd = transfer(5)
    odd.arguments["amount"]["currency"] = "QQQ"
    world = worlds.opened().with_rules(SMALL, FIFTEEN_A_DAY, FREE)
    asked = world.asked(odd)
    assert (status(asked), asked.request.asked.tier) == (CallStatus.WAITING, 3)
    begun = world.with_rules(SMALL, FREE).asked(odd).ran_last({})
    assert status(again(begun.with_rules(SMALL, FIFTEEN_A_DAY, FREE), 1)) is CallStatus.WAITING


def test_a_call_that_began_before_its_sum_was_kept_is_not_counted_again():
    world = worlds.opened().with_rules(SMALL, FREE).asked(transfer(900))
    call = world.call("transfer").id
    state = world.after(core.Begin(call)).state
    old = msgspec.structs.replace(state.calls[call], counted=("", ""))
    (again,) = world.after(core.Begin(call), core.Begin(call)).events(ev.ToolIntended)[1:]
    later = evolve(msgspec.structs.replace(state, calls={**state.calls, call: old}), again, state.last_at)
    assert later.tally == state.tally


def test_rules_read_the_hour_of_the_policys_zone():
    night = pol.Rule("night", ("transfer",), "time.hour < 8 && time.zone == 'America/New_York'", 2, "approve", "Night.")
    world = worlds.opened().with_rules(night, FREE).asked(transfer(900))
    given = msgspec.structs.replace(world.given, zone=ZoneInfo("America/New_York"))
    verdict, values = policy_on(world.state, world.call("transfer"), world.tools["transfer"], given)
    assert (values["time"]["hour"], values["time"]["date"]) == (22, "2026-11-20")
    assert verdict.rule == "default.effect"  # 22 o'clock is not before eight


# --- exactly what is given, used and taken back -------------------------------------------------------------------


def refusal(world: World, command: object) -> tuple[str, dict[str, Any]]:
    with pytest.raises(Refused) as refused:
        world.after(command)
    return refused.value.detail, {name: value for name, value in refused.value.facts.items() if value}


def test_what_is_given_is_what_was_approved_for_as_long_and_as_often_as_was_asked():
    rule = msgspec.structs.replace(ASKS, reasons=("asked", "urgent"), reviewers=("role:senior",), four_eyes=True)
    world, names = worlds.opened().with_rules(rule, FREE).asked(transfer(900)), frozenset({"role:senior"})
    request = world.request
    world = world.after(decision(world, "approve", "sue", code="urgent", names=names))
    until = stamp(world.given.at + timedelta(seconds=3600))
    world = world.after(grant(world, uses=2, seconds=3600, reason=" Rent. ", names=names))
    met = pol.Requirements(
        reviewers=(("role:senior",),), four_eyes=True, reasons=("urgent",), sticky=OFFER, tier=2, quorum=1
    )
    assert world.events(ev.GrantGiven)[0] == ev.GrantGiven(
        grant=world.events(ev.GrantGiven)[0].grant, request=request.asked.request, call=request.asked.call,
        tool="transfer", rule="transfer.asked", policy="other@2", gate="approve", tier=2,
        reviewers=(("role:senior",),), four_eyes=True, retype=(), arguments=request.arguments, scope="session",
        until=until, uses=2, limit=LIMIT, by="sue", reason="Rent.", met=met,
    )  # fmt: skip


def test_what_is_given_is_bound_to_the_activity_of_what_was_approved():
    world = approved()
    command = grant(world)
    request = world.state.requests[command.request]
    slow = msgspec.structs.replace(request, asked=msgspec.structs.replace(request.asked, activity="slow"))
    state = msgspec.structs.replace(world.state, requests={command.request: slow})
    assert replace(world, state=state).after(command).events(ev.GrantGiven)[0].activity == "slow"


@pytest.mark.parametrize("field", ["uses", "seconds"])
def test_more_or_less_than_is_offered_is_refused_with_the_bounds(field):
    world, most = approved(), {"uses": 2, "seconds": 3600}[field]
    for wanted in (0, most + 1):
        text = f"got {wanted}, want 1 to {most}"
        assert refusal(world, grant(world, **{field: wanted})) == (text, {"field": field})
    for wanted in (1, most):
        assert world.after(grant(world, **{field: wanted})).events(ev.GrantGiven)


def test_the_tighter_of_what_was_offered_then_and_is_offered_today_is_given():
    world = approved()
    for seconds, uses in ((60, 9), (9999, 1)):
        today = msgspec.structs.replace(OFFER, seconds=seconds, uses=uses)
        then = world.with_rules(msgspec.structs.replace(ASKS, sticky=today), FREE)
        given = then.after(grant(then)).events(ev.GrantGiven)[0]
        assert given.until == stamp(then.given.at + timedelta(seconds=min(3600, seconds)))
        assert given.uses == min(2, uses)


@pytest.mark.parametrize("today", [{"limit": "true"}, {"scope": "agent"}])
def test_an_offer_that_policy_has_changed_since_is_none(today):
    world = approved()
    sticky = msgspec.structs.replace(OFFER, **today)
    world = world.with_rules(msgspec.structs.replace(ASKS, sticky=sticky), FREE)
    assert refusal(world, grant(world)) == ("policy has changed since it was asked about", {})


def test_what_is_offered_once_its_tool_or_call_is_gone_is_nothing():
    world = approved()
    without_tool = replace(world, tools={})
    without_call = replace(world, state=msgspec.structs.replace(world.state, calls={}))
    for each in (without_tool, without_call):
        with pytest.raises(NoGrantOffered):
            each.after(grant(each))


def test_each_request_is_granted_from_once_while_its_grant_holds():
    world = approved()
    first = grant(world)
    world = world.after(first)
    assert refusal(world, first) == ("it is granted already", {})
    later = replace(world, seconds=world.seconds + 3600)
    assert len(later.after(first).events(ev.GrantGiven)) == 2
    second = again(world, 901)
    other = second.request.asked.request
    second = second.after(decision(second, "approve", "sue"))
    assert len(second.after(GrantSame(other, "sue", MAY["sue"])).events(ev.GrantGiven)) == 2


def test_only_an_approver_without_a_part_in_it_gives():
    world = approved()
    text = "only who approved it may grant the same for what follows"
    assert refusal(world, grant(world, by="bob")) == (text, {})
    spoke = world.after(core.BargeIn("One moment.", "sue"))
    part = "you spoke to the customer for the agent since the last hand-back: another person must approve it"
    assert refusal(spoke, grant(spoke)) == (part, {})


def test_nothing_is_offered_of_what_several_approved_of_another_subject_or_in_a_draft():
    world = approved()
    (request,) = (each for each in world.state.requests.values() if each.approvals)
    assert offered(world.state, request) == OFFER
    asked = request.asked
    for changes in ({"quorum": 2}, {"terms": None}):
        odd = msgspec.structs.replace(request, asked=msgspec.structs.replace(asked, **changes))
        assert offered(world.state, odd) is None
    assert offered(world.state, msgspec.structs.replace(request, kid="k")) is None
    assert offered(fork(world).state, request) is None


def test_who_takes_it_back_is_named_with_the_reason():
    world = granted()
    (key,) = world.state.grants
    needs = "a grant is taken back by who may decide"
    assert refusal(world, RevokeGrant(key, "bob", frozenset())) == (needs, {"permission": "decide"})
    longest = "x" * MAX_REASON
    assert refusal(world, RevokeGrant(key, "bob", MAY["bob"], longest + "x")) == (
        f"{MAX_REASON + 1} characters, {MAX_REASON} allowed",
        {"field": "reason"},
    )
    for reason in (" Not today. ", longest):
        over = world.after(RevokeGrant(key, "bob", MAY["bob"], reason))
        assert over.events(ev.GrantRevoked) == [ev.GrantRevoked(key, "bob", reason.strip())]
    assert refusal(over, RevokeGrant(key, "ann", MAY["ann"])) == ("bob has taken it back", {})
    wider = world.after(RevokeGrant("beyond", "bob", MAY["bob"], wider=True))
    assert wider.events(ev.GrantRevoked) == [ev.GrantRevoked("beyond", "bob")]


def test_a_grant_from_beyond_the_session_has_one_use_less_once_a_call_rests_on_it():
    world = granted()
    (one,) = world.state.grants.values()
    grants = {each: msgspec.structs.replace(one, id=each, used=1) for each in ("a", "b")}
    given = msgspec.structs.replace(world.given, grants=grants)
    call = world.call("transfer")
    allowed = ev.CallAllowed(call.id, 2, "grant:b", "other@2")
    used = {each.id: each.used for each in counted(given, world.state, allowed).grants.values()}
    assert used == {"a": 1, "b": 2}
    assert counted(given, SessionState(), allowed).grants["b"].used == 2
    rests = msgspec.structs.replace(call, rule="grant:b")
    resting = msgspec.structs.replace(world.state, calls={call.id: rests})
    intent = msgspec.structs.replace(world.events(ev.ToolIntended)[-1], rule="grant:b")
    assert counted(given, world.state, intent).grants["b"].used == 2
    for state, event in (
        (resting, allowed),
        (resting, intent),
        (world.state, msgspec.structs.replace(allowed, rule="free")),
        (world.state, ev.CallRefused(call.id, "code", "reason")),
    ):
        assert counted(given, state, event) is given
