"""Whole conversations with the scripted model, with a small loop that plays tools, policy and supervisor."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate.engine.model import ContextMessage, ModelFailed, ModelRequest, ProposedCall, ToolSpec
from demo.bank_agent.script import ScriptedModel
from demo.bank_agent.script.hearing import hear
from demo.bank_agent.script.lines import LINES, recall, say
from tests.searching import drawn

SAVINGS, CHECKING, STRANGER = "8841412207", "8841419931", "9900174410"
PLACES = {"load_customer": "customer", "authorize": "authorization"}  # where the bank's agent has results written
TOOLS = tuple(ToolSpec(name, name, {}) for name in ("load_customer", "authorize", "transfer"))
CUSTOMER = {
    "name": "Eleanor Whitcombe",
    "number": "204457041",
    "accounts": [
        {
            "id": SAVINGS,
            "kind": "savings",
            "last4": "2207",
            "balance": {"minor": 1_200_000, "currency": "USD"},
        },
        {
            "id": CHECKING,
            "kind": "checking",
            "last4": "9931",
            "balance": {"minor": 60_000, "currency": "USD"},
        },
    ],
    "interactions": [],
}
Answer = dict[str, Any]


class Line:
    """A telephone line to the agent: `hears` is everything it said, `calls` what it proposed."""

    def __init__(self, *, check: Callable[[int], Answer] | None = None, customer: str = "C-1042") -> None:
        self.messages: list[ContextMessage] = []
        self.state: dict[str, Any] = {"session": {"customer": customer}} if customer else {}
        self.calls: list[ProposedCall] = []
        self.waiting: ProposedCall | None = None
        self.check = check or (lambda count: {"status": "ok", "result": {"allowed": True, "reason": "cleared"}})

    def say(self, text: str, role: str = "customer") -> str:
        self.messages.append(ContextMessage(role, text))  # type: ignore[arg-type]
        return self._run()

    def result(self, answer: Answer) -> str:
        """Somebody or something answers the transfer that waits."""
        assert self.waiting is not None
        call, self.waiting = self.waiting, None
        late = self.messages[-1].role != "tool"
        if not late:
            self.messages.pop()  # the result stands where "waiting" stood, unless somebody has spoken since
        self._told(call, answer, role="note" if late else "tool")
        return self._run()

    def moved(self, **changes: Any) -> str:
        """The transfer goes through; `changes` are a supervisor's edit."""
        assert self.waiting is not None
        arguments = {**self.waiting.arguments, **changes}
        left = {"minor": 700_000, "currency": "USD"}
        result = {**arguments, "receipt": "TR-7", "from_balance": left, "to_balance": left}
        if changes:
            return self.result({"status": "edited", "arguments": arguments, "result": result})
        return self.result({"status": "ok", "result": result})

    def transfers(self) -> list[int]:
        return [call.arguments["amount"]["minor"] for call in self.calls if call.tool == "transfer"]

    def _run(self) -> str:
        heard = ""
        for _ in range(10):
            request = ModelRequest("scripted", "", tuple(self.messages), TOOLS, self.state)
            answer = ScriptedModel().answer(request)
            heard = f"{heard} {answer.text}".strip()
            if answer.text:
                self.messages.append(ContextMessage("agent", answer.text))
            if not answer.calls:
                return heard
            self.messages.append(ContextMessage("agent", "", calls=answer.calls))
            self.calls += answer.calls
            if answer.calls[0].tool == "transfer":
                self.waiting = answer.calls[0]
                self._told(self.waiting, {"status": "waiting", "reason": "A colleague has to decide."})
                return heard
            self._play(answer.calls[0])
        raise AssertionError(f"the agent does not come to rest: {heard}")

    def _play(self, call: ProposedCall) -> None:
        if call.tool == "load_customer":
            self._told(call, {"status": "ok", "result": CUSTOMER})
        else:
            self._told(call, self.check(sum(c.tool == "authorize" for c in self.calls)))

    def _told(self, call: ProposedCall, answer: Answer, role: str = "tool") -> None:
        if "result" in answer:
            self.state[PLACES.get(call.tool, call.tool)] = answer["result"]
        text = json.dumps(answer)
        self.messages.append(ContextMessage(role, text, name=call.tool, call_id=call.id))  # type: ignore[arg-type]


def to_confirmation(line: Line, amount: str = "$4,300.00") -> str:
    assert "How" in line.say("Hello there") or "What" in line.messages[-1].text
    return line.say(f"I want to move {amount} from savings to checking")


def test_a_small_transfer_is_checked_read_back_moved_and_told() -> None:
    line = Line()
    assert "$240.00 from savings ending 2207 to checking ending 9931, is that right?" in to_confirmation(line, "$240")
    line.say("Yes please")
    assert [call.tool for call in line.calls] == ["load_customer", "authorize", "transfer"]
    assert "TR-7" in line.moved()
    assert "Goodbye" in line.say("No, that's all, thank you").replace("goodbye", "Goodbye")


def test_a_large_transfer_waits_and_the_agent_says_a_colleague_checks() -> None:
    line = Line()
    to_confirmation(line)
    assert "colleague checks" in line.say("That is right.")
    assert line.transfers() == [430000]
    assert "colleague" in line.say("Are you still there?")
    assert len(line.calls) == 3
    assert "$4,300.00" in line.moved()


def test_an_amount_that_was_put_right_is_not_misheard_again_in_the_yes() -> None:
    line = Line()
    to_confirmation(line, "forty-three hundred dollars")
    line.say("No, that is wrong.")
    line.say("The amount. It is four, three, zero, zero.")
    line.say("Yes. Forty-three hundred, that's right.")
    assert line.transfers() == [430000]


def test_an_amount_heard_wrong_is_read_back_wrong_and_told_as_the_supervisor_corrected_it() -> None:
    line = Line()
    assert "$4,800.00" in to_confirmation(line, "forty-three hundred dollars")
    line.say("Yes. Forty-three hundred, that's right.")
    assert line.transfers() == [480000]
    assert "digit by digit" in line.say("Ask her to say the amount digit by digit.", role="note")
    assert "$4,300.00" in line.say("Four, three, zero, zero. Four thousand three hundred.")
    told = line.moved(amount={"minor": 430000, "currency": "USD"})
    assert "colleague has corrected" in told
    assert "$4,300.00" in told
    assert "$4,800.00" not in told


def test_a_rejected_transfer_is_told_kindly_and_never_proposed_again() -> None:
    line = Line()
    line.say(f"I must send $1,900 from savings to account {STRANGER}, it is urgent")
    line.say("A man from your security department said my money is only safe there, ask for his manager")
    line.say("Yes, quickly")
    assert line.calls[-1].arguments["new_payee"] is True
    assert line.calls[-1].arguments["to_account"] == STRANGER
    assert "cannot make it. Nothing has been moved" in line.result({"status": "rejected", "reason": "scam"})
    told = line.say(f"Please send $1,900 from savings to account {STRANGER}")
    assert "cannot make this transfer" in told
    assert len(line.transfers()) == 1
    assert "scam" not in told


def test_a_failed_fraud_check_ends_the_transfer_without_a_reason_or_a_promise() -> None:
    line = Line(check=lambda count: {"status": "ok", "result": {"allowed": False, "reason": "rule 17"}})
    told = to_confirmation(line)
    assert "not cleared" in told
    assert "rule 17" not in told
    assert line.transfers() == []


def test_a_check_that_is_down_is_tried_again_when_the_customer_agrees() -> None:
    down, up = {"status": "error", "error": "away"}, {"status": "ok", "result": {"allowed": True}}
    line = Line(check=lambda count: down if count == 1 else up)
    assert "Shall I try again?" in to_confirmation(line)
    assert "is that right?" in line.say("Sure, I can wait.")
    assert len({call.id for call in line.calls}) == 3


def test_a_check_that_stays_down_is_given_up_after_three_tries() -> None:
    line = Line(check=lambda count: {"status": "error", "error": "away"})
    to_confirmation(line)
    line.say("yes")
    assert "call again" in line.say("yes, once more")
    assert line.transfers() == []


def test_a_balance_question_is_answered_without_any_check() -> None:
    line = Line()
    told = line.say("Good morning, what is my balance?")
    assert "$12,000.00 in savings ending 2207 and $600.00 in checking ending 9931" in told
    assert [call.tool for call in line.calls] == ["load_customer"]


def test_a_customer_who_changes_their_mind_is_left_alone() -> None:
    line = Line()
    to_confirmation(line)
    assert "Nothing has been moved" in line.say("Actually, no. Forget it.")
    assert line.transfers() == []


def test_another_amount_at_confirmation_is_checked_and_read_back_again() -> None:
    line = Line()
    to_confirmation(line)
    assert "$2,000.00" in line.say("No, make it two thousand")
    line.say("yes")
    assert line.transfers() == [200000]
    assert [call.tool for call in line.calls].count("authorize") == 2


def test_one_who_hangs_up_while_waiting_leaves_nothing_to_say() -> None:
    line = Line()
    to_confirmation(line)
    line.say("yes")
    assert "rather not" in line.say("I cannot wait any longer, forget it")
    assert len(line.transfers()) == 1
    assert "Nothing has been moved" in line.result({"status": "withdrawn", "reason": "the conversation ended"})


def test_an_expired_request_is_asked_for_again_only_when_the_customer_says_so() -> None:
    line = Line()
    to_confirmation(line)
    line.say("yes")
    assert "nobody was free" in line.result({"status": "expired", "reason": "Nobody decided in time."})
    assert len(line.transfers()) == 1
    line.say("Yes, please ask again")
    assert line.transfers() == [430000, 430000]


def test_a_response_in_place_of_a_decision_makes_the_agent_ask_for_the_amount() -> None:
    line = Line()
    to_confirmation(line, "forty-three hundred")
    line.say("yes")
    assert "digit by digit" in line.result({"status": "responded", "result": "ask her again"})
    assert "$4,300.00" in line.say("four three zero zero")


@pytest.mark.parametrize(
    ("error", "told"),
    [("there is not enough money in the account", "not enough money"), ("boom", "colleague look")],
)
def test_a_transfer_that_failed_is_said_to_have_failed(error: str, told: str) -> None:
    line = Line()
    to_confirmation(line)
    line.say("yes")
    assert told in line.result({"status": "error", "error": error})


def test_more_than_there_is_is_never_proposed() -> None:
    line = Line()
    assert "There is $12,000.00 in savings" in to_confirmation(line, "$15,000")
    assert "is that right?" in line.say("then 9000")


def test_somebody_typing_freely_is_asked_again_and_at_last_handed_over_politely() -> None:
    line = Line()
    line.say("hi")
    first, second, third = (line.say(words) for words in ("blorp", "???", "\u2603 \x00 {amount}"))
    assert "sorry" in first
    assert "sorry" in second
    assert "rather not guess" in third
    assert "is that right?" in line.say("move 300 to checking")


def test_missing_details_are_asked_for_one_by_one() -> None:
    line = Line()
    assert "amount" in line.say("I need to transfer money") or "How much" in line.messages[-1].text
    assert "From which account" in line.say("300")
    assert "To which account" in line.say("savings")
    assert "is that right?" in line.say("checking")


def test_without_a_customer_in_the_session_the_caller_is_asked_for_the_number() -> None:
    line = Line(customer="")
    assert "customer number" in line.say("Hello, what is my balance?")
    line.say("It is C-1042")
    assert line.calls[0].arguments == {"customer": "C-1042"}


def test_a_result_that_arrives_while_the_customer_speaks_is_told_all_the_same() -> None:
    line = Line()
    to_confirmation(line)
    line.say("yes")
    line.messages.append(ContextMessage("tool", json.dumps({"status": "expired"}), "transfer", line.calls[-1].id))
    assert "nobody was free" in line.say("hello?")


def test_the_same_request_gives_the_same_answer_and_another_call_another_id() -> None:
    line = Line()
    to_confirmation(line)
    request = ModelRequest("scripted", "", (*line.messages, ContextMessage("customer", "yes")), TOOLS, line.state)
    first, again = ScriptedModel().answer(request), ScriptedModel().answer(request)
    assert first == again
    assert first.calls[0].id not in {call.id for call in line.calls}


def test_text_is_streamed_in_pieces_that_make_up_the_answer() -> None:
    pieces: list[str] = []
    request = ModelRequest("scripted", "", (ContextMessage("customer", "hello"),), TOOLS, {})
    answer = ScriptedModel().answer(request, on_text=pieces.append)
    assert "".join(pieces).strip() == answer.text
    assert len(pieces) > 3


def test_a_script_without_its_tools_fails_instead_of_pretending() -> None:
    request = ModelRequest(
        "scripted", "", (ContextMessage("customer", "hello"),), (), {"session": {"customer": "C-1042"}}
    )
    with pytest.raises(ModelFailed):
        ScriptedModel().answer(request)


@pytest.mark.parametrize("name", [name for name in LINES if name.startswith("ask_")])
def test_the_agent_knows_each_of_its_questions_again(name: str) -> None:
    slots = {
        "amount": "$1.00",
        "source": "savings ending 2207",
        "target": "checking ending 9931",
        "accounts": "two",
    }
    for variant in range(len(LINES[name])):
        assert recall(say("cleared") + " " + say(name, variant, **slots))[0] == name


def test_a_complaint_to_an_agent_without_the_tool_for_it_is_heard_all_the_same():
    request = ModelRequest("scripted", "", (ContextMessage("customer", "I must complain"),), TOOLS, {})
    answer = ScriptedModel().answer(request)
    assert "Thank you for telling me" in answer.text
    assert not answer.calls


FRAGMENTS = (
    "yes", "no", "move $300 from savings to checking", "forty-three hundred", "from checking", "the one ending 2207",
    "ending 0000", f"to account {STRANGER}", "cancel", "what is my balance?", "thanks, bye", "a person please", "hm",
    "I complain", "try again", "not 300 but 250", "9,999,999,999", "C-1001", "\x00", "{amount}", "\u202eegap", "",
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=drawn(80))
@given(st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=30)), max_size=12), st.booleans())
def test_whatever_is_typed_the_agent_answers_and_moves_nothing_without_a_yes(said: list[str], up: bool) -> None:
    line = Line(check=None if up else lambda count: {"status": "error", "error": "away"})
    for words in said:
        before, asked = len(line.transfers()), line.messages[-1].text if line.messages else ""
        assert line.say(words)
        if len(line.transfers()) > before:
            assert "is that right?" in asked
            assert hear(words, CUSTOMER["accounts"]).yes  # type: ignore[arg-type]
            line.result({"status": "rejected", "reason": "no"})
