"""The words of an export: the story in order, decisions first, and nothing of it becomes markup."""

from __future__ import annotations

from audit.export.report import ReportEntry, ReportHead
from sessions.exports import report

HEAD = ReportHead(log="L", origin="o/s/L", size=3, root="ab" * 32, vkey="k")


def entry(seq: int, kind: str, event: dict | None, ref: int = -1, actor: str = "agent:bank") -> ReportEntry:
    return ReportEntry(seq, kind, "2026-11-21T03:25:00.000000Z", actor, ref, "disclosed" if event else "erased", event)


STORY = [
    entry(0, "message.added", {"role": "customer", "text": "<script>alert(1)</script>"}),
    entry(
        1,
        "approval.requested",
        {
            "preview": "Move $4,800.00",
            "rule": "transfer.high",
            "policy": "bank@1",
            "tier": 3,
            "why": "Above.",
            "tool": "transfer",
        },
    ),
    entry(2, "decision.made", {"decision": "edit", "reason": "Misheard", "arguments": {"amount": 1}}, 1, "user:42"),
]


def test_what_people_decided_stands_first_with_rule_reason_and_person():
    page = report.render(HEAD, STORY).html.decode()
    decided = page.split("What people decided")[1].split("Everything that happened")[0]
    for word in ("Edit", "Move $4,800.00", "transfer.high", "Misheard", "user:42"):
        assert word in decided


def test_what_a_customer_says_is_never_markup():
    assert "<script>" not in report.render(HEAD, STORY).html.decode()


def test_hidden_characters_are_shown_by_name_on_the_page_and_on_paper_and_kept_in_the_data():
    made = report.render(HEAD, [entry(0, "message.added", {"role": "customer", "text": "a\u202eb\u200b"})])
    assert "\u202e" not in made.html.decode()
    assert "[U+202E right-to-left override]" in made.html.decode()
    assert b"[U+202E right-to-left override]" in made.pdf


def test_an_erased_entry_is_named_and_says_so():
    page = report.render(HEAD, [entry(0, "message.added", None)]).html.decode()
    assert "erased with its subject" in page


def test_the_same_ledger_gives_the_same_bytes():
    assert report.render(HEAD, iter(STORY)) == report.render(HEAD, iter(STORY))


def test_a_decision_says_who_proposed_what_was_decided():
    assert "Proposed" not in report.render(HEAD, STORY).html.decode()  # recorded before entries said so
    for by, told in ((["user:7"], "Proposed by user:7, not by the agent."), (["agent:bank"], "Proposed by the agent.")):
        asked = entry(1, "approval.requested", {**(STORY[1].event or {}), "proposed_by": by})
        assert told in report.render(HEAD, [STORY[0], asked, STORY[2]]).html.decode()


def test_a_decision_says_that_too_few_people_could_approve():
    asked = entry(1, "approval.requested", {**(STORY[1].event or {}), "quorum": 2, "approvers_missing": 1})
    page = report.render(HEAD, [STORY[0], asked, STORY[2]]).html.decode()
    told = "Needs 2 people; only 1 could approve it at the time of the request."
    assert told in page.split("What people decided")[1].split("Everything that happened")[0]
    assert told in page.split("Everything that happened")[1]
