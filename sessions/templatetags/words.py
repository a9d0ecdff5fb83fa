"""The words of `sessions.descriptions.entries` as template filters."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString

from agentstate import characters
from sessions.approvals.queries import RequestLine
from sessions.core import session_status
from sessions.core.session_lines import SessionLine
from sessions.descriptions import status, values
from sessions.templatetags.console import icon
from sessions.text import figures

register = template.Library()
register.filter("doing", session_status.doing)
register.filter("speaker", status.speaker)
register.filter("stands", status.stands)
register.filter("plain", values.plain)
register.filter("in_words", values.value)
register.filter("shown", values.text)
register.filter("spoken_by", status.spoken_by)
register.filter("happening", status.happening)
register.filter("result", values.result)
register.filter("one_line", characters.one_line)


@register.filter
def isolated(text: str) -> SafeString:
    """A text of others among our words: on one line, and it does not change the direction of ours."""
    return format_html("<bdi>{}</bdi>", characters.one_line(str(text)))


@register.filter
def wants(line: SessionLine) -> str:
    """What the customer wants: the step that waits, else the topic."""
    return line.open_preview or line.topic


@register.filter
def grouped(rows: list[tuple[str, str]]) -> list[values.Group]:
    """A scratchpad's rows by the name that they begin with, the first of each."""
    return values.groups(rows)


@register.filter
def seconds(milliseconds: int) -> str:
    """How long something takes, as 1.2 s."""
    return f"{milliseconds / 1000:.1f} s"


@register.simple_tag
def outcome(state: str) -> SafeString:
    """The badge of a request's state."""
    mark, text, kind = status.OUTCOMES.get(state, ("flag", state, ""))
    return format_html('<span class="badge {}">{}{}</span>', kind, icon(mark), text)


@register.filter
def outcome_of(line: RequestLine) -> str:
    """The state of a request for its badge: what was approved and is not done has one of its own."""
    return "not_done" if line.execution in status.NOT_DONE else line.state


@register.filter
def execution(name: str) -> str:
    """What came of the call of an approved request, as a sentence."""
    return status.EXECUTIONS.get(name, name)


@register.filter
def rank(line: SessionLine) -> str:
    """The wall's order as text that sorts: what needs a person, the tier, the deadline, who called first."""
    until = line.expires_at.timestamp() if line.expires_at else 9_999_999_999
    return f"{not line.needs_person:d} {9 - line.tier} {until:013.2f} {line.opened_at.timestamp():013.2f} {line.id}"


@register.filter
def listed(value: Any) -> list[str]:
    """A value as lines: one for each item of a list of objects, one for anything else."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [values.value(item) for item in value[: values.MOST_FACTS]]
    return [values.value(value)]


@register.filter
def marked(text: str) -> SafeString:
    """What a customer said, with its figures marked."""
    pieces = figures.parts(text)
    shown = (format_html("<mark>{}</mark>", piece) if figure else conditional_escape(piece) for piece, figure in pieces)
    return format_html_join("", "{}", ((piece,) for piece in shown))
