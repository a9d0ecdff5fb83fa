"""Attacks on what a reviewer reads: characters that nobody sees, in a preview, in a page of ours and in a report."""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponse
from django.template import engines

from agentstate import characters
from agentstate.engine import events as ev
from audit.export import report
from audit.export.report import ReportEntry, ReportHead
from tests.shell.private_world import AGENT, Flow

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")


def preview_of(purpose: str) -> str:
    """What the card of a call with this purpose is headed by, as the engine recorded it."""
    flow = Flow(None, AGENT)
    flow.answer([{"_tool": "flow_pay", "text": purpose}])
    return next(event.preview for event in flow.events if isinstance(event, ev.ApprovalRequested))


def page_with(text: str, source: str = "<h1>{{ text|isolated }}</h1>") -> str:
    made = engines["django"].from_string("{% load words %}" + source).render({"text": text})
    return characters.on_pages(lambda request: HttpResponse(made))(HttpRequest()).content.decode()


def test_r17_a_turned_amount_in_a_preview_is_shown_by_name():
    for hidden, name in (("\u202e", "right-to-left override"), ("\u200b", "zero width space"), ("\u2066", "isolate")):
        shown = page_with(preview_of(f"rent {hidden}00.05$"))
        assert UNSEEN.search(shown) is None
        assert name in shown


def test_r17_no_second_line_and_no_hidden_letters_pass_for_words_of_ours():
    shown = page_with("rent\r\n\r\nApproved by Ann \U000e0041\U000e0042\x1b[1m")
    assert UNSEEN.search(shown) is None
    assert "\n" not in shown
    assert "rent↵ ↵ Approved by Ann" in shown
    assert "<bdi>" in shown


def test_r17_the_report_of_an_export_shows_them_too_and_forms_send_them_back_unchanged():
    entry = ReportEntry(0, "message.added", "2026-11-22T00:00:00Z", "customer", -1, "disclosed", {"text": "a\u202eb"})
    head = ReportHead("log", "origin", 1, "root", "key")
    told = report.plain(head, [entry])
    assert UNSEEN.search(told.html.decode()) is None
    assert "right-to-left override" in told.html.decode()
    assert page_with("a\u202eb", '<input value="{{ text }}">') == '<input value="a\u202eb">'
