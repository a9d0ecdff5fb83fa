"""Notices by e-mail, to a real mail server: what stands in them, when they wait, what becomes of those that fail."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sessions.automation.notifications import delivery, dispatch, preferences
from sessions.automation.notifications.preferences import BadAddress
from sessions.events import notices
from sessions.models.alerts import Alert
from sessions.models.notifications import Notice, NoticeAttempt, NoticeDelivery
from tests import cast
from tests.shell.bank_world import opened
from tests.shell.notice_world import MailServer, later, rule, send, shown_to, tell
from tests.shell.test_notifications import killed, waiting_transfer

pytestmark = pytest.mark.django_db(transaction=True)
BY_MAIL = [{"to": ["user:alice"], "by": ["email"]}]
ADDRESS = "alice@example.com"


@pytest.fixture
def server(settings):
    """Where this installation's mail goes."""
    made = MailServer()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", made.port
    settings.SITE_URL = "https://desk.example.com/"
    preferences.keep(cast.alice(), email=ADDRESS, off=[])
    yield made
    made.stop()


def states() -> list[tuple[str, str]]:
    """How the mails stand, oldest first."""
    return list(NoticeDelivery.objects.filter(way="email").order_by("at", "id").values_list("state", "why"))


def test_a_mail_says_what_it_is_and_nothing_of_the_customer(bank, server):
    rule(kinds=("approval.requested",), severity="critical", steps=BY_MAIL)
    session, request = waiting_transfer()
    tell()
    send()
    (mail,) = server.mails
    text, page = (mail.get_body([kind]).get_content() for kind in ("plain", "html"))
    assert (
        mail["Subject"]
        == f"[AgentState] Needs a decision: tier {request.tier}, {request.tool} ({session.hex[-6:].upper()})"
    )
    assert (mail["To"], mail["Auto-Submitted"]) == (ADDRESS, "auto-generated")
    assert mail["List-Unsubscribe"] == "<https://desk.example.com/notices/wishes/>"
    for part in (text, page):
        assert f"https://desk.example.com/decisions/{request.id}/" in part
        assert not any(word in mail.as_string() for word in ("C-1001", "1,200", "120000", "savings", "Eleanor"))


def test_a_mail_keeps_its_id_and_refers_to_its_notice(bank, server):
    rule(steps=BY_MAIL)
    opened()
    tell()
    server.answers[ADDRESS] = b"451 later"
    send()
    server.answers.clear()
    later(120)
    send()
    row, notice = NoticeDelivery.objects.get(), Notice.objects.get()
    (mail,) = server.mails
    assert mail["Message-ID"] == f"<{row.pk}@desk.example.com>"
    assert mail["References"] == f"<{notice.pk}@desk.example.com>"
    tries = NoticeAttempt.objects.order_by("at").values_list("status", "why", "answer")
    assert list(tries) == [(451, "recipient_refused", "later"), (0, "", "")]


def test_who_dies_after_the_server_took_the_mail_sends_the_same_mail_again(bank, server, settings):
    rule(steps=BY_MAIL)
    opened()
    tell()
    killed(
        "from django.conf import settings as s;"
        f" s.EMAIL_BACKEND = {settings.EMAIL_BACKEND!r}; s.EMAIL_HOST = '127.0.0.1'; s.EMAIL_PORT = {server.port};"
        f" s.SITE_URL = {settings.SITE_URL!r}; delivery.send_due()",
        "after_sent",
    )
    assert (len(server.mails), states()) == (1, [("due", "")])
    NoticeDelivery.objects.update(lease_until=None)
    send()
    assert states() == [("sent", "")]
    assert server.mails[0]["Message-ID"] == server.mails[1]["Message-ID"]


def test_a_refused_address_is_an_alert_which_ends_when_mail_arrives_again(bank, server):
    rule(steps=BY_MAIL)
    opened()
    server.answers[ADDRESS] = b"550 no such person"
    tell()
    send()
    assert states() == [("failed", "recipient_refused")]
    alert = Alert.objects.get()
    assert (alert.name, alert.about, alert.why) == ("undeliverable", f"person:{cast.alice().pk}", "recipient_refused")
    opened("C-1002")
    tell()
    send()
    assert Alert.objects.get().hits == 2
    server.answers.clear()
    opened("C-1003")
    tell()
    send()
    assert Alert.objects.get().state == "closed"


def test_a_mail_server_that_is_down_is_asked_again_and_then_it_is_an_alert(bank, server):
    rule(steps=BY_MAIL)
    opened()
    server.down = True
    tell()
    for _ in range(11):
        assert send() == 1
        later(100_000)
    assert states() == [("failed", "mail_server")]
    assert NoticeAttempt.objects.filter(why="mail_server").count() == 11
    assert Alert.objects.get().why == "mail_server"


def test_a_server_that_is_down_is_not_asked_once_for_each_mail(bank, server):
    rule(steps=BY_MAIL, window=0)
    for n in range(1, 6):
        opened(f"C-100{n}")
    server.down = True
    tell()
    assert send() == 1
    server.down = False
    later(90)
    assert send() == 5
    assert states() == [("sent", "")] * 4 + [("sent", "")]


def test_the_first_way_that_works_is_taken_and_the_next_when_it_fails(bank, server):
    alice = cast.alice()
    rule(steps=[{"to": ["user:alice"], "by": ["email", "in_app"], "how": "first"}])
    session = opened()
    server.answers[ADDRESS] = b"550 no such person"
    tell()
    assert shown_to(alice) == []
    send()
    assert (states(), shown_to(alice)) == ([("failed", "recipient_refused")], [session])
    assert Alert.objects.count() == 0


def test_who_switched_mail_off_gets_only_what_is_required(bank, server):
    preferences.keep(cast.alice(), email=ADDRESS, off=["email"])
    rule("wish", steps=BY_MAIL)
    rule("must", steps=BY_MAIL, required=True)
    opened()
    tell()
    send()
    assert len(server.mails) == 1
    assert "rule must" in server.mails[0].get_body(["plain"]).get_content()


ALWAYS = {"start": "00:00", "end": "23:59", "zone": "UTC", "days": [1, 2, 3, 4, 5, 6, 7]}


@pytest.fixture
def night(monkeypatch):
    """It is quiet until an hour from now, for whoever has said any hours."""
    from agentstate.clock import now
    from sessions.automation.notifications import quiet_hours

    ends = now() + timedelta(hours=1)
    monkeypatch.setattr(quiet_hours, "until", lambda at, hours: ends if list(hours) and at < ends else None)


def test_in_quiet_hours_mail_waits_for_their_end_and_leaves_as_one(bank, server, night):
    preferences.keep(cast.alice(), email=ADDRESS, off=[], quiet_hours=ALWAYS)
    rule(steps=[{"to": ["user:alice"], "by": ["email", "in_app"]}], window=0)
    for n in range(1, 4):
        opened(f"C-100{n}")
    tell()
    assert send() == 0
    assert NoticeDelivery.objects.filter(way="in_app", silent=True).count() == 3
    later(3700)
    assert send() == 1
    assert server.mails[0]["Subject"] == "[AgentState] 3 notices"
    assert states() == [("sent", "")] * 3


def test_what_must_not_wait_goes_through_quiet_hours(bank, server, night):
    cast.retail()
    preferences.keep_of_team(cast.tenant().pk, cast.retail().pk, cast.adam().actor, ALWAYS)
    rule(steps=BY_MAIL, severity="critical", through_quiet=True)
    opened()
    tell()
    assert send() == 1


def test_what_was_settled_while_it_waited_is_not_sent(bank, server, night):
    from sessions.approvals import commands as approvals_commands

    preferences.keep(cast.alice(), email=ADDRESS, off=[], quiet_hours=ALWAYS)
    rule(kinds=("approval.requested",), steps=BY_MAIL)
    _, request = waiting_transfer()
    tell()
    approvals_commands.decide(cast.alice(), request.id, approvals_commands.Decision("reject", reason="no"))
    later(3700)
    send()
    assert (server.mails, states()) == ([], [("passed", "acted")])


def test_a_digest_collects_and_leaves_as_one(bank, server):
    rule(steps=BY_MAIL, digest=600, window=0)
    for n in range(1, 4):
        opened(f"C-100{n}")
    tell()
    assert send() == 0
    later(601)
    assert send() == 1
    assert server.mails[0]["Subject"] == "[AgentState] 3 notices"


def test_a_storm_of_ten_thousand_ends_in_a_few_mails(bank, server, settings, monkeypatch):
    settings.MAILS_PER_HOUR = 3
    monkeypatch.setattr(dispatch, "MOST", 400)
    row = rule(steps=BY_MAIL, window=0)
    session = opened()
    storm = [notices.Happened(f"storm:{n}", "session.opened", session, 0) for n in range(10_000)]
    notices._take_in(row, storm)
    dispatch.tell_due(400)
    send()
    later(3700)
    send()
    assert len(server.mails) <= 5
    assert NoticeDelivery.objects.filter(state="sent").count() == 400
    assert Notice.objects.filter(state="new").count() == 9_600, "the next go goes on"


def test_who_may_not_see_the_team_any_more_is_not_written_to(bank, server):
    rule(steps=BY_MAIL)
    opened()
    tell()
    cast.alice().memberships.all().delete()
    send()
    assert (server.mails, states()) == ([], [("passed", "not_entitled")])


@pytest.mark.parametrize(
    "address",
    ["alice@example.com\nBcc: all@example.com", "alice@example.com\r\nX: y", "Alice <a@example.com>", "a@b@c", "alice",
     "a@example.com, b@example.com", "@example.com", "a" * 250 + "@example.com", "ä@example.com", "a b@example.com"],
)  # fmt: skip
def test_no_address_ends_a_header_or_names_several(address):
    with pytest.raises(BadAddress):
        preferences.keep(cast.alice(), email=address, off=[])


def test_two_workers_send_one_mail_once(bank, server):
    rule(steps=BY_MAIL)
    opened()
    tell()
    held = delivery._claimed()
    assert held is not None
    assert send() == 0
    delivery._one(held)
    assert (len(server.mails), states()) == (1, [("sent", "")])


def test_a_worker_that_slept_through_its_lease_writes_nothing(bank, server):
    rule(steps=BY_MAIL)
    opened()
    tell()
    held = delivery._claimed()
    NoticeDelivery.objects.update(lease_until=None)
    server.answers[ADDRESS] = b"550 no"
    send()
    server.answers.clear()
    delivery._one(held)
    assert states() == [("failed", "recipient_refused")]
