"""What the agent says may be judged as a call is: said at once, held for a person, or refused, before it is heard."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine import policy as pol
from agentstate.engine.advance import Nothing, next_action
from agentstate.engine.decide.commands.approvals import GrantSame
from agentstate.engine.decide.refusals import AlreadyDecided, DecisionNotAllowed, Outdated, TakenOver
from agentstate.engine.instants import stamp
from agentstate.engine.lifecycle import CallStatus, RequestStatus, SessionStatus
from agentstate.engine.memory.remembering import Remembering
from agentstate.engine.policy.terms import Sticky
from agentstate.engine.speech import SAY, read
from agentstate.engine.state.evolution import fold
from agentstate.engine.state.session import pending
from agentstate.engine.state.snapshot import from_snapshot, to_snapshot
from agentstate.engine.versions.judged_again import judged_again
from agentstate.errors import Refused
from tests.core import worlds
from tests.core.test_forks import fork
from tests.core.test_versions import rollback
from tests.core.worlds import World, proposed
from tests.searching import drawn

RULES = (
    pol.Rule("say.money", (SAY,), "size(arguments.amounts) > 0", 2, "approve", "It names an amount of money."),
    pol.Rule("say.link", (SAY,), "size(arguments.links) > 0", 2, "refuse", "It names a link."),
    pol.Rule("say.private", (SAY,), "size(arguments.private) > 0", 2, "refuse", "It tells a private value."),
)
FREE, MONEY, LINK = "Hello!", "You get $5 back.", "See evil.example for more."


def opened(*rules: pol.Rule) -> World:
    return worlds.opened().with_rules(*(rules or RULES))


def held(text: str = MONEY, *rules: pol.Rule) -> World:
    """A session whose agent wants to say something that waits for a person."""
    return opened(*rules).asked(text=text)


def heard(world: World) -> list[str]:
    """What the customer has heard of the agent."""
    return [event.text for event in world.events(ev.MessageAdded) if event.role == "agent"]


def action(world: World) -> Any:
    return next_action(world.state, stamp(world.given.at))


def begun(world: World) -> World:
    """The world after everything that may begin has begun."""
    while hasattr(going := action(world), "call"):
        world = world.after(core.Begin(going.call))
    return world


def test_without_a_rule_that_names_it_nothing_is_another():
    plain, other = worlds.opened().asked(text=MONEY), opened(pol.Rule("any", ("*",), "true", 3, "approve", "w"))
    assert [ev.kind_of(event) for event, _ in plain.history[-3:]] == [
        "model.requested",
        "message.added",
        "model.answered",
    ]
    assert heard(other.asked(text=MONEY)) == [MONEY]  # `*` names tools alone
    both = opened(*RULES, pol.Rule("any", ("*",), "true", 3, "approve", "w"))
    assert heard(both.asked(text=FREE)) == [FREE]
    assert not plain.state.calls


def test_words_that_a_rule_allows_are_said_at_once_without_a_call():
    world = opened().asked(text=FREE)
    assert heard(world) == [FREE]
    assert not world.events(ev.CallAllowed)
    assert world.state.calls == {}


def test_held_words_wait_for_a_person_and_are_said_exactly():
    world = held()
    asked = world.request.asked
    assert (asked.tool, asked.arguments, asked.rule, asked.tier) == (SAY, {"text": MONEY}, "say.money", 2)
    assert asked.preview == f"The agent wants to say: {MONEY}"
    assert asked.why == "Found in the words: amounts: 5.00 USD. It names an amount of money."
    assert (heard(world), world.state.status) == ([], SessionStatus.WAITING_FEEDBACK)
    assert action(world).waiting_for == "decision"
    approved = world.after(worlds.decision(world, "approve", "ann"))
    assert heard(approved) == []
    said = begun(approved)
    assert heard(said) == [MONEY]
    assert [ev.kind_of(event) for event, _ in said.history[-3:]] == ["tool.intended", "tool.returned", "message.added"]
    assert said.events(ev.MessageAdded)[-1].by == "model"
    assert said.state.requests[asked.request].execution == "done"
    assert action(said) == Nothing("customer")  # the customer has the turn


def test_refused_words_are_told_to_the_model_by_rule_and_said_to_nobody():
    world = held(LINK)
    (refused,) = world.events(ev.CallRefused)
    assert (refused.code, refused.reason) == ("refused_by_rule", "rule say.link: It names a link.")
    assert heard(world) == []
    assert "say.link" in world.state.items[-1].text
    assert world.state.owes


def test_an_agent_whose_words_are_refused_again_and_again_is_stopped():
    world = opened()
    stopped: list[ev.RunStopped] = []
    for number in range(10):
        world = world.after(core.Ask(f"s{number}", "model", 0, 0, (), "d"))
        if stopped := world.events(ev.RunStopped):
            break
        world = world.after(core.Answer(f"s{number}", "model", f"{LINK} {number}", ()))
        if world.state.loop.marks[-3:].count(world.state.loop.marks[-1]) == 3 and not world.events(ev.CircleNoticed):
            world = world.after(core.Notice())
    assert stopped[0].code == "circle"


def test_rejected_words_are_not_said_and_not_asked_about_again():
    world = held()
    rejected = world.after(worlds.decision(world, "reject", "ann"))
    assert heard(begun(rejected)) == []
    assert "do not propose it again" in rejected.state.items[-1].text
    again = rejected.asked(text=MONEY)
    assert again.events(ev.CallRefused)[-1].code == "refused_before"
    assert heard(again) == []


def test_a_person_may_answer_the_agent_instead():
    world = held()
    answered = world.after(worlds.decision(world, "respond", "ann", response="Ask for the account first."))
    assert heard(begun(answered)) == []
    assert "Ask for the account first." in answered.state.items[-1].text


def test_an_edit_is_decided_by_another_person_unless_the_rule_names_it():
    world = held()
    edited = world.after(worlds.decision(world, "edit", "ann", arguments={"text": "You get $4 back."}))
    assert edited.request.asked.arguments == {"text": "You get $4 back."}
    with pytest.raises(DecisionNotAllowed):
        edited.after(worlds.decision(edited, "approve", "ann"))
    said = begun(edited.after(worlds.decision(edited, "approve", "bob")))
    assert heard(said) == ["You get $4 back."]
    assert said.events(ev.MessageAdded)[-1].by == "ann"  # who wrote the words, on the record
    assert said.state.involved.agent == ("ann",)


def test_an_edit_that_the_rule_names_is_said_if_no_rule_asks_for_more():
    rules = (replace(RULES[0], edits=(pol.Editable("arguments.text"),)), *RULES[1:])
    world = held(MONEY, *rules)
    said = begun(world.after(worlds.decision(world, "edit", "ann", arguments={"text": "You get $4 back."})))
    assert heard(said) == ["You get $4 back."]
    with pytest.raises(DecisionNotAllowed, match=r"say\.link"):
        world.after(worlds.decision(world, "edit", "ann", arguments={"text": LINK}))
    with pytest.raises(Refused):
        world.after(worlds.decision(world, "edit", "ann", arguments={"text": "x", "amounts": []}))


def test_words_that_a_rule_refuses_by_now_cannot_be_approved_and_are_not_said():
    never = pol.Rule("say.never", (SAY,), "true", 2, "refuse", "Nothing is said.")
    world = held()
    stricter = world.with_rules(never)
    with pytest.raises(DecisionNotAllowed) as caught:
        stricter.after(worlds.decision(stricter, "approve", "ann"))
    assert caught.value.detail == "rule say.never refuses it: Nothing is said."
    assert caught.value.facts["rule"] == "say.never"
    approved = world.after(worlds.decision(world, "approve", "ann")).with_rules(never)
    refused = begun(approved)
    assert heard(refused) == []
    assert refused.events(ev.CallRefused)[-1].code == "refused_by_rule"


def test_nobody_is_asked_again_about_words_before_somebody_speaks():
    world = held()
    expired = world.after(core.Expire(world.request.asked.request))
    assert heard(begun(expired)) == []
    again = expired.asked(text="You get $6 back.")
    assert again.events(ev.CallRefused)[-1].code == "expired_before"
    assert heard(again.asked(text=FREE)) == [FREE]  # what needs nobody is said
    spoke = again.after(core.Say("customer", "Hello?", "customer")).asked(text="You get $6 back.")
    assert spoke.request.asked.arguments == {"text": "You get $6 back."}


def test_later_words_do_not_overtake_earlier_ones():
    world = held().after(core.Say("customer", "Are you there?", "customer")).asked(text=FREE)
    first, second = (call for call in world.state.calls.values() if call.tool == SAY)
    assert (first.status, second.status) == (CallStatus.WAITING, CallStatus.READY)
    assert (heard(world), world.state.status) == ([], SessionStatus.WAITING_FEEDBACK)
    with pytest.raises(Outdated):
        world.after(core.Begin(second.id))
    kept = worlds.replace(world, state=from_snapshot(to_snapshot(world.state)))
    assert action(kept).waiting_for == "decision"
    assert heard(begun(kept.after(worlds.decision(kept, "approve", "ann")))) == [MONEY, FREE]
    assert heard(begun(kept.after(worlds.decision(kept, "reject", "ann")))) == [FREE]


def test_calls_of_the_same_answer_are_judged_by_themselves():
    world = opened(*RULES, *worlds.BANK.rules).asked(proposed("load_customer", "state.customer"), text=MONEY)
    assert (world.call(SAY).status, world.call("load_customer").status) == (CallStatus.WAITING, CallStatus.READY)
    ran = world.ran(world.call("load_customer"), {"name": "Ann"})
    assert heard(ran) == []
    assert ran.state.owes


def test_a_delay_by_policy_says_it_unless_somebody_objects():
    rule = pol.Rule("say.slowly", (SAY,), "true", 1, "hold", "After a minute.", hold=60)
    world = held(FREE, rule)
    assert heard(world) == []
    later = worlds.replace(world, seconds=world.seconds + 120).after(core.HoldOver(world.request.asked.request))
    assert heard(begun(later)) == [FREE]


def test_a_take_over_ends_what_is_not_said_yet():
    world = held().after(core.Say("customer", "?", "customer")).asked(text=FREE)
    first = world.request.asked.request
    taken = world.after(core.TakeOver("ann", "I do it."))
    assert [call.status for call in taken.state.calls.values()] == [CallStatus.WITHDRAWN] * 2
    assert [event.by for event in taken.events(ev.CallWithdrawn)] == ["ann"]
    assert taken.state.requests[first].status is RequestStatus.WITHDRAWN
    with pytest.raises(AlreadyDecided):
        taken.after(core.Decide(first, "approve", "bob", worlds.MAY["bob"], seen=world.request.asked.digest))
    approved = world.after(worlds.decision(world, "approve", "bob"))
    call = approved.call(SAY).id
    after = approved.after(core.TakeOver("ann", "I do it."))
    assert heard(after) == []
    with pytest.raises((Outdated, TakenOver)):
        after.after(core.Begin(call))


def test_a_pause_holds_approved_words_until_it_is_over():
    world = held()
    paused = world.after(worlds.decision(world, "approve", "ann"), core.Pause("look", "ann"))
    assert heard(begun(paused)) == []
    assert heard(begun(paused.after(core.Resume("ann")))) == [MONEY]


def test_the_end_withdraws_what_is_not_said():
    world = held().after(core.End("done", "ann"))
    assert world.call(SAY).status is CallStatus.WITHDRAWN
    assert heard(world) == []


def test_a_rollback_withdraws_what_waits_and_what_was_approved():
    world = held()
    approved = world.after(worlds.decision(world, "approve", "ann"))
    for before in (world, approved):
        back = before.after(rollback(before, 2))
        assert not pending(back.state)
        assert heard(begun(back)) == []


def test_a_fork_drafts_without_asking_and_does_not_carry_what_waited():
    world = held()
    child = worlds.replace(fork(world), policy=world.policy)
    assert not pending(child.state)
    drafted = child.asked(text=MONEY)
    assert (heard(drafted), drafted.events(ev.MessageDrafted)[0].text) == ([], MONEY)


def test_the_same_words_are_said_once():
    world = held()
    said = begun(world.after(worlds.decision(world, "approve", "ann")))
    with pytest.raises(Outdated):
        said.after(core.Begin(said.call(SAY).id))
    assert heard(said) == [MONEY]


def test_a_model_has_no_tool_of_that_name():
    world = opened().asked(proposed(SAY, text=FREE))
    assert world.events(ev.CallRefused)[-1].code == "unknown_tool"
    assert heard(world) == []
    with pytest.raises(Refused):  # nor has a plan
        opened().after(core.ProposePlan([{"_tool": SAY, "text": FREE}], "person"))


def test_private_values_are_found_whatever_their_form_and_never_told_to_the_reviewer():
    tells = pol.Rule("say.private", (SAY,), "size(arguments.private) > 0", 2, "approve", "A private value.")
    world = worlds.replace(opened(tells), memory=Remembering(private=("state.customer.ssn",)))
    pad = {"customer": {"ssn": "123-45-6789"}}
    world = worlds.replace(world, state=replace(world.state, pad=pad))
    waits = world.asked(text="It is 123 45 6789.")
    assert waits.request.asked.why == "Found in the words: private values at: state.customer.ssn. A private value."
    assert heard(world.asked(text="It is 123 45 678.")) == ["It is 123 45 678."]


def test_what_approvers_granted_for_later_words_counts_its_uses():
    rule = replace(RULES[0], sticky=Sticky("session", 3600, 1))
    world = held(MONEY, rule)
    request = world.request.asked.request
    world = begun(world.after(worlds.decision(world, "approve", "ann")))
    world = world.after(GrantSame(request, "ann", worlds.MAY["ann"]))
    later = begun(world.asked(text="You get $6 back."))
    assert heard(later) == [MONEY, "You get $6 back."]
    assert len(pending(later.asked(text="You get $7 back.").state)) == 1


def test_a_customers_own_threshold_holds_words_and_lets_no_refused_ones_through():
    careful = ev.Tightening("careful", (SAY,), 2, 1, "They want a person.")
    world = opened()
    world = worlds.replace(world, state=replace(world.state, user=ev.Adaptation(tightenings=(careful,))))
    assert world.asked(text=FREE).request.asked.rule == "profile.careful"
    assert world.asked(text=LINK).events(ev.CallRefused)[-1].code == "refused_by_rule"


def test_words_of_people_are_not_judged():
    never = pol.Rule("say.never", (SAY,), "true", 2, "refuse", "Nothing is said.")
    world = opened(never).after(core.BargeIn(LINK, "ann"), core.TakeOver("ann", "mine"), core.Speak(LINK, "ann"))
    assert [event.text for event in world.events(ev.MessageAdded) if event.role == "staff"] == [LINK, LINK]


def test_a_dry_run_judges_what_was_said_at_once_and_what_waited_once():
    world = begun((waits := held()).after(worlds.decision(waits, "approve", "ann"))).asked(text=FREE).asked(text=LINK)
    free = world.with_rules(pol.Rule("say.nothing", (SAY,), "size(arguments.plain) > 0", 2, "refuse", "Silence."))
    history = [(seq, event, at) for seq, (event, at) in enumerate(world.history)]
    found = list(judged_again(history, lambda at: free.given, "", "9999"))
    assert [(each.tool, each.was.gate, each.would.gate, each.move) for each in found if each.would] == [
        (SAY, "approve", "refuse", "stricter"),
        (SAY, "allow", "refuse", "stopped"),
    ]
    none = worlds.opened().given
    assert [each.tool for each in judged_again(history, lambda at: none, "", "9999")] == [SAY]  # what waited then


def test_a_rule_that_refuses_is_for_words_alone_and_asks_nobody():
    for changes, why in (
        ({"tools": ("transfer",)}, "gate refuse is for 'say' alone"),
        ({"quorum": 2}, "gate refuse asks no person"),
        ({"reasons": ("x",)}, "gate refuse asks no person"),
        ({"proposer_may_approve": True, "tier": 1}, "proposer_may_approve"),
    ):
        rule = replace(RULES[1], **changes)
        with pytest.raises(pol.BadPolicy, match=why):
            pol.load(msgspec.json.encode({"name": "p", "version": 1, "rules": [rule]}))


TEXTS = st.sampled_from([FREE, MONEY, LINK, "Take 7 euros.", "Bye."])
MOVES = st.lists(
    st.one_of(
        TEXTS.map(lambda text: ("answer", text)),
        st.sampled_from(["approve", "reject", "respond", "ignore", "expire", "begin", "customer", "take", "back"]).map(
            lambda name: (name, "")
        ),
        TEXTS.map(lambda text: ("edit", text)),
    ),
    max_size=14,
)


@given(MOVES)
@settings(max_examples=drawn(300))
def test_nothing_is_heard_that_was_not_allowed_or_approved_exactly(moves: list[tuple[str, str]]):
    world = opened()
    for name, text in moves:
        before = len(world.history)
        try:
            world = _moved(world, name, text)
        except Refused:
            continue
        _must_be_judged(world, before)
    assert fold(world.history) == world.state


def _moved(world: World, name: str, text: str) -> World:
    if name == "answer":
        return world.asked(text=text)
    if name == "begin":
        return begun(world)
    if name == "customer":
        return world.after(core.Say("customer", "Hm?", "customer"))
    if name == "take":
        return world.after(core.TakeOver("ann", "mine"))
    if name == "back":
        return world.after(core.HandBack("ann", "", False))
    waits = pending(world.state)
    if not waits:
        return world
    asked = waits[0].asked
    if name == "expire":
        return world.after(core.Expire(asked.request))
    seen = world.state.calls[asked.call].approved or asked.digest
    more: dict[str, Any] = {"arguments": {"text": text}} if name == "edit" else {}
    by = "bob" if asked.supersedes else "sue"
    return world.after(
        core.Decide(asked.request, name, by, worlds.MAY["sue"], seen=seen, reason="r", response="r", **more)  # type: ignore[arg-type]
    )


def _must_be_judged(world: World, before: int) -> None:
    """All that was heard since is allowed by the rules or was approved exactly, and never while a person speaks."""
    for index in range(before, len(world.history)):
        event, _ = world.history[index]
        if not isinstance(event, ev.MessageAdded) or event.role != "agent":
            continue
        assert not fold(world.history[:index]).taken_by
        verdict = pol.evaluate(world.policy, SAY, "pure", {"arguments": read(event.text)})
        if verdict.gate == "allow":
            continue
        assert verdict.gate == "approve"
        intent, _ = world.history[index - 2]
        assert isinstance(intent, ev.ToolIntended)
        assert intent.arguments == {"text": event.text}
        (bound,) = {each.digest for each in world.events(ev.DecisionMade) if each.request == intent.request} - {""}
        assert bound == intent.digest
