"""The small parts that pages are made of: icon, tier mark, timer, instant, person. Each gives safe, escaped HTML."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from sessions.text import money

register = template.Library()
_UNSPOKEN = mark_safe('aria-hidden="true"')
_READ_ONLY = mark_safe('<span class="faint">Read only</span>')
SOON = 180  # seconds before its deadline from which a timer is amber


def instant_of(at: datetime | str) -> datetime:
    """An instant that may still be the text of an envelope."""
    return datetime.fromisoformat(at) if isinstance(at, str) else at


def span_of(seconds: float) -> str:
    """A length of time as m:ss, from an hour on as h:mm:ss."""
    minutes, rest = divmod(int(abs(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """An icon of the sheet; decoration unless it has a label."""
    voice = format_html('role="img" aria-label="{}"', label) if label else _UNSPOKEN
    return format_html('<svg class="i" {}><use href="{}#{}"/></svg>', voice, static("agentstate/icons.svg"), name)


@register.simple_tag
def tier(number: int, past: bool = False) -> SafeString:
    """The tier mark: bars, word, and weight."""
    if not number:
        return _READ_ONLY
    mark = icon(f"t{min(number, 3)}")
    return format_html(
        '<span class="tier k{}{}">{}Tier {}</span>', min(number, 3), " past" if past else "", mark, number
    )


@register.simple_tag
def ring(share: float) -> SafeString:
    """How much of a time is left, as a ring: decoration, the figure beside it is the fact."""
    return format_html(
        '<svg class="ring" viewBox="0 0 20 20" aria-hidden="true"><circle class="t" cx="10" cy="10" r="7.5"/>'
        '<circle class="a" cx="10" cy="10" r="7.5" pathLength="100" stroke-dasharray="{} 100"'
        ' transform="rotate(-90 10 10)"/></svg>',
        round(100 * min(1.0, max(0.0, share))),
    )


def _left(until: datetime, asked: datetime, at: datetime) -> tuple[float, float, str]:
    """Seconds left, the share of the whole, and the word for how it stands: "", "soon" or "over"."""
    left, whole = (until - at).total_seconds(), max(1.0, (until - asked).total_seconds())
    if left <= 0:
        return left, 0.0, "over"
    return left, left / whole, "soon" if left < SOON or left < whole / 4 else ""


def _spoken(left: float) -> str:
    if left <= 0:
        return "overdue"
    minutes = int(left // 60)
    return f"{minutes} minute{'' if minutes == 1 else 's'} left" if minutes else "less than a minute left"


@register.simple_tag
def sla(until: datetime, asked: datetime, at: datetime, tail: str = "") -> SafeString:
    """The timer of a deadline. Screen readers get words, because the figure changes every second."""
    left, share, word = _left(until, asked, at)
    return format_html(
        '<span class="sla {}" data-until="{}" data-asked="{}" data-tail="{}">{}'
        '<span class="f" aria-hidden="true">{}</span><span class="sr">{}</span></span>',
        word,
        until.isoformat(),
        asked.isoformat(),
        tail,
        ring(share),
        f"{span_of(left)}{' over' if word == 'over' else tail}",
        _spoken(left),
    )


@register.simple_tag
def count(until: datetime, asked: datetime, at: datetime) -> SafeString:
    """The large timer of a card, with the instant of the deadline."""
    left, share, word = _left(until, asked, at)
    return format_html(
        '<div class="count sla {}" data-until="{}" data-asked="{}" data-tail="">{}'
        '<span class="f" aria-hidden="true">{}</span>'
        '<span class="s">expires {}</span><span class="sr">{}</span></div>',
        word,
        until.isoformat(),
        asked.isoformat(),
        ring(share),
        f"{span_of(left)}{' over' if word == 'over' else ''}",
        instant(until, at),
        _spoken(left),
    )


@register.simple_tag
def since(then: datetime | str, at: datetime) -> SafeString:
    """How long ago, counting."""
    began = instant_of(then)
    figure = span_of((at - began).total_seconds())
    return format_html('<time data-since="{}" datetime="{}">{}</time>', began.isoformat(), began.isoformat(), figure)


@register.simple_tag
def instant(when: datetime | str, at: datetime) -> SafeString:
    """A time of day in UTC; with the date unless it is today's."""
    when = instant_of(when).astimezone(UTC)
    shown = f"{when:%H:%M:%S}" if when.date() == at.astimezone(UTC).date() else f"{when:%d %b %H:%M:%S}"
    return format_html('<time datetime="{}">{}</time>', when.isoformat(), shown)


@register.filter
def lasted(start: datetime, end: datetime) -> str:
    """How long something took, as m:ss."""
    return span_of((end - start).total_seconds())


@register.filter
def span(milliseconds: int | None) -> str:
    """A length of time as m:ss, below ten seconds with tenths."""
    if milliseconds is None:
        return "–"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 10_000 else span_of(milliseconds / 1000)


@register.filter
def share(thousandths: int) -> str:
    """A share in percent."""
    return f"{thousandths / 10:.1f} %"


@register.filter
def show_money(amount: dict[str, object]) -> str:
    """An amount with currency and cents."""
    return money.show(amount)


@register.filter
def initials(name: str) -> str:
    """At most two letters for the mark of a person."""
    words = [word for word in name.replace("-", " ").split() if word[0].isalnum()]
    return ("".join(word[0] for word in (words[:1] + words[1:][-1:])) or "?").upper()
