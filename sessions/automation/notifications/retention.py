"""Keeping what notifications leave behind short: what has ended is forgotten after NOTICE_DAYS, a piece at a time."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings

from audit import ledger
from sessions.models.notifications import Notice, NoticeDelivery
from sessions.models.sessions import AgentSession

MOST = 5_000  # notices in one go


def forget_old() -> int:
    """Delete what ended long ago and has nothing under way. Gives how many notices went."""
    rows = ledger.run(
        "DELETE FROM agent_sessions_notice WHERE id IN (SELECT id FROM agent_sessions_notice n"
        "  WHERE ended_at < now() - make_interval(days => %(days)s) AND NOT EXISTS"
        "   (SELECT 1 FROM agent_sessions_noticedelivery d WHERE d.notice = n.id AND d.state = 'due')"
        "  ORDER BY ended_at LIMIT %(most)s) RETURNING id",
        {"days": settings.NOTICE_DAYS, "most": MOST},
    )
    _without_deliveries([row[0] for row in rows])
    return len(rows)


def _without_deliveries(notices: list[UUID]) -> None:
    rows = NoticeDelivery.objects.filter(notice__in=notices)
    messages = {pk for pk in rows.values_list("message", flat=True) if pk is not None}
    rows.delete()
    ledger.run(
        "DELETE FROM agent_sessions_noticeattempt WHERE message = ANY(%(messages)s::uuid[]) AND NOT EXISTS"
        " (SELECT 1 FROM agent_sessions_noticedelivery d WHERE d.message = agent_sessions_noticeattempt.message)",
        {"messages": list(messages)},
    )


def of_subject(kid: UUID) -> int:
    """How many notices are about the sessions of a data subject."""
    return Notice.objects.filter(about__in=_sessions(kid)).count()


def sweep(kid: UUID) -> int:
    """Delete them, and what was to be sent of them."""
    found = list(Notice.objects.filter(about__in=_sessions(kid)).values_list("pk", flat=True))
    Notice.objects.filter(pk__in=found).delete()
    _without_deliveries(found)
    return len(found)


def _sessions(kid: UUID) -> list[UUID]:
    return list(AgentSession.objects.filter(kid=kid).values_list("pk", flat=True))
