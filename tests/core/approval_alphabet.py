"""The alphabet of the approval model check: every move that can happen to a system, by name."""

from __future__ import annotations

from dataclasses import replace

from agentstate.engine import decide as core
from agentstate.engine import events as ev
from agentstate.engine.charts import Chart
from agentstate.engine.decide.commands.plans import ProposePlan
from tests.core.approval_moves import (
    CHECK,
    FOR_EACH,
    HANDED,
    PAY,
    PAY_LARGE,
    Move,
    answers,
    begins,
    changes_state,
    decides,
    edits_plan,
    fails,
    forks,
    intervenes,
    lends,
    loses,
    newer,
    newer_chart,
    newer_schema,
    of_request,
    plan,
    promotes,
    proposes,
    responds,
    returns,
    rolls_back,
    sets_timer,
    stops,
    to,
    transfer,
    waits,
    withdraws,
)
from tests.core.approval_policy import (
    LARGE,
    OTHER,
    OWN,
    SAVINGS,
    SMALL,
    STRANGER,
    TOP,
    money,
)
from tests.core.approval_system import System

MOVES: dict[str, Move] = {
    "the agent proposes a small transfer": proposes(transfer(SMALL)),
    "in the fork the agent proposes a small transfer": proposes(transfer(SMALL), slot="fork"),
    "the agent proposes a large transfer": proposes(transfer(LARGE)),
    "the agent proposes a transfer to a stranger": proposes(transfer(SMALL, STRANGER)),
    "the agent proposes a letter": proposes(ev.CallProposed("1", "post_letter", {"to": "C-1"}, None)),
    "the agent proposes check, then pay": plan("agent:bank", CHECK, PAY, source="model"),
    "zoe proposes a transfer": plan("user:zoe", PAY_LARGE),
    "sue proposes check, then pay": plan("user:sue", CHECK, PAY),
    "sue proposes it for x, own account": plan("user:sue", CHECK, FOR_EACH, payee=OWN),
    "sue proposes it for x, another account, instead": plan("user:sue", CHECK, FOR_EACH, payee=SAVINGS, replaces=True),
    "ann hands over another plan instead": plan("user:ann", CHECK, replaces=True),
    "sue proposes it for x and for another customer": plan(
        "user:sue", CHECK, FOR_EACH, payee=OWN, others_payee=SAVINGS
    ),
    "the other customer is erased": to("main", lambda *_: core.EraseSubject(OTHER)),
    "ann withdraws what waits or is ready": withdraws,
    "sue proposes it for x, a stranger": plan("user:sue", CHECK, FOR_EACH, payee=STRANGER),
    "the agent hands a task over": plan("agent:bank", HANDED, source="model"),
    "ann approves": decides("approve", "user:ann"),
    "bob approves": decides("approve", "user:bob"),
    "sue approves": decides("approve", "user:sue"),
    "zoe approves": decides("approve", "user:zoe"),
    "dan approves": decides("approve", "user:dan"),
    "ann edits the amount down": decides("edit", "user:ann", amount=money(SMALL + 1)),
    "ann edits the payee": decides("edit", "user:ann", to=STRANGER),
    "sue edits the amount up": decides("edit", "user:sue", amount=money(TOP)),
    "ann rejects": decides("reject", "user:ann"),
    "zoe answers in its place": responds,
    "the deadline passes": of_request(lambda key, _: core.Expire(key)),
    "the worker begins": begins("main"),
    "the worker begins in the delegate": begins("child"),
    "the worker begins in the fork": begins("fork"),
    "a worker died, another begins": begins("main", again=True),
    "a call returns": returns,
    "a call fails": fails,
    "ann retries": intervenes("retry"),
    "ann supplies a result": intervenes("supply"),
    "ann says it happened": intervenes("happened"),
    "ann says it did not happen": intervenes("not_happened"),
    "the agent answers": answers,
    "the customer speaks": to("main", lambda *_: core.Say("customer", "Hello?", "customer")),
    "zoe speaks as the customer": to("main", lambda *_: core.Say("customer", "Yes, do it.", "user:zoe")),
    "zoe takes over": to("main", lambda *_: core.TakeOver("user:zoe")),
    "zoe hands back": to("main", lambda *_: core.HandBack("as it was", "user:zoe", speaks=False)),
    "sue whispers": to("main", lambda *_: core.Whisper("be brief", "user:sue")),
    "sue changes what the plan reads": changes_state("user:sue", LARGE),
    "sue edits the plan's check": edits_plan("user:sue", {**CHECK, "hint": "more"}, PAY),
    "ann pauses": to("main", lambda *_: core.Pause("wait", "user:ann")),
    "ann resumes": to("main", lambda *_: core.Resume("user:ann")),
    "the session is cancelled": to("main", lambda *_: core.Cancel("fraud", "user:ann")),
    "the customer hangs up": to("main", lambda *_: core.End("hung up", "customer")),
    "rolled back to before the plan": rolls_back("main", "plan.committed"),
    "rolled back to before the request": rolls_back("main", "approval.requested"),
    "rolled back to before the retry": rolls_back("main", "call.intervened"),
    "forked": forks,
    "in the fork a task is handed over": to(
        "fork", lambda system, _: ProposePlan((HANDED,), "agent:bank", source="model")
    ),
    "the fork is promoted": promotes,
    "transfers are stopped, or not any more": stops("transfer"),
    "ann loses her rights": loses("user:ann"),
    "sue loses her rights": loses("user:sue"),
    "zoe delegates to dan, or not any more": lends("user:zoe", "user:dan"),
    "sue delegates to bob no more, or again": lends("user:sue", "user:bob"),
    "sue sets a reminder": sets_timer("remind", 100),
    "sue lets the session expire": sets_timer("expire", 100),
    "a newer schema is deployed": newer_schema,
    "a newer chart is deployed": lambda system: newer_chart(system, keeps=True),
    "a newer chart takes the place of the older": lambda system: newer_chart(system, keeps=False),
    "a newer transfer is deployed": newer("transfer", retry_seconds=60.0),
    "a newer letter may run twice": newer("post_letter", effect="idempotent"),
    "ten minutes pass": waits(600),
}


def opened(made: Chart | None = None) -> System:
    """A session whose customer has asked for something."""
    return replace(System(), charts=(made,) if made else ()).after(
        "main", core.Open("C-1", "team", "bank", "phone"), core.Say("customer", "Move money, please.", "customer")
    )


def path(*moves: str, made: Chart | None = None) -> System:
    """What these moves lead to. Raises Refused where one is not possible."""
    system = opened(made)
    for name in moves:
        system = MOVES[name](system)
    return system
