"""Every address of the site: each that hands out personal text writes an entry of the access log, of its kind.

A new address fails here until it stands in PAGES or API below, with the kind of entry that it writes (None: it shows
nothing personal). Whatever is declared, an answer in which a word of the customer stands must have written one.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db.models.functions import Now
from django.urls import URLPattern, URLResolver, get_resolver

from sessions.approvals import queries as approvals_queries
from sessions.core import access, session_lines
from sessions.models.sessions import AccessLine, AgentSession, OpenView
from tests import cast
from tests.shell.api_operations import OPERATIONS, WITH_BODY, body_for
from tests.shell.api_world import UNKNOWN, Api
from tests.shell.bank_world import opened, say, work

pytestmark = pytest.mark.django_db(transaction=True)
WORDS = ("C-1001", "Quokkaburra", "Zebrafinch")  # of the customer: a reference, the topic, what was said
LISTED, READ, PROFILE, EXPORTED = "access.listed", "access.read", "access.profile_read", "access.exported"
PROVED = "access.proved"
OPENED, UNMASKED, FOLLOWED = "access.opened", "access.unmasked", "access.opened or none"

PAGES: dict[str, str | None] = {
    "": None,
    "live/": OPENED,
    "live/changes/": FOLLOWED,
    "stops/": None,
    "handover/": None,
    "desk/": None,
    "decisions/": OPENED,
    "decisions/changes/": FOLLOWED,
    "decisions/<uuid:request_id>/": OPENED,
    "decisions/<uuid:request_id>/seen/": READ,
    "decisions/lent/": None,
    "sessions/": LISTED,
    "sessions/<uuid:session_id>/": OPENED,
    "sessions/<uuid:session_id>/changes/": FOLLOWED,
    "sessions/<uuid:session_id>/state/": READ,
    "stuck/": LISTED,
    "sessions/<uuid:session_id>/stuck/": READ,
    "sessions/<uuid:session_id>/memory/": READ,
    "sessions/<uuid:session_id>/versions/": READ,
    "sessions/<uuid:session_id>/grants/": READ,
    "policies/": None,
    "library/": None,
    "policies/dry-run/": None,
    "policies/<str:reference>/": None,
    "sessions/<uuid:session_id>/audit/": READ,
    "sessions/<uuid:session_id>/export/key/": LISTED,
    "sessions/<uuid:session_id>/proof/": PROVED,
    "sessions/<uuid:session_id>/shared/": LISTED,
    "shared/<str:token>/": None,  # to nobody who is signed in: an entry of the link's own log
    "shared/<str:token>/proof.json": None,
    "sessions/<uuid:session_id>/plan/": OPENED,
    "sessions/<uuid:session_id>/plan/changes/": FOLLOWED,
    "sessions/<uuid:session_id>/chart/": READ,
    "tools/": None,
    "tools/<str:name>/": None,
    "tools/servers/<str:name>/": None,
    "alerts/": None,
    "alerts/changes/": None,
    "alerts/rules/": None,
    "alerts/rules/<uuid:rule_id>/": None,
    "levels/": None,
    "levels/<str:part>.csv": None,
    "notices/": None,
    "notices/bell/": None,
    "notices/wishes/": None,
    "notices/rules/": None,
    "notices/rules/<uuid:rule_id>/": None,
    "notices/endpoints/": None,
    "notices/endpoints/<uuid:endpoint_id>/": None,
    "triggers/": None,
    "triggers/<uuid:trigger_id>/": None,
    "charts/": None,
    "charts/<str:name>/": None,
    "audit/": LISTED,
    "audit/access/": None,  # those of auditors: alice is refused, and test_auditing goes through them
    "audit/samples/": None,
    "audit/downtimes/": None,
    "audit/staff/": None,
    "audit/grants/": None,
    "audit/exports/": None,
    "audit/exports/new/": None,
    "audit/exports/<uuid:export_id>/key/": None,
    "chat/<uuid:session_id>/": OPENED,
    "chat/<uuid:session_id>/changes/": FOLLOWED,
    "chat/": None,
    "customers/<uuid:customer_id>/": PROFILE,
    "privacy/": None,
    "privacy/retention/": None,
    "proposals/": None,
    "proposals/<uuid:proposal_id>/": None,
    "privacy/erasures/<uuid:erasure_id>/": None,
    "healthz": None,
    "healthz/ledger": None,
    "log/checkpoint": None,
    "log/tile/entries/<path:path>": None,
    "log/tile/<path:path>": None,
    "log/key": None,
    "log/restamps/<str:digest>": None,
    "log/policy": None,
    "verify/": None,
    "sign-in/": None,
    "api/v1/schema": None,
}
POSTS = {  # reached by POST alone; what they answer with is a page above, or a refusal
    "sessions/<uuid:session_id>/memory/mind/",
    "sessions/<uuid:session_id>/versions/<str:act>/",
    "sessions/<uuid:session_id>/grants/<str:grant_id>/revoke/",
    "sessions/<uuid:session_id>/export/",
    "sessions/<uuid:session_id>/plan/edit/",
    "chat/<uuid:session_id>/say/",
    "sessions/<uuid:session_id>/shared/<uuid:disclosure_id>/revoke/",
    "customers/<uuid:customer_id>/<str:act>/",
    "audit/grants/<uuid:grant_id>/revoke/",
    "audit/exports/<uuid:export_id>/cancel/",
    "audit/exports/<uuid:export_id>/download/",
    "sessions/<uuid:session_id>/plan/goals/",
    "sessions/<uuid:session_id>/stop/<str:act>/",
    "sessions/<uuid:session_id>/supervise/<str:act>/",
    "stops/<uuid:stop_id>/lift/",
    "desk/next/",
    "desk/skills/",
    "desk/skills/wanted/",
    "desk/deputies/",
    "desk/deputies/<uuid:deputy_id>/remove/",
    "decisions/<uuid:request_id>/<str:act>/",
    "decisions/lent/<uuid:delegation_id>/end/",
    "sessions/<uuid:session_id>/stuck/<str:how>/",
    "alerts/rules/keep/",
    "alerts/rules/<uuid:rule_id>/switch/",
    "alerts/<uuid:alert_id>/<str:act>/",
    "notices/read/",
    "notices/rules/keep/",
    "notices/rules/<uuid:rule_id>/switch/",
    "notices/teams/<str:act>/",
    "notices/endpoints/keep/",
    "notices/endpoints/<uuid:endpoint_id>/<str:act>/",
    "triggers/keep/",
    "triggers/<uuid:trigger_id>/switch/",
    "privacy/retention/change/",
    "proposals/<uuid:proposal_id>/<str:act>/",
    "privacy/erasures/<uuid:erasure_id>/<str:act>/",
    "privacy/<str:act>/",
    "sign-out/",
    "tools/servers/<str:name>/look/",
    "tools/offers/<uuid:offer_id>/<str:act>/",
    "sign-in/link/<str:token>/",
}
API: dict[tuple[str, str], str] = {  # the operations that read; the others give receipts, and are held to the law alone
    ("GET", "/sessions"): LISTED,
    ("GET", "/sessions/{session}"): LISTED,
    ("GET", "/sessions/{session}/entries"): READ,
    ("GET", "/sessions/{session}/memory"): READ,
    ("GET", "/sessions/{session}/chart"): READ,
    ("GET", "/sessions/{session}/topics"): READ,
    ("GET", "/sessions/{session}/entities"): READ,
    ("GET", "/sessions/{session}/state/kinds"): READ,
    ("GET", "/sessions/{session}/plan"): READ,
    ("GET", "/sessions/{session}/plan/drawing"): READ,
    ("POST", "/sessions/{session}/plans/check"): READ,
    ("GET", "/sessions/{session}/goals"): READ,
    ("GET", "/sessions/{session}/state"): READ,
    ("GET", "/sessions/{session}/conflicts"): READ,
    ("GET", "/sessions/{session}/checkpoints"): READ,
    ("GET", "/sessions/{session}/handback"): READ,
    ("GET", "/sessions/{session}/diff"): READ,
    ("POST", "/sessions/{session}/rollback"): READ,
    ("POST", "/sessions/{session}/replay"): READ,
    ("GET", "/sessions/{session}/grants"): READ,
    ("GET", "/sessions/{session}/proofs/entries/{seq}"): PROVED,
    ("GET", "/sessions/{session}/proofs/complete"): PROVED,
    ("GET", "/requests"): LISTED,
    ("GET", "/requests/{request_id}"): READ,
    ("GET", "/customers/{customer}/profile"): PROFILE,
    ("GET", "/customers/{customer}/profile/entries"): PROFILE,
}


@pytest.fixture
def world(bank) -> dict[str, Any]:
    """A session that waits for a decision, with words to look for in it; and another, that is stuck."""
    lost = opened("C-1002")
    AgentSession.objects.filter(pk=lost).update(stalled="failing KeyError", stalled_at=Now())
    session = opened("C-1001", topic="Quokkaburra")
    work()
    say(session, "I want to move $1,200.00 from savings to checking. My cat is called Zebrafinch.")
    say(session, "Yes, that is right.")
    line = next(each for each in approvals_queries.requests(cast.alice()) if each.session == session)
    customer = session_lines.session_line(cast.alice(), session).customer
    own = {"session": session, "session_id": session, "request_id": line.id, "customer_id": customer}
    return {
        **own,
        "customer": customer,
        "name": "bank-transfer",
        "erasure_id": UNKNOWN,
        "proposal_id": UNKNOWN,
        "trigger_id": UNKNOWN,
        "rule_id": UNKNOWN,
        "alert_id": UNKNOWN,
        "part": "levels",
        "rule": UNKNOWN,
        "alert": UNKNOWN,
        "endpoint_id": UNKNOWN,
        "seq": "1",
        "token": "unknown",
        "export_id": UNKNOWN,
        "path": "0/000",
        "digest": "0" * 64,
        "agent": "bank",
        "reference": "bank",
    }


def routes(resolver: URLResolver | None = None, before: str = "") -> set[str]:
    """Every address of the site but the operations of the API, as its pattern says it."""
    found = set()
    for each in (resolver or get_resolver()).url_patterns:
        here = before + str(each.pattern)
        if isinstance(each, URLPattern):
            found.add(here)
        elif here != "api/v1/":
            found |= routes(each, here)
    return found


def test_every_page_says_which_entry_it_writes():
    assert routes() - PAGES.keys() - POSTS == set()


def test_every_kind_of_reading_has_a_kind_of_entry():
    assert set(access.READS.values()) <= set(access.Kind)
    assert API.keys() <= set(OPERATIONS)


def grew(user, before: int) -> list[str]:
    rows = AccessLine.objects.filter(reader=user.actor).order_by("at", "seq").values_list("kind", flat=True)
    return list(rows)[before:]


def law(answer, written: list[str], where: str, seen_before: set[Any]) -> None:
    """Words of the customer never leave unrecorded: by an entry, or as part of a live view that is open."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if any(word.encode() in body for word in WORDS):
        followed = PAGES.get(where) == FOLLOWED and signs_of_life() != seen_before
        assert written or followed, f"{where} shows words of the customer and wrote no entry"


def signs_of_life() -> set[Any]:
    return set(OpenView.objects.values_list("pk", "seen_at"))


def test_each_page_that_shows_personal_text_wrote_an_entry_of_its_kind(world):
    alice = cast.alice()
    client = cast.browser(alice)
    for route, kind in PAGES.items():
        address = "/" + re.sub(r"<\w+:(\w+)>", lambda found: str(world[found[1]]), route)
        query = {"s": world["session"]} if route == "live/changes/" else {}
        before, seen = AccessLine.objects.filter(reader=alice.actor).count(), signs_of_life()
        answer = client.get(address, query)
        written = grew(alice, before)
        law(answer, written, route, seen)
        if kind is None:
            assert not written, route
        elif kind != FOLLOWED:
            assert (answer.status_code, written) == (200, [kind]), route


def test_each_operation_that_gives_personal_text_wrote_an_entry_of_its_kind(world):
    alice = cast.alice()
    api = Api(alice)
    for method, path in sorted(OPERATIONS, key=lambda each: each not in API):  # what changes the session comes last
        address = re.sub(r"{(\w+)}", lambda found: str(world.get(found[1], "1")), path)
        body = {"data": json.dumps(body_for(path, method)).encode()} if method in WITH_BODY else {}
        before = AccessLine.objects.filter(reader=alice.actor).count()
        answer = api.ask(method, address, **body)
        written = grew(alice, before)
        law(answer, written, f"{method} {path}", set())
        if (method, path) in API:
            assert (answer.status_code, written) == (200, [API[method, path]]), (method, path, answer.content)
