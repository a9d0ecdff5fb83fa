"""Notices as webhooks, to a real endpoint: genuine by the published library, tried for days, never sent inside."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest
from standardwebhooks.webhooks import WebhookVerificationError

from sessions.automation.notifications import commands, endpoints
from sessions.automation.notifications import queries as told
from sessions.automation.notifications.endpoints import BadEndpoint
from sessions.automation.notifications.repository import UnknownEndpoint
from sessions.models.alerts import Alert
from sessions.models.notifications import NoticeAttempt, NoticeDelivery, NoticeEndpoint
from sessions.outside import client
from tests import cast
from tests.processes import eventually
from tests.shell.bank_world import opened
from tests.shell.hostile_http import Hostile
from tests.shell.notice_world import OTHER, SECRET, Receiver, due, later, rule, send, since, tell
from tests.shell.test_notifications import killed, waiting_transfer

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENT = Path(__file__).parents[2] / "docs" / "notifications.md"
OUT = [{"by": ["webhook:desk"]}]


@pytest.fixture
def receiver(settings, monkeypatch):
    """An endpoint on the loopback, which this installation allows."""
    made = Receiver()
    settings.OUTSIDE_NETWORKS = ["127.0.0.1"]
    settings.OUTSIDE_SECRETS = "environment"
    settings.SITE_URL = "https://desk.example.com/"
    monkeypatch.setenv("TOOL_SECRET_DESK", SECRET)
    yield made
    made.stop()


def leads_to(url: str, name: str = "desk") -> NoticeEndpoint:
    """The endpoint of that name."""
    team = cast.retail()
    row = NoticeEndpoint.objects.filter(team=team, name=name).first()
    seen = row.version if row else 0
    return endpoints.keep(team.tenant_id, team.pk, cast.adam().actor, name, url, "desk", seen=seen)


def states() -> list[tuple[str, str]]:
    """How the deliveries stand, oldest first."""
    return list(NoticeDelivery.objects.filter(way="webhook").order_by("at", "id").values_list("state", "why"))


def test_a_message_is_genuine_and_names_ids_and_nothing_of_the_customer(bank, receiver):
    leads_to(receiver.url)
    rule(kinds=("approval.requested",), severity="critical", steps=OUT)
    session, request = waiting_transfer()
    tell()
    send()
    found = receiver.genuine()
    assert found["type"] == "approval.requested"
    assert (found["data"]["session"], found["data"]["request"]) == (str(session), str(request.id))
    assert found["data"]["link"] == f"https://desk.example.com/decisions/{request.id}/"
    assert not any(word in receiver.requests[0][1] for word in (b"C-1001", b"1,200", b"120000", b"savings"))
    with pytest.raises(WebhookVerificationError):
        receiver.genuine(secret=OTHER)


def test_a_message_has_the_documented_form(bank, receiver):
    """Its fields in their order, and of each the form of the document's example."""
    documented = json.loads(re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)[1])
    leads_to(receiver.url)
    rule(kinds=("approval.requested",), severity="critical", steps=OUT)
    waiting_transfer()
    tell()
    send()
    sent = json.loads(receiver.requests[0][1])
    assert list(sent) == list(documented)
    assert list(sent["data"]) == list(documented["data"])
    assert {name: form(value) for name, value in sent["data"].items()} == {
        name: form(value) for name, value in documented["data"].items()
    }
    assert (sent["type"], form(sent["timestamp"])) == (documented["type"], form(documented["timestamp"]))
    assert sent["data"]["kind"] == sent["type"]


def form(value: object) -> str:
    """What kind of value it is: an id, an instant, an address, a text, a number."""
    patterns = {
        "id": r"[0-9a-f-]{36}",
        "instant": r"\d{4}-\d\d-\d\dT[\d:.]{15}Z",
        "address": r"https://.+/[0-9a-f-]{36}/",
    }
    if isinstance(value, str):
        return next((name for name, pattern in patterns.items() if re.fullmatch(pattern, value)), "text")
    return type(value).__name__


def test_while_a_secret_changes_both_sign(bank, receiver, monkeypatch):
    monkeypatch.setenv("TOOL_SECRET_DESK", f"{OTHER} {SECRET}")
    leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    send()
    assert receiver.genuine(secret=SECRET) == receiver.genuine(secret=OTHER)


def test_what_fails_is_sent_again_as_the_same_message_later_and_later(bank, receiver):
    leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    receiver.status = 500
    send()
    assert (send(), states()) == (0, [("due", "http_status")])
    due()
    send()
    receiver.status = 204
    assert send() == 0
    due()
    assert send() == 1
    assert len({headers["webhook-id"] for headers, _ in receiver.requests}) == 1
    assert len({body for _, body in receiver.requests}) == 1
    assert list(NoticeAttempt.objects.order_by("at").values_list("status", flat=True)) == [500, 500, 204]
    assert states() == [("sent", "")]


def test_who_dies_after_the_endpoint_took_it_sends_the_same_message_again(bank, receiver, settings):
    leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    killed(
        "from django.conf import settings as s; s.OUTSIDE_NETWORKS = ['127.0.0.1']; s.OUTSIDE_SECRETS = 'environment';"
        " delivery.send_due()",
        "after_sent",
    )
    assert (len(receiver.requests), states()) == (1, [("due", "")])
    NoticeDelivery.objects.update(lease_until=None)
    send()
    assert states() == [("sent", "")]
    assert receiver.requests[0][0]["webhook-id"] == receiver.requests[1][0]["webhook-id"]


def test_after_all_tries_it_is_an_alert_which_ends_when_a_message_arrives(bank, receiver):
    row = leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    receiver.status = 503
    for _ in range(10):
        assert send() == 1
        due()
    assert states() == [("failed", "http_status")]
    assert Alert.objects.get().about == f"endpoint:{row.pk}"
    receiver.status = 200
    assert commands.send_failed_again(cast.adam(), row.pk) == 1
    send()
    assert (states(), Alert.objects.get().state) == ([("sent", "")], "closed")


def test_an_endpoint_that_says_410_is_off_at_once_and_that_is_an_alert(bank, receiver):
    row = leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    receiver.status = 410
    send()
    row.refresh_from_db()
    assert (row.on, row.off_why) == (False, "gone")
    assert states() == [("failed", "gone")]
    assert Alert.objects.get().why == "gone"


def test_an_endpoint_that_fails_for_days_is_off_and_that_is_an_alert(bank, receiver):
    row = leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    receiver.status = 500
    NoticeEndpoint.objects.update(failing_since=since(6 * 24 * 3600))
    send()
    row.refresh_from_db()
    assert (row.on, row.off_why, Alert.objects.get().why) == (False, "failing", "failing")


def test_an_endpoint_that_asks_us_to_wait_is_waited_for(bank, receiver):
    leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    receiver.status, receiver.headers = 429, {"Retry-After": "600"}
    send()
    later(500)
    assert send() == 0
    later(101)
    assert send() == 1


def test_all_that_failed_since_an_instant_is_sent_again_and_nothing_else(bank, receiver):
    row = leads_to(receiver.url)
    rule(steps=OUT, window=0)
    receiver.status = 410
    opened()
    tell()
    send()
    later(7200)
    leads_to(receiver.url)
    opened("C-1002")
    tell()
    send()
    leads_to(receiver.url)
    receiver.status = 200
    assert commands.send_failed_again(cast.adam(), row.pk, since(3600)) == 1
    send()
    assert sorted(states()) == [("failed", "gone"), ("sent", "")]


def test_one_that_arrived_is_sent_again_when_somebody_asks(bank, receiver):
    leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    send()
    commands.send_again(cast.adam(), NoticeDelivery.objects.get().pk)
    send()
    first, second = receiver.requests
    assert first[0]["webhook-id"] == second[0]["webhook-id"]


def test_a_test_reaches_an_endpoint_that_is_off_and_shows_how_it_went(receiver):
    row = leads_to(receiver.url)
    endpoints.switch(row.pk, False, cast.adam().actor, "by_hand")
    commands.test_endpoint(cast.adam(), row.pk)
    send()
    assert receiver.genuine()["type"] == "notice.test"
    (line,) = told.deliveries(cast.adam(), row.pk)
    assert (line.state, line.tries[0].status, line.tries[0].answer) == ("sent", 200, "ok")


def test_what_is_collected_leaves_as_one_message(bank, receiver):
    leads_to(receiver.url)
    rule(steps=OUT, digest=300, window=0)
    for n in range(1, 4):
        opened(f"C-100{n}")
    tell()
    later(301)
    assert send() == 1
    found = receiver.genuine()
    assert (found["type"], len(found["data"]["notices"]), found["data"]["more"]) == ("notices.collected", 3, 0)


@pytest.mark.parametrize(
    ("path", "why"),
    [("/silent", "too_slow"), ("/drip", "too_slow"), ("/large", "too_large"), ("/endless", "too_large"),
     ("/redirect", "redirected"), ("/gzip", "encoded"), ("/nonsense", "no_http"), ("/cut", "no_http"),
     ("/headers", "too_large"), ("/slow-headers", "too_large"), ("/away", "http_status"), ("/unknown", "http_status")],
)  # fmt: skip
def test_a_hostile_endpoint_holds_up_nothing_and_its_failure_has_a_name(bank, receiver, monkeypatch, path, why):
    from sessions.automation.notifications import webhook
    from sessions.outside import client

    monkeypatch.setattr(webhook, "BOUNDS", client.Bounds(connect=1.0, seconds=1.0, size=64_000))
    hostile = Hostile()
    leads_to(f"http://127.0.0.1:{hostile.port}{path}")
    rule(steps=OUT)
    opened()
    tell()
    assert send() == 1
    hostile.stop()
    assert states() == [("due", why)]
    answer = NoticeAttempt.objects.get().answer
    assert len(answer) <= 200
    assert answer.isprintable()


def test_no_private_address_is_reached_whatever_its_name(bank, receiver, settings):
    settings.OUTSIDE_NETWORKS = []
    leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    send()
    assert (receiver.requests, states()) == ([], [("due", "address_refused")])


def test_a_name_that_changes_its_mind_reaches_nothing_inside(bank, receiver, settings, monkeypatch):
    """DNS rebinding: asked once a try, what it says must be allowed, and that address is called and no other."""
    port = int(receiver.url.split(":")[2].split("/")[0])
    answers = iter(["93.184.216.34", "127.0.0.1", "127.0.0.1"])
    settings.OUTSIDE_NETWORKS = []
    real, connect, called = socket.getaddrinfo, client.connected, []

    def asked(host, *rest, **named):
        return real(next(answers) if host == "rebinding.example" else host, *rest, **named)

    def connected(address, port, *rest):
        """Only what lies outside is not there: whoever asked for the name again would reach the receiver."""
        called.append((address, port))
        if address == "93.184.216.34":
            raise OSError("no")
        return connect(address, port, *rest)

    monkeypatch.setattr(socket, "getaddrinfo", asked)
    monkeypatch.setattr(client, "connected", connected)
    leads_to(f"http://rebinding.example:{port}/hook")
    rule(steps=OUT)
    opened()
    tell()
    send()
    due()
    eventually(send, 5, "it is tried again")
    assert receiver.requests == []
    assert called == [("93.184.216.34", port)]
    tries = NoticeAttempt.objects.order_by("at").values_list("why", flat=True)
    assert list(tries) == ["no_connection", "address_refused"]


@pytest.mark.parametrize(
    "url",
    ["ftp://example.com/", "https://", "https://user:word@example.com/", "https://example.com/#x", "nonsense",
     "https://example.com/\r\nX: y", "https://example.com:99999/", "javascript:alert(1)", "https://exämple.com/",
     "https://example.com/" + "x" * 500, "file:///etc/passwd"],
)  # fmt: skip
def test_an_address_to_which_nothing_can_be_sent_is_refused(url):
    with pytest.raises(BadEndpoint):
        leads_to(url)


def test_a_rule_that_names_no_endpoint_of_its_team_is_refused():
    with pytest.raises(UnknownEndpoint):
        rule(steps=OUT)


def test_a_missing_secret_is_told_by_its_name_and_shown_nowhere(bank, receiver, monkeypatch):
    monkeypatch.setenv("TOOL_SECRET_DESK", "hush-hush")
    row = leads_to(receiver.url)
    rule(steps=OUT)
    opened()
    tell()
    send()
    assert states() == [("due", "bad_webhook_secret")]
    monkeypatch.delenv("TOOL_SECRET_DESK")
    due()
    send()
    assert states() == [("due", "no_secret")]
    assert "hush-hush" not in json.dumps([str(each) for each in told.deliveries(cast.adam(), row.pk)])
