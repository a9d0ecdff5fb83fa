"""E-mail: text and a simple page of the same words, through Django's backend.

A message keeps its Message-ID however often it is sent, so who got it twice sees it once, and refers to its notice, so
that what is sent later about the same stands below it.
"""

from __future__ import annotations

import smtplib
from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.template.loader import render_to_string
from django.urls import reverse

from agentstate.characters import marked, marked_page
from sessions.automation.notifications.outcome import Outcome, plain
from sessions.automation.notifications.texts import SEVERITY, Told, absolute

LISTED = 30  # notices of one mail; the others are counted


def built(message: UUID, to: str, told: Sequence[Told], more: int = 0) -> EmailMultiAlternatives:
    """The mail of some notices, the newest first."""
    listed = list(told[:LISTED])
    context = {
        "told": [(each, SEVERITY[each.severity]) for each in listed],
        "more": more + len(told) - len(listed),
        "settings": absolute(reverse("notice_wishes")),
        "page": absolute(reverse("notices")),
    }
    host = urlsplit(settings.SITE_URL).hostname or "localhost"
    mail = EmailMultiAlternatives(
        subject=_subject(told, more),
        body=marked(render_to_string("agent_sessions/mail/notices.txt", context)),
        from_email=settings.DEFAULT_FROM_EMAIL,
        to=[to],
        headers={
            "Message-ID": f"<{message}@{host}>",
            "References": f"<{told[0].id}@{host}>",
            "List-Unsubscribe": f"<{context['settings']}>",
            "Auto-Submitted": "auto-generated",
        },
    )
    mail.attach_alternative(marked_page(render_to_string("agent_sessions/mail/notices.html", context)), "text/html")
    return mail


def _subject(told: Sequence[Told], more: int) -> str:
    if len(told) == 1 and not more:
        only = told[0]
        return f"[AgentState] {only.title}{f' ({only.reference})' if only.reference else ''}"
    critical = sum(each.severity == "critical" for each in told)
    return f"[AgentState] {len(told) + more} notices{f', {critical} of them critical' if critical else ''}"


def send(mail: EmailMultiAlternatives) -> Outcome:
    """Hand it to the mail server."""
    try:
        mail.connection = get_connection()
        mail.send()
    except smtplib.SMTPRecipientsRefused as error:
        code, words = next(iter(error.recipients.values()), (550, b""))
        return _refused(code, words, "recipient_refused")
    except smtplib.SMTPResponseException as error:  # the sender, the words, or who we are
        known = isinstance(error, smtplib.SMTPSenderRefused | smtplib.SMTPDataError)
        return _refused(error.smtp_code, error.smtp_error, "mail_refused" if known else "mail_server", not known)
    except (smtplib.SMTPException, OSError) as error:
        return Outcome(why="mail_server", answer=type(error).__name__, down=True)
    return Outcome()


def _refused(code: int, words: bytes | str, why: str, down: bool = False) -> Outcome:
    final = code >= 500 and not down
    return Outcome(why=why, status=code, answer=plain(words), final=final, down=down)
